"""What words weigh, known idf mass, the terms that count, and those that a text must have."""

from __future__ import annotations

import math

import pytest

from app.search.engines.ranking import (
    CUT_FROM,
    MOST,
    Row,
    Statistics,
    idf,
    is_wide,
    known_idf_mass,
    least,
    necessary,
    ranked,
    rarest,
    significant,
)

COUNTS = Statistics({"en": 100, "it": 50}, {("en", "rare"): 1, ("en", "common"): 60}, {"sao-12": 1})


def row(record_id: int, score: float, *, named: bool = False, complete: bool = False) -> Row:
    """A record as a statement found it."""
    return ("a.a", record_id, "en", named, complete, score)


def test_idf_falls_and_is_never_negative() -> None:
    values = [idf(100, having) for having in (0, 1, 50, 100)]
    assert values == sorted(values, reverse=True)
    assert idf(10, 20) > 0


def test_where_both_terms_stand_together_the_score_says_so() -> None:
    hits = ranked([row(5, 0.1, named=True), row(2, 1.0, complete=True), row(1, 3.0)])
    assert [(hit.record_id, hit.score, hit.named) for hit in hits] == [(5, 0.1, True), (2, 4.0, False), (1, 3.0, False)]


def test_a_text_with_light_words_alone_stays_below_what_they_can_reach() -> None:
    weights = {"en": {"rare": 5.0, "some": 1.0, "common": 0.5}}
    assert necessary(weights, None) == {"en": {"rare", "some", "common"}}
    assert necessary(weights, 0.5 * MOST) == {"en": {"rare", "some", "common"}}
    assert necessary(weights, 0.5 * MOST + 0.01) == {"en": {"rare", "some"}}
    assert necessary(weights, 1.5 * MOST + 0.01) == {"en": {"rare"}}
    assert necessary(weights, math.inf) == {"en": set()}


def test_the_rarest_words_are_looked_for_first() -> None:
    many = Statistics({"en": 90_000}, {("en", "a"): 50_000, ("en", "b"): 900, ("en", "c"): 200}, {})
    weights = {"en": {"a": 0.6, "b": 4.6, "c": 6.1}}
    assert is_wide(weights, many)
    assert not is_wide({"en": {"a": 0.6}}, many)
    assert not is_wide(weights, Statistics({}, {("en", "a"): CUT_FROM}, {}))
    assert rarest(weights, many) == {"en": {"b", "c"}}
    assert rarest({"en": weights["en"], "it": {}}, many)["it"] == set()


def test_what_a_record_must_reach() -> None:
    rows = [row(1, 3.0), row(2, 2.0)]
    assert least(rows, 3) is None
    assert least(rows, 2) == 2.0
    assert least([row(1, 3.0), row(2, 1.0, complete=True)], 2) == math.inf
    assert least([row(1, 0.0, named=True)], 1) == math.inf


def test_known_mass_is_that_of_the_locale_that_knows_most() -> None:
    terms = {"en": {"rare": 0, "common": 1}, "it": {"rare": 0, "common": 1}}
    assert known_idf_mass(terms, (), COUNTS) == 1.0
    assert known_idf_mass({"it": {"rare": 0}}, (), COUNTS) == 0.0
    assert known_idf_mass({}, ("sao-12", "sao-99"), COUNTS) == pytest.approx(
        COUNTS.identifier_idf("sao-12") / (COUNTS.identifier_idf("sao-12") + COUNTS.identifier_idf("sao-99"))
    )
    assert known_idf_mass({}, (), COUNTS) == 0.0


def test_stop_words_of_any_locale_do_not_count_unless_nothing_is_left() -> None:
    terms = {"en": {"printer": 1}, "it": {"the": 0, "printer": 1}}
    assert significant(terms) == {"en": {"printer": 1}, "it": {"printer": 1}}
    assert significant({"en": {}, "it": {"the": 0}}) == {"en": {}, "it": {"the": 0}}
