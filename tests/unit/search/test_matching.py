"""How questions and texts are cut."""

from __future__ import annotations

import pytest

from app.search.matching import (
    TERMS_LIMIT,
    Term,
    identifiers_of,
    kind_of,
    parse_query,
    parse_question,
    pieces_of,
    words_of,
)


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        ("mario.rossi@example.it", "email"),
        ("123e4567-e89b-12d3-a456-426614174000", "uuid"),
        ("2026", "numeric"),
        ("sao-12", "structured_identifier"),
        ("v1.5.2", "structured_identifier"),
        ("h2o", "structured_identifier"),
        ("state-of-the-art", "word"),
        ("node.js", "word"),
        ("20th", "word"),
        ("1980s", "word"),
        ("合約2", "word"),
    ],
)
def test_kinds(token: str, kind: str) -> None:
    assert kind_of(token) == kind


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("L'università dell'energia", ["l", "università", "dell", "energia"]),
        ("Node.js, state-of-the-art!", ["node", "js", "state", "of", "the", "art"]),
        ("合約轉換", ["合約", "約轉", "轉換"]),
        ("請看合", ["請看", "看合"]),
        ("中", ["中"]),
        ("API合約", ["api", "合約"]),
        ("«»… — ''", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert list(words_of(text)) == words


def test_identifiers_are_kept_whole_and_their_pieces_stand_behind_the_words() -> None:
    query = parse_query("Stato di SAO‑12 e di (PRJ-482)?")
    assert query.identifiers == ("sao-12", "prj-482")
    assert [term.text for term in query.terms] == ["stato", "di", "e", "sao", "12", "prj", "482"]
    assert query.free == 3
    assert identifiers_of("SAO-12 stampante", "vedi sao-12, mario@x.it.") == ["sao-12", "mario@x.it"]


@pytest.mark.parametrize(
    ("identifier", "pieces"),
    [
        ("ly6c", ("ly6c",)),
        ("mir-7b", ("mir", "7b")),
        ("v1.5.2", ("v1", "5", "2")),
        ("mario.rossi2@example.it", ()),
        ("123e4567-e89b-12d3-a456-426614174000", ()),
    ],
)
def test_codes_have_pieces_and_addresses_and_keys_have_none(identifier: str, pieces: tuple[str, ...]) -> None:
    assert pieces_of(identifier) == pieces
    query = parse_query(identifier)
    assert query.identifiers == (identifier,)
    assert tuple(term.text for term in query.terms) == pieces
    assert query.unbroken == (() if pieces else (identifier,))


@pytest.mark.parametrize(
    ("question", "only"),
    [
        ("SAO-12", True),
        ("what is SAO-12", True),
        ("SAO-12 -toner", True),
        ("SAO-12 +toner", False),
        ("printer SAO-12", False),
        ("+SAO-12", False),
        ("the", False),
        ("", False),
    ],
)
def test_a_question_of_nothing_but_codes(question: str, only: bool) -> None:
    assert parse_question(question).codes_only is only


def test_a_single_character_without_spaces_is_a_prefix() -> None:
    assert parse_query("約").terms == (Term("約", prefix=True),)


@pytest.mark.parametrize(
    "text",
    ['"open', "the of and", "?!…", "🚀🚀", "שלום עולם", "\x00\x1f", "' | & ! ( ) :* <->", "x " * 2000, "a" * 4000, ""],
)
def test_nothing_is_an_error(text: str) -> None:
    query = parse_query(text)
    assert len(query.terms) <= TERMS_LIMIT
