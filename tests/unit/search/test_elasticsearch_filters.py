"""Conditions as Elasticsearch filters: values, jokers, absent values, and what is folded away."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from app.core.contracts.conditions import Condition, Filter, Group
from app.core.elasticsearch.fields import stored
from app.core.elasticsearch.filters import ALL, NONE, Compiler, wildcard

FIELDS = {"category", "number", "at"}


def compiled(tree: Filter, locale: str = "en") -> tuple[Any, bool]:
    compiler = Compiler("cms.contents", locale, FIELDS, FIELDS | {"description"})
    return compiler(tree), compiler.exact


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a%b_c", "a*b?c"),
        (r"100\%", "100%"),
        ("a*b?", r"a\*b\?"),
        (r"\\", r"\\"),
        (r"\_%", "_*"),
    ],
)
def test_patterns(pattern: str, expected: str) -> None:
    assert wildcard(pattern) == expected


def test_instants_are_exact_and_have_no_range() -> None:
    at = datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)
    assert stored(at) == -1
    assert stored(at.astimezone(timezone(timedelta(hours=5)))) == -1
    assert stored(datetime(2026, 11, 30, 12, 0, 0, 1, UTC)) == 1_796_040_000_000_001


def test_the_text_s_own_locale_is_decided_before_anything_is_sent() -> None:
    tree = Group("or", (Condition("locale", "=", "it"), Condition("category", "=", "news")))
    assert compiled(tree, "it") == (ALL, True)
    assert compiled(tree, "en") == ({"bool": {"should": [{"term": {"fields.category": "news"}}],
                                              "minimum_should_match": 1}}, True)  # fmt: skip
    assert compiled(Group("and", (Condition("locale", "like", "i_"), Group("and", ()))), "en") == (NONE, True)


def test_nothing_compares_with_a_value_that_is_not_there() -> None:
    present = {"exists": {"field": "fields.number"}}
    assert compiled(Condition("number", "=", None))[0] == {"bool": {"must_not": [present]}}
    assert compiled(Condition("number", "!=", None))[0] == present
    assert compiled(Condition("number", "<", None))[0] == NONE
    assert compiled(Condition("number", "between", (1, None)))[0] == NONE
    assert compiled(Condition("number", "in", (None,)))[0] == NONE
    assert compiled(Condition("number", "!=", 3))[0] == {
        "bool": {"filter": [present], "must_not": [{"term": {"fields.number": 3}}]}
    }


def test_a_text_too_long_for_the_index_lets_all_through_and_says_so() -> None:
    tree = Group("and", (Condition("description", "like", "a%"), Condition("number", ">", 3)))
    assert compiled(tree) == ({"bool": {"filter": [{"range": {"fields.number": {"gt": 3}}}]}}, False)
