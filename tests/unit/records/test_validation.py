"""What may be written to a record."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.cms.entities import CONTENTS, is_searchable
from app.cms.models import Content
from app.core.crud.cursor import Cursor, write_cursor
from app.core.crud.query import read_ask
from app.core.crud.validation import Clean, Rules
from app.core.documents.text import LIMIT
from app.core.errors import Invalid
from app.sao.entities import TICKETS

TITLE = {"title": "T", "body": "B"}


def problems(rules: Rules, values: dict[str, Any], new: bool = True) -> dict[str | None, str]:
    with pytest.raises(Invalid) as refused:
        rules.clean(values, new=new, locale="en")
    return {field.path: field.code for field in refused.value.fields}


def clean(values: dict[str, Any], **options: Any) -> Clean:
    return Rules(CONTENTS, **options).clean(values, new=True, locale="en")


def test_texts_are_cleaned_before_they_are_stored() -> None:
    found = clean({"translations": {"en": {"title": " a\x00\n b\ud800 ", "body": "x\r\ny\u200b"}}})
    assert found.translations == {"en": {"title": "a b", "body": "x\ny"}}


def test_translated_fields_may_stand_beside_the_others() -> None:
    assert clean({**TITLE, "locale": "it"}).translations == {"it": TITLE}
    assert clean(TITLE).translations == {"en": TITLE}


def test_each_wrong_value_is_named_by_its_path() -> None:
    assert problems(
        Rules(CONTENTS),
        {
            "translations": {"en": {"title": "\u200b", "colour": "x"}, "xx": {}, "it": 3},
            "status": "lost",
            "valid_from": "yesterday",
            "author": 5,
            "key": "mine",
            "nothing": 1,
        },
    ) == {
        "translations.en.title": "input.required",
        "translations.en.colour": "input.unknown_field",
        "translations.xx": "input.choice",
        "translations.it": "input.type",
        "status": "input.choice",
        "valid_from": "input.type",
        "author": "input.type",
        "key": "input.read_only",
        "nothing": "input.unknown_field",
    }


def test_a_new_record_needs_what_is_required() -> None:
    assert problems(Rules(CONTENTS), {}) == {"translations.en": "input.required"}
    assert problems(Rules(CONTENTS), {"translations": {"it": {"body": "x"}}}) == {
        "translations.it.title": "input.required"
    }
    assert problems(Rules(TICKETS), {}) == {"subject": "input.required"}
    assert Rules(TICKETS).clean({"subject": "S"}, new=True, locale="en").fields == {
        "subject": "S",
        "description": "",
    }


def test_a_long_text_is_refused_for_a_person_and_shortened_for_an_import() -> None:
    long = {"translations": {"en": {"title": "t" * 501, "body": "b" * (LIMIT + 1)}}}
    assert problems(Rules(CONTENTS), long) == {
        "translations.en.title": "input.too_long",
        "translations.en.body": "input.too_long",
    }
    found = clean(long, cap=True)
    assert found.translations["en"] == {"title": "t" * 500, "body": "b" * LIMIT}
    assert found.cut == ["translations.en.title", "translations.en.body"]


def test_instants_are_utc_and_blank_ones_are_none() -> None:
    found = clean({**TITLE, "valid_from": "2026-01-01T10:00:00+02:00", "valid_to": ""})
    assert found.fields == {"valid_from": datetime(2026, 1, 1, 8, tzinfo=UTC), "valid_to": None}


FIELDS = st.sampled_from(["title", "status", "valid_from", "number", "translations", "locale", "x"])
PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
JSON = PLAIN | st.lists(PLAIN, max_size=2) | st.dictionaries(st.sampled_from(["en", "it", "y"]), PLAIN, max_size=2)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(FIELDS, JSON))
def test_no_input_does_worse_than_being_refused(values: dict[str, Any]) -> None:
    for entity in (CONTENTS, TICKETS):
        with suppress(Invalid):
            Rules(entity).clean(values, new=True, locale="en")


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ({"sort": "body; drop"}, "sort"),
        ({"page": "0"}, "page"),
        ({"page": "²"}, "page"),
        ({"size": "201"}, "size"),
        ({"page": "9999", "size": "100"}, "page"),
        ({"cursor": "!"}, "cursor"),
        ({"filter": {"nothing": 1}}, "filter.nothing"),
        ({"filter": {"status": "lost"}}, "filter.status"),
        ({"filter": {"title": "x"}}, "filter.title"),
        ({"filter": [1]}, "filter"),
    ],
)
def test_an_ask_that_makes_no_sense_is_refused(raw: dict[str, Any], path: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_ask(CONTENTS, raw)
    assert [field.path for field in refused.value.fields] == [path]


def test_a_cursor_says_where_it_stands() -> None:
    first = read_ask(CONTENTS, {"sort": "category,-valid_from", "filter": {"status": "draft"}})
    keys = ("x", datetime(2026, 1, 2, tzinfo=UTC), 3)
    raw = {"sort": "category,-valid_from", "filter": {"status": "draft"}, "cursor": write_cursor(keys, first.digest)}
    assert read_ask(CONTENTS, raw).cursor == Cursor(keys)


@pytest.mark.parametrize(
    "other",
    [
        {"sort": "-category,-valid_from"},
        {"filter": {"status": "published"}},
        {"q": "x"},
        {"deleted": "1"},
        {"locale": "it"},
        {"filter": {"property": "status", "operator": "!=", "value": "draft"}},
    ],
)
def test_a_cursor_of_another_list_is_refused(other: dict[str, Any]) -> None:
    asked = {"sort": "category,-valid_from", "filter": {"status": "draft"}}
    cursor = write_cursor(("x", datetime(2026, 1, 2, tzinfo=UTC), 3), read_ask(CONTENTS, asked).digest)
    with pytest.raises(Invalid) as refused:
        read_ask(CONTENTS, {**asked, **other, "cursor": cursor})
    assert [(field.path, field.code) for field in refused.value.fields] == [("cursor", "input.cursor")]


@pytest.mark.parametrize("keys", [("x", 3), ("x", "y", 3), (1, None, 3), ("x", "2026-01-02T00:00:00", 3)])
def test_a_cursor_with_other_keys_is_refused(keys: tuple[Any, ...]) -> None:
    raw = {"sort": "category,-valid_from"}
    with pytest.raises(Invalid) as refused:
        read_ask(CONTENTS, {**raw, "cursor": write_cursor(keys, read_ask(CONTENTS, raw).digest)})
    assert [field.path for field in refused.value.fields] == ["cursor"]


def test_several_fields_order_a_list_and_the_id_ends_it() -> None:
    ask = read_ask(CONTENTS, {"sort": "category, -updated_at"})
    assert [(key.name, key.descending) for key in ask.sort] == [
        ("category", False),
        ("updated_at", True),
        ("id", True),
    ]
    assert ask.sort_text == "category,-updated_at"
    assert read_ask(CONTENTS, {"sort": "-id"}).sort_text == "-id"


def test_what_may_not_be_read_is_as_unknown_as_what_is_not_there() -> None:
    readable = {"id", "revision", "updated_at", "status", "body"}
    raw = {"filter": {"author": "x"}, "sort": "category", "q": "x", "fields": "status,author,nothing"}
    with pytest.raises(Invalid) as refused:
        read_ask(CONTENTS, raw, readable)
    assert {(field.path, field.code) for field in refused.value.fields} == {
        (path, "input.unknown_field") for path in ("filter.author", "sort", "q", "fields")
    }


@pytest.mark.parametrize(
    ("begin", "end", "now", "found"),
    [(None, None, 5, True), (5, None, 5, True), (6, None, 5, False), (None, 5, 5, False), (None, 6, 5, True)],
)
def test_validity_begins_at_its_start_and_ends_before_its_end(
    begin: int | None, end: int | None, now: int, found: bool
) -> None:
    def at(day: int | None) -> Any:
        return None if day is None else datetime(2026, 1, day, tzinfo=UTC)

    content = Content(status="published", valid_from=at(begin), valid_to=at(end))
    assert is_searchable(content, at(now)) is found
    assert not is_searchable(Content(status="draft"), at(now))
    assert not is_searchable(Content(status="published", deleted_at=at(1)), at(now))
