"""Lines of an import: what is read, what is refused, what becomes of foreign shapes."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from app.cms.entities import from_line as content_line
from app.core.crud.lines import ImportLine, Line, Source, parse_line, read_foreign, read_lines, title_of
from app.core.errors import Invalid
from app.sao.entities import from_line as ticket_line

SOURCE = Source("corpus", "en")


def read(data: bytes, longest: int = 100) -> list[Line]:
    return list(read_lines(io.BytesIO(data), longest))


def line(raw: dict[str, Any], locale: str = "en") -> ImportLine:
    return ImportLine(raw, Source("corpus", locale))


def test_lines_are_numbered_with_the_blank_ones_counted() -> None:
    lines = read(b'\xef\xbb\xbf{"a": 1}\n\n  \n{"b": "\xe2\x80\xa8"}')
    assert [(item.number, item.data) for item in lines] == [(1, b'{"a": 1}\n'), (4, b'{"b": "\xe2\x80\xa8"}')]
    assert parse_line(lines[1]) == {"b": "\u2028"}


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_line_that_is_too_long_is_named_and_the_next_one_read(end: bytes) -> None:
    lines = read(b"x" * 3_000_000 + end + (b"{}\n" if end else b""))
    assert [(item.number, item.data) for item in lines] == ([(1, None), (2, b"{}\n")] if end else [(1, None)])
    with pytest.raises(Invalid) as refused:
        parse_line(lines[0], 100)
    assert refused.value.code == "import.line_too_long"


def test_a_line_of_exactly_the_limit_is_read() -> None:
    assert [item.data for item in read(b"x" * 100 + b"\n" + b"y" * 100)] == [b"x" * 100 + b"\n", b"y" * 100]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"{", "import.not_json"),
        (b"[1]", "import.not_json"),
        (b"null", "import.not_json"),
        (b'"\xff"', "import.not_utf8"),
        (b"[" * 200_000, "import.not_json"),
        (b'{"n": ' + b"9" * 5000 + b"}", "import.not_json"),
    ],
)
def test_what_is_no_json_object_is_refused(data: bytes, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_line(Line(1, len(data), data))
    assert refused.value.code == code


def test_a_corpus_scopes_its_ids_and_says_its_language() -> None:
    found = read_foreign({"_id": 7, "title": "T", "text": "x", "metadata": {"lang": "it", "author": "A"}}, SOURCE)
    assert (found.shape, found.key, found.locale, found.extra["author"]) == ("beir", "corpus:7", "it", "A")


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ({"text": "x"}, "import.unknown_shape"),
        ({"_id": "", "text": "x"}, "import.no_id"),
        ({"_id": True, "text": "x"}, "import.no_id"),
        ({"_id": "1", "title": " \u200b", "text": "\x00 "}, "import.no_title"),
        ({"_id": "1", "text": ["x"]}, "input.invalid"),
    ],
)
def test_foreign_lines_that_are_refused(raw: dict[str, Any], code: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_foreign(raw, SOURCE)
    assert refused.value.code == code


def test_a_text_without_a_title_gets_its_first_words() -> None:
    assert title_of("short one") == "short one"
    assert title_of("a" * 30 + " " + "b" * 30 + ", " + "c" * 30) == "a" * 30 + " " + "b" * 30 + "…"


def test_contents_of_a_corpus_are_published() -> None:
    values = content_line(line({"_id": "1", "title": "", "text": "Uno", "metadata": {"collection": "glossary"}}, "it"))
    assert values["translations"] == {"it": {"title": "Uno", "body": "Uno"}}
    assert (values["key"], values["status"], values["category"]) == ("corpus:1", "published", "glossary")


def test_a_content_of_the_seed_is_taken_as_it_stands() -> None:
    raw = {"key": "k", "translations": {"en": {"title": "T"}}, "surprise": 1}
    assert content_line(line(raw)) == raw


def test_tickets_of_a_helpdesk_keep_urgency_and_whether_they_were_solved() -> None:
    raw = {"id": "INC1", "title": "T", "text": "x", "urgency": "1", "resolution": "done"}
    values = ticket_line(line(raw))
    assert (values["external_id"], values["priority"], values["status"]) == ("INC1", "high", "resolved")


def test_tickets_of_banking_are_open_and_titled_by_their_text() -> None:
    values = ticket_line(line({"id": "b-1", "text": "Where is my card?", "intent": "card_arrival"}))
    assert (values["subject"], values["status"], values["priority"]) == ("Where is my card?", "open", "normal")


@pytest.mark.parametrize(("key", "number"), [("SAO-12", 12), ("SAO-012", None), ("X-12", None)])
def test_a_seed_ticket_s_key_is_its_number(key: str, number: int | None) -> None:
    values = ticket_line(line(json.loads(json.dumps({"key": key, "subject": "S"}))))
    assert (values["external_id"], values.get("number")) == (key, number)
