"""Conditions as JSON: what is read, what is refused and where, and what placeholders become."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cms.entities import CONTENTS
from app.core.access.conditions import (
    DEEPEST,
    LONGEST,
    MOST,
    NOTHING,
    conditional_fields,
    filled,
    read_filter,
    write_filter,
)
from app.core.contracts.conditions import Condition, Filter, Group, Placeholder
from app.core.errors import Invalid
from app.documentation.entities import USER
from app.sao.entities import TICKETS

NEWS = {"property": "category", "operator": "=", "value": "news"}
ACTOR = {"id": 7, "login": "anna", "tenant": None, "locale": "it", "roles": ["reader", "desk"]}


def read(raw: object, *, placeholders: bool = False, entity: Any = CONTENTS, fields: Any = None) -> Filter:
    known = conditional_fields(entity) if fields is None else fields
    return read_filter(entity, raw, "filter", fields=known, placeholders=placeholders)


def problems(raw: object, **options: Any) -> list[tuple[str | None, str]]:
    with pytest.raises(Invalid) as caught:
        read(raw, **options)
    assert caught.value.code == "input.invalid"
    return [(problem.path, problem.code) for problem in caught.value.fields]


def condition(name: str, operator: str, value: object) -> dict[str, object]:
    return {"property": name, "operator": operator, "value": value}


def test_a_tree_is_read_with_values_in_the_form_of_their_fields() -> None:
    raw = {
        "operator": "or",
        "filters": [
            NEWS,
            condition("valid_from", ">=", "2026-01-01T00:00:00+02:00"),
            {"operator": "and", "filters": [condition("id", "in", [1, "2"]), condition("author", "=", None)]},
        ],
    }
    assert read(raw) == Group(
        "or",
        (
            Condition("category", "=", "news"),
            Condition("valid_from", ">=", datetime(2025, 12, 31, 22, tzinfo=UTC)),
            Group("and", (Condition("id", "in", (1, 2)), Condition("author", "=", None))),
        ),
    )


def test_equalities_of_a_list_are_a_tree_and_no_rule() -> None:
    assert read({"category": "news", "valid_to": None}) == Group(
        "and", (Condition("category", "=", "news"), Condition("valid_to", "=", None))
    )
    assert read({}) == Group("and", ())
    assert problems({"category": "news"}, placeholders=True) == [
        ("filter.category", "input.unknown_field"),
        ("filter.property", "input.unknown_field"),
        ("filter.operator", "input.choice"),
    ]
    assert problems({"nothing": 1, "id": "x"}) == [
        ("filter.nothing", "input.unknown_field"),
        ("filter.id", "input.type"),
    ]


def test_conditions_name_untranslated_columns_and_what_the_system_keeps() -> None:
    assert "title" not in conditional_fields(CONTENTS)
    assert {"id", "revision", "created_at", "updated_at", "category"} <= set(conditional_fields(CONTENTS))
    assert {"subject", "number"} <= set(conditional_fields(TICKETS))
    assert set(conditional_fields(USER)) == {"id", "revision", "updated_at", "source"}


@pytest.mark.parametrize(
    ("raw", "path", "code"),
    [
        ([], "filter", "input.type"),
        ("category", "filter", "input.type"),
        (condition("title", "=", "x"), "filter.property", "input.unknown_field"),
        (condition("deleted_at", "=", None), "filter.property", "input.unknown_field"),
        ({**NEWS, "property": ["category"]}, "filter.property", "input.unknown_field"),
        ({**NEWS, "operator": "<>"}, "filter.operator", "input.choice"),
        ({**NEWS, "operator": ["="]}, "filter.operator", "input.choice"),
        ({"property": "category", "operator": "="}, "filter.value", "input.required"),
        ({**NEWS, "not": True}, "filter.not", "input.unknown_field"),
        (condition("category", "=", 5), "filter.value", "input.type"),
        (condition("category", "=", "x" * 61), "filter.value", "input.too_long"),
        (condition("category", ">", None), "filter.value", "input.required"),
        (condition("category", "like", None), "filter.value", "input.required"),
        (condition("category", "like", "100\\"), "filter.value", "input.type"),
        (condition("category", "like", "\x00%"), "filter.value", "input.type"),
        (condition("category", "like", "\ud800"), "filter.value", "input.type"),
        (condition("category", "like", "x" * 121), "filter.value", "input.too_long"),
        (condition("id", "like", "1%"), "filter.operator", "input.choice"),
        (condition("category", "in", "news"), "filter.value", "input.type"),
        (condition("category", "in", ["a", None]), "filter.value.1", "input.required"),
        (condition("category", "in", ["a"] * (LONGEST + 1)), "filter.value", "input.too_many"),
        (condition("id", "between", [1]), "filter.value", "input.type"),
        (condition("id", "between", [1, 2, 3]), "filter.value", "input.type"),
        (condition("id", "between", [1, "x"]), "filter.value.1", "input.type"),
        (condition("id", "=", True), "filter.value", "input.type"),
        (condition("id", "=", 1.5), "filter.value", "input.type"),
        (condition("id", "=", 2**63), "filter.value", "input.type"),
        (condition("id", "=", "9" * 5000), "filter.value", "input.type"),
        (condition("status", "=", "lost"), "filter.value", "input.choice"),
        (condition("status", "in", ["draft", "lost"]), "filter.value.1", "input.choice"),
        (condition("valid_to", "<", "soon"), "filter.value", "input.type"),
        (condition("valid_to", "<", 5), "filter.value", "input.type"),
        (condition("valid_to", "<", "0001-01-01T00:00:00+14:00"), "filter.value", "input.type"),
        (condition("category", "=", {"actor": "locale"}), "filter.value", "input.type"),
        ({"operator": "not", "filters": []}, "filter.operator", "input.choice"),
        ({"operator": "and", "filters": {}}, "filter.filters", "input.type"),
        ({"operator": "and", "filters": [], "value": 1}, "filter.value", "input.unknown_field"),
        ({"operator": "and", "filters": [NEWS, 3]}, "filter.filters.1", "input.type"),
    ],
)
def test_what_is_wrong_is_told_with_its_path(raw: object, path: str, code: str) -> None:
    assert problems(raw) == [(path, code)]


def test_every_error_is_told_at_once() -> None:
    wrong = [condition("a", "=", 1), NEWS, {"operator": "or", "filters": [condition("id", "~", 1)]}]
    assert problems({"operator": "and", "filters": wrong}) == [
        ("filter.filters.0.property", "input.unknown_field"),
        ("filter.filters.2.filters.0.operator", "input.choice"),
    ]


def test_a_field_that_the_actor_may_not_read_does_not_exist() -> None:
    assert problems(NEWS, fields={"author"}) == [("filter.property", "input.unknown_field")]
    assert problems({"category": "news"}, fields={"author"}) == [("filter.category", "input.unknown_field")]


def nested(depth: int) -> dict[str, object]:
    tree: dict[str, object] = dict(NEWS)
    for _ in range(depth - 1):
        tree = {"operator": "and", "filters": [tree]}
    return tree


def test_depth_and_number_are_bounded() -> None:
    read(nested(DEEPEST))
    assert problems(nested(DEEPEST + 1)) == [("filter" + ".filters.0" * DEEPEST, "input.too_deep")]
    assert problems(nested(400)) == [("filter" + ".filters.0" * DEEPEST, "input.too_deep")]
    read({"operator": "or", "filters": [NEWS] * MOST})
    assert problems({"operator": "or", "filters": [NEWS] * (MOST + 1)}) == [("filter", "input.too_many")]
    assert problems({"operator": "or", "filters": [NEWS] * 5000}) == [("filter", "input.too_many")]
    halves = [{"operator": "or", "filters": [NEWS] * 51}] * 2
    assert problems({"operator": "and", "filters": halves}) == [("filter", "input.too_many")]


def test_texts_are_cleaned_as_stored_ones_and_patterns_only_composed() -> None:
    assert read(condition("author", "=", " Jose\u0301  P ")) == Condition("author", "=", "José P")
    assert read(condition("author", "like", " Jose\u0301  %")) == Condition("author", "like", " José  %")
    assert read(condition("author", "like", "100\\\\")) == Condition("author", "like", "100\\\\")


@pytest.mark.parametrize(
    ("name", "operator", "value", "expected"),
    [
        ("id", "=", {"actor": "id"}, Condition("id", "=", 7)),
        ("author", "=", {"actor": "id"}, Condition("author", "=", "anna")),
        ("author", "!=", {"actor": "login"}, Condition("author", "!=", "anna")),
        ("category", "in", {"actor": "roles"}, Condition("category", "in", ("desk", "reader"))),
        ("category", "=", {"actor": "locale"}, Condition("category", "=", "it")),
        ("id", "=", {"actor": "tenant"}, NOTHING),
        ("id", "!=", {"actor": "tenant"}, NOTHING),
        ("id", "in", [1, {"actor": "tenant"}, {"actor": "id"}], Condition("id", "in", (1, 7))),
        ("id", "between", [1, {"actor": "tenant"}], NOTHING),
        ("id", "between", [1, {"actor": "id"}], Condition("id", "between", (1, 7))),
    ],
)
def test_placeholders_become_the_actors_values(name: str, operator: str, value: object, expected: Filter) -> None:
    tree = read(condition(name, operator, value), placeholders=True)
    assert filled(tree, ACTOR) == expected
    assert filled(Group("or", (tree,)), ACTOR) == Group("or", (expected,))


@pytest.mark.parametrize(
    ("name", "operator", "value"),
    [
        ("author", "like", {"actor": "login"}),
        ("author", "=", {"actor": "roles"}),
        ("author", "in", [{"actor": "roles"}]),
        ("author", "in", {"actor": "login"}),
        ("category", "=", {"actor": "id"}),
        ("id", "=", {"actor": "locale"}),
        ("id", "in", {"actor": "roles"}),
        ("author", "=", {"actor": "password"}),
        ("author", "=", {"actor": "id", "or": 1}),
        ("author", "=", {"actor": ["id"]}),
    ],
)
def test_placeholders_stand_where_their_value_fits(name: str, operator: str, value: object) -> None:
    (problem,) = problems(condition(name, operator, value), placeholders=True)
    assert problem[1] == "input.type"


TEXTS = st.text(alphabet="aBé%_\\ z", max_size=6).map(lambda text: " ".join(text.split()))
CONDITIONS = st.one_of(
    st.builds(Condition, st.just("author"), st.sampled_from(["=", "!=", ">", "<="]), TEXTS),
    st.builds(Condition, st.just("category"), st.just("in"), st.lists(TEXTS, max_size=3).map(tuple)),
    st.builds(Condition, st.just("key"), st.just("like"), TEXTS.map(lambda text: text.replace("\\", "\\\\"))),
    st.builds(Condition, st.just("id"), st.just("between"), st.tuples(st.integers(0, 9), st.integers(0, 9))),
    st.builds(Condition, st.just("valid_to"), st.sampled_from(["=", "!="]), st.none()),
    st.builds(Condition, st.just("valid_from"), st.just(">"), st.datetimes(timezones=st.just(UTC))),
    st.builds(Condition, st.just("author"), st.just("="), st.just(Placeholder("login"))),
    st.builds(Condition, st.just("category"), st.just("in"), st.just(Placeholder("roles"))),
)
TREES = st.recursive(
    CONDITIONS,
    lambda inner: st.builds(Group, st.sampled_from(["and", "or"]), st.lists(inner, max_size=3).map(tuple)),
    max_leaves=8,
)


@given(TREES)
def test_what_is_written_is_read_to_the_same_tree(tree: Filter) -> None:
    assert read(write_filter(tree), placeholders=True) == tree


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["property", "operator", "value", "filters", "actor", "category"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(JSON, st.booleans())
def test_whatever_is_sent_is_read_or_refused_with_a_path(raw: object, placeholders: bool) -> None:
    paths = []
    try:
        tree = read(raw, placeholders=placeholders)
    except Invalid as refusal:
        paths = [str(problem.path) for problem in refusal.fields] or ["none"]
        tree = NOTHING
    assert all(path.startswith("filter") for path in paths)
    assert read(write_filter(tree), placeholders=placeholders) == tree
