"""Datasets are read strictly, and the figures are those worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from app.core.errors import Invalid
from app.documentation.evaluation import Case, Outcome, breaches, by_slice, figures, read_dataset


def dataset(*cases: dict[str, Any], **changed: Any) -> dict[str, Any]:
    whole = {
        "version": "1", "corpus_revision": "r", "module": "app", "index_profile": "user",
        "data_classification": "synthetic", "cases": list(cases),
    }  # fmt: skip
    return {**whole, **changed}


CASE = {"id": "a", "query": "q", "locale": "en"}


def test_a_dataset_is_read() -> None:
    read = read_dataset(
        dataset(
            {**CASE, "expected_source_labels": ["S"], "expect_supported_answer": True, "top_k": 3},
            {**CASE, "id": "b", "tenant": {"scope": "tenant", "id": 7}, "effective_permissions": ["x.y.select"]},
            floors={"source_hit_at_k": 0.9},
        )
    )
    assert read.cases[0] == Case("a", "q", "en", 3, ("S",), expect_supported=True)
    assert (read.cases[1].tenant_id, read.cases[1].permissions, read.cases[1].expect_abstention) == (
        7,
        ("x.y.select",),
        True,
    )
    assert read.floors == {"source_hit_at_k": 0.9}


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        ([], "the file"),
        (dataset(CASE, extra=1), "the file"),
        (dataset(CASE, index_profile="all"), "index_profile"),
        (dataset(CASE, data_classification="private"), "data_classification"),
        (dataset(), "cases"),
        (dataset(CASE, CASE), "cases"),
        (dataset({"id": "a", "query": "q"}), "case 1"),
        (dataset({**CASE, "id": "A b"}), "case 1, id:"),
        (dataset({**CASE, "query": " "}), "case a, query:"),
        (dataset({**CASE, "locale": "fr"}), "case a, locale:"),
        (dataset({**CASE, "top_k": 11}), "case a, top_k:"),
        (dataset({**CASE, "top_k": True}), "case a, top_k:"),
        (dataset({**CASE, "slices": "x"}), "case a, slices:"),
        (dataset({**CASE, "expect_refusal": 1}), "case a, expect_refusal:"),
        (dataset({**CASE, "expect_refusal": True, "expected_source_labels": ["S"]}), "case a,"),
        (dataset({**CASE, "expect_supported_answer": True}), "case a,"),
        (dataset({**CASE, "tenant": {"scope": "tenant"}}), "case a, tenant:"),
        (dataset(CASE, floors={"speed": 1}), "floors"),
        (dataset(CASE, floors={"source_hit_at_k": 2}), "floors"),
    ],
)
def test_a_malformed_dataset_names_case_and_key(raw: object, where: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_dataset(raw)
    assert caught.value.values["where"] == where


def case(name: str, **values: Any) -> Case:
    return Case(name, "q", "en", **values)


OUTCOMES = [
    Outcome(case("first", expected_sources=("A",), expect_supported=True, slices=("s",)), ("A", "B"), confident=True),
    Outcome(case("second", expected_sources=("A", "C"), expected_citations=("A",)), ("B", "A"), confident=True),
    Outcome(case("missed", expected_sources=("A",), expect_supported=True), ("B",), confident=False),
    Outcome(case("empty", expect_empty=True), ()),
    Outcome(case("refused", expect_refusal=True), refused=True),
    Outcome(case("not refused", expect_refusal=True), ("A",), confident=True),
    Outcome(case("abstained"), ("B",), confident=False),
    Outcome(case("away"), unavailable=True),
]


def test_the_figures_are_those_worked_out_by_hand() -> None:
    second = (1 / math.log2(3)) / (1 + 1 / math.log2(3))
    assert figures(OUTCOMES) == {
        "source_hit_at_k": 0.6667,
        "mean_reciprocal_rank": 0.5,
        "ndcg_at_k": round((1 + second) / 3, 4),
        "recall_at_k": 0.5,
        "citation_precision": 0.5,
        "authorized_empty_accuracy": 1.0,
        "supported_answer_rate": 0.5,
        "abstention_accuracy": 0.5,
        "refusal_accuracy": 0.5,
        "unavailable_rate": 0.125,
    }
    assert [one.case.id for one in OUTCOMES if not one.passed] == ["missed", "not refused", "away"]
    assert by_slice(OUTCOMES)["s"]["source_hit_at_k"] == 1.0


def test_floors_and_ceilings() -> None:
    found = figures(OUTCOMES)
    assert breaches(found, {"source_hit_at_k": 0.6667, "unavailable_rate": 0.125}) == []
    assert breaches(found, {"source_hit_at_k": 0.7, "unavailable_rate": 0.0}) == [
        "source_hit_at_k is 0.6667, below 0.7000",
        "unavailable_rate is 0.1250, above 0.0000",
    ]
