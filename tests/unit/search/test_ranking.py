"""BM25, known idf mass, and the terms that count."""

from __future__ import annotations

import itertools

import pytest

from app.search.engines.postgres_words import frequency
from app.search.engines.ranking import Candidate, Statistics, idf, known_idf_mass, ranked, significant

COUNTS = Statistics({"en": 100, "it": 50}, {("en", "rare"): 1, ("en", "common"): 60}, {"sao-12": 1})
TERMS = {"en": {"rare": 0, "common": 1}}


def row(
    number: int, *counts: float, complete: bool = False, length: float = 10, names: tuple[str, ...] = ()
) -> Candidate:
    return Candidate("a.a", number, "en", complete, length, counts, names)


def test_idf_falls_and_is_never_negative() -> None:
    values = [idf(100, having) for having in (0, 1, 50, 100)]
    assert values == sorted(values, reverse=True)
    assert idf(10, 20) > 0


def test_rare_words_weigh_more_and_long_texts_less() -> None:
    assert [hit.record_id for hit in ranked([row(1, 0, 3), row(2, 1, 0)], TERMS, COUNTS)] == [2, 1]
    assert [hit.record_id for hit in ranked([row(1, 1, 0, length=90), row(2, 1, 0)], TERMS, COUNTS)] == [2, 1]


def test_two_terms_together_come_first() -> None:
    both = row(2, 1, 1, complete=True, length=500)
    assert [hit.record_id for hit in ranked([row(1, 9, 0), both], TERMS, COUNTS)] == [2, 1]


def test_with_three_terms_having_all_is_no_rule() -> None:
    terms = {"en": {"rare": 0, "common": 1, "more": 2}}
    hits = ranked([row(1, 9, 0, 0), row(2, 0, 1, 0, complete=True)], terms, COUNTS)
    assert hits[0].record_id == 1


def test_identifiers_first_and_ties_by_id() -> None:
    hits = ranked(
        [row(3, 9, 9, complete=True), row(5, 0, 0, names=("sao-12",)), row(1, 9, 9, complete=True)], TERMS, COUNTS
    )
    assert [hit.record_id for hit in hits] == [5, 1, 3]
    assert [hit.named for hit in hits] == [True, False, False]


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


def test_occurrences_are_read_back_from_the_rank() -> None:
    for count, total in enumerate(itertools.accumulate(1 / (j * j) for j in range(1, 40)), start=1):
        assert frequency(float(f"{total / 1.64493406685:.7g}")) == count
    assert frequency(0.0) == 0
