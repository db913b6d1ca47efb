"""How many tokens a hit must have, and which may be misspelt (`seed-facts.md` 5)."""

from __future__ import annotations

from typing import Any

import pytest

from app.search.matching import parse_question
from app.search.tolerance import Rules, analyse, described, finer_kind, rules


@pytest.mark.parametrize(
    ("kind", "raw", "finer"),
    [
        ("word", "NASA", "acronym"),
        ("word", "B", "short"),
        ("word", "car", "short"),
        ("word", "printer", "word"),
        ("word", "PRINTERS", "acronym"),
        ("word", "PRINTERING", "word"),
        ("numeric", "42", "numeric"),
        ("structured_identifier", "SAO-12", "structured_identifier"),
    ],
)
def test_kinds(kind: str, raw: str, finer: str) -> None:
    assert finer_kind(kind, raw) == finer


def of(count: int, stops: int = 0) -> Any:
    return analyse([(f"worda{number}", "word") for number in range(count)] + [("the", "word")] * stops)


@pytest.mark.parametrize(
    ("matching", "percents"),
    [
        ("strict", {1: 100, 3: 100, 4: 100, 8: 100, 9: 100}),
        ("balanced", {2: 100, 3: 100, 4: 75, 5: 65, 8: 65, 9: 60}),
        ("tolerant", {2: 100, 3: 66, 4: 75, 5: 55, 8: 55, 9: 50}),
    ],
)
def test_the_table(matching: Any, percents: dict[int, int]) -> None:
    assert {count: rules(matching, of(count)).coverage for count in percents} == percents


def test_auto_removes_nothing_and_says_what_it_would() -> None:
    keywords, sentence = rules("auto", of(9)), rules("auto", of(9, stops=2))
    assert (keywords.coverage, keywords.would_cover, keywords.fuzzy) == (None, 65, 1)
    assert (sentence.coverage, sentence.would_cover, sentence.fuzzy) == (None, 60, 2)
    assert keywords.effective == "balanced"


@pytest.mark.parametrize("text", ["SAO-12 printer", "NASA printer", "car printer", "42 printer"])
def test_a_protected_token_makes_all_necessary(text: str) -> None:
    rule = parse_question(text + " scanner toner", "tolerant").rules
    assert rule is not None
    assert (rule.coverage, rule.fuzzy) == (100, 0)


@pytest.mark.parametrize(("text", "effective"), [("SAO-12", "strict"), ("the of", "strict"), ("printer", "balanced")])
def test_what_auto_comes_to(text: str, effective: str) -> None:
    rule = parse_question(text).rules
    assert rule is not None
    assert rule.effective == effective


@pytest.mark.parametrize(("tokens", "percent", "needed"), [(3, 66, 2), (4, 75, 3), (5, 55, 3), (9, 60, 5), (1, 50, 1)])
def test_shares_are_taken_to_the_nearest(tokens: int, percent: int, needed: int) -> None:
    assert Rules("balanced", "balanced", percent, percent, 0).needed(tokens) == needed


def test_the_meta_has_counts_and_no_words() -> None:
    query = parse_question('secretword SAO-77 "hidden phrase" +needed -unwanted', "balanced")
    assert query.analysis is not None
    assert query.rules is not None
    meta = described(query.analysis, query.rules, query.counts())
    assert meta["token_kinds"] == {"structured_identifier": 1, "word": 1}
    assert (meta["significant_token_count"], meta["protected_token_count"], meta["eligible_token_count"]) == (2, 1, 1)
    assert (meta["required_term_count"], meta["required_phrase_count"], meta["excluded_count"]) == (1, 1, 1)
    assert meta["options"]["operator"] == "and"
    for word in ("secretword", "sao-77", "hidden", "needed", "unwanted"):
        assert word not in str(meta).lower()
