"""Suites of golden questions: how they are read, and what their figures are by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.core.errors import Invalid
from app.documentation.suites import CaseResult, Chunk, SuiteCase, read_suite, scores


def read(**cases: Any) -> Any:
    return read_suite("s", json.dumps(cases))


def result(*sources: str, case: dict[str, Any] | None = None, text: str = "some words") -> CaseResult:
    values = {"id": "c", "query": "q", **(case or {})}
    return CaseResult(SuiteCase(**values), tuple(Chunk(source, text, 0.5) for source in sources))


def test_the_form_of_the_seed_is_read() -> None:
    suite = read(
        a={"query": "How long?", "expected_sources": ["r.md"], "must_contain": ["30 days"]},
        b={"query": "Who?", "expect_no_answer": True},
        c={"query": "Chi?", "locale": "it", "must_not_contain": ["x"], "expect_fail": True},
    )
    assert [case.id for case in suite.cases] == ["a", "b", "c"]
    assert suite.cases[0] == SuiteCase("a", "How long?", ("r.md",), ("30 days",))
    assert suite.cases[1].expect_no_answer
    assert (suite.cases[2].locale, suite.cases[2].expect_fail) == ("it", True)


@pytest.mark.parametrize(
    ("text", "where", "expected"),
    [
        ("{", "the file", "must be JSON"),
        ("[]", "the file", "must be an object of case id to case"),
        ("{}", "the file", "must hold 1 to 10000 cases"),
        ('{"a": 1}', "case a", "must be an object"),
        ('{"a": {}}', "case a, query:", "must be a text of at most 2000 characters"),
        ('{"a": {"query": " "}}', "case a, query:", "must be a text of at most 2000 characters"),
        ('{"a": {"query": "q", "must_contian": []}}', "case a", "has the unknown key must_contian"),
        ('{"a": {"query": "q", "must_contain": "x"}}', "case a, must_contain:", "must be a list of texts"),
        ('{"a": {"query": "q", "must_contain": [""]}}', "case a, must_contain:", "must be a list of texts"),
        ('{"a": {"query": "q", "expected_sources": ["x", "x"]}}', "case a, expected_sources:",
         "must not name the same text twice"),
        ('{"a": {"query": "q", "expect_no_answer": 1}}', "case a, expect_no_answer:", "must be true or false"),
        ('{"a": {"query": "q", "locale": "fr"}}', "case a, locale:", "must be one of en, it"),
        ('{"a": {"query": "q", "expect_no_answer": true, "expected_sources": ["x"]}}', "case a, expect_no_answer:",
         "goes with neither expected_sources nor must_contain"),
        ('{"a": {"query": "q"}, "a": {"query": "r"}}', "the file", "has the key a twice"),
        ('{"a": {"query": "q", "query": "r"}}', "case a", "has the key query twice"),
    ],
)  # fmt: skip
def test_what_is_malformed_names_the_case_and_the_key(text: str, where: str, expected: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_suite("s", text)
    assert (caught.value.code, caught.value.values["where"], caught.value.values["expected"]) == (
        "documentation.suite",
        where,
        expected,
    )


def test_recall_is_the_share_of_expected_sources_and_rank_counts_passages() -> None:
    one = result("x", "x", "a", case={"expected_sources": ("a", "b")})
    assert (one.recall, one.rank, one.reciprocal_rank) == (0.5, 3, 1 / 3)
    assert [broken.sentence for broken in one.violations] == ["expected source was not retrieved: 'b'"]
    nothing_named = result("x")
    assert (nothing_named.recall, nothing_named.reciprocal_rank, nothing_named.passed) == (1.0, 1.0, True)
    nothing_found = result(case={"expected_sources": ("a",)})
    assert (nothing_found.recall, nothing_found.reciprocal_rank, nothing_found.top_score) == (0.0, 0.0, 0.0)


def test_texts_are_sought_whatever_their_case_and_line_breaks() -> None:
    found = result("a", text="within 30\n days", case={"must_contain": ("30 DAYS",), "must_not_contain": ("po boxes",)})
    assert found.passed
    broken = result("a", text="No PO\nboxes", case={"must_contain": ("30 days",), "must_not_contain": ("po boxes",)})
    assert [one.kind for one in broken.violations] == ["missing_text", "forbidden_text"]


def test_a_text_does_not_reach_over_two_passages() -> None:
    case = SuiteCase("c", "q", must_contain=("one two",))
    assert not CaseResult(case, (Chunk("a", "one", 1.0), Chunk("a", "two", 0.9))).passed


def test_no_answer_means_that_nothing_is_retrieved() -> None:
    case = {"expect_no_answer": True}
    assert result(case=case).passed
    assert [one.value for one in result("a", "b", case=case).violations] == ["2"]


def test_the_pass_rate_counts_every_case_the_means_only_answerable_ones() -> None:
    good = result("a", case={"expected_sources": ("a",)})
    late = result("x", "a", case={"expected_sources": ("a",)})
    empty = result(case={"expect_no_answer": True})
    found = scores([good, late, empty, result("x", case={"expect_no_answer": True})])
    assert found == {"pass_rate": 0.75, "recall_at_k": 1.0, "mrr": 0.75, "mean_top_score": 0.5}
    assert scores([empty])["recall_at_k"] == 0.0  # not applicable, not broken


def test_cases_known_to_be_red_count_nowhere() -> None:
    good = result("a", case={"expected_sources": ("a",)})
    red = result("x", case={"expected_sources": ("a",), "expect_fail": True})
    assert scores([good, red]) == scores([good])
