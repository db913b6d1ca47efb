"""Strings one edit away, and groups of words that mean the same."""

from __future__ import annotations

import pytest

from app.search.matching import Alternative, parse_question
from app.search.spelling import (
    begun_word,
    beside,
    correctable,
    corrected,
    offered_words,
    read_groups,
    respelt,
    with_synonyms,
)


@pytest.mark.parametrize(
    "typed", ["pritner", "printr", "prinnter", "prinxer", "rinter", "brinter", "rpinter", "printerà"]
)
def test_every_single_edit_is_undone(typed: str) -> None:
    assert "printer" in beside(typed)
    assert typed not in beside(typed)


def test_two_edits_are_another_word() -> None:
    assert "printer" not in beside("pirnetr")


def test_only_words_of_free_text_are_corrected() -> None:
    query = parse_question('printr SAO-12 NASA cat 42 "stampnte" +scannr -tonr pap* mario@example.it aaaa2')
    assert correctable(query) == ("printr", "nasa")
    assert correctable(parse_question("x" * 31)) == ()


def test_a_correction_stands_beside_what_was_typed() -> None:
    query = corrected(parse_question("slow printr"), {"printr": "printer", "absent": "x"})
    assert query.alternatives == (Alternative(1, "printer"),)
    assert [term.text for term in query.terms] == ["slow", "printr"]


def test_a_question_is_respelt_where_it_was_wrong() -> None:
    assert respelt('The Printr, +toner "red printr"', {"printr": "printer"}) == 'The printer, +toner "red printer"'


def test_groups() -> None:
    assert read_groups("Car, automobile ,car; fix;  repair,mend, two words") == (
        ("car", "automobile"),
        ("repair", "mend"),
    )
    assert read_groups("") == read_groups(";,;") == ()


def test_synonyms_are_of_one_language() -> None:
    query = with_synonyms(
        parse_question("my Car"), {"en": (("car", "automobile"),), "it": (("car", "x"), ("auto", "y"))}
    )
    assert query.alternatives == (Alternative(1, "automobile", "en"), Alternative(1, "x", "it"))


def test_words_that_may_be_offered_are_of_letters() -> None:
    assert offered_words("The PRINTER, node.js; SAO-12 l'Università 4th 中文合約 of " + "x" * 31) == {
        "the",
        "printer",
        "node",
        "sao",
        "università",
    }


@pytest.mark.parametrize(
    ("typed", "word"), [("prin", "prin"), ("Red Prin", "prin"), ("prin ", ""), ("", ""), ("?", ""), ("l'univ", "univ")]
)
def test_the_word_that_is_being_typed(typed: str, word: str) -> None:
    assert begun_word(typed) == word
