"""What conditions hold for in PostgreSQL, at the edges: NULL, case, accents, patterns, code points, instants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.dialects import postgresql

from app.cms.entities import CONTENTS
from app.cms.models import Content
from app.container import Container
from app.core.access.conditions import conditional_fields, read_filter
from app.core.access.policy import predicate, records_of_many, visible
from app.core.audit.models import AuditEntry
from app.core.contracts.actor import ANONYMOUS, SYSTEM, Actor
from app.core.contracts.conditions import Condition, Filter, Group, Placeholder
from app.core.errors import Invalid
from app.documentation.entities import DEVELOPER, USER
from app.documentation.models import DocumentationPage

READER = Actor(
    id=7, login="anna", display_name="", permissions=frozenset({"cms.contents.select", "cms.contents.update"})
)
AUTHORS = [
    "",
    "Anna",
    "anna",
    "Zoe",
    "\u00e9mile",
    "e\u0301mile",
    "50%",
    "50x",
    "a_b",
    "axb",
    "back\\slash",
    "\U0001f600",
]
"""Texts as a database may hold them; each is the key of its row too."""


@pytest.fixture
def ids(container: Container) -> Mapping[str, int]:
    """Id by author; one row has no dates and no key."""
    with container.units() as unit:
        rows = [Content(key=author, author=author, category="c") for author in AUTHORS]
        rows[0].key = None
        for place, row in enumerate(rows[1:]):
            row.valid_from = datetime(2026, 1, 1 + place, tzinfo=UTC)
        unit.session.add_all(rows)
        unit.session.flush()
        return {row.author: row.id for row in rows}


def found(container: Container, tree: Filter | None) -> list[str]:
    """The authors of the rows that pass, as they lie in AUTHORS."""
    with container.units() as unit:
        rows = set(unit.session.scalars(select(Content.author).where(predicate(CONTENTS, tree))))
    return [author for author in AUTHORS if author in rows]


def asked(container: Container, name: str, operator: str, value: object) -> list[str]:
    raw = {"property": name, "operator": operator, "value": value}
    return found(container, read_filter(CONTENTS, raw, "filter", fields=conditional_fields(CONTENTS)))


@pytest.mark.parametrize(
    ("name", "operator", "value", "expected"),
    [
        ("key", "=", None, [""]),
        ("key", "!=", None, AUTHORS[1:]),
        ("key", "!=", "anna", [author for author in AUTHORS if author not in ("", "anna")]),
        ("key", "=", "", []),
        ("author", "=", "", [""]),
        ("author", "=", "anna", ["anna"]),
        ("author", "=", "\u00e9mile", ["\u00e9mile"]),
        ("author", "<", "Zoe", ["", "Anna", "50%", "50x"]),
        ("author", "<=", "Zoe", ["", "Anna", "Zoe", "50%", "50x"]),
        ("author", ">", "z", ["\u00e9mile", "\U0001f600"]),
        ("author", ">=", "\u00e9mile", ["\u00e9mile", "\U0001f600"]),
        ("author", "between", ["A", "Zoe"], ["Anna", "Zoe"]),
        ("author", "between", ["z", "A"], []),
        ("key", "<", "~", [a for a in AUTHORS[1:] if a not in ("\u00e9mile", "\U0001f600")]),
        ("author", "like", "50%", ["50%", "50x"]),
        ("author", "like", "50\\%", ["50%"]),
        ("author", "like", "a_b", ["a_b", "axb"]),
        ("author", "like", "a\\_b", ["a_b"]),
        ("author", "like", "back\\\\%", ["back\\slash"]),
        ("author", "like", "\\a\\nna", ["anna"]),
        ("author", "like", "_mile", ["\u00e9mile"]),
        ("author", "like", "_", ["\U0001f600"]),
        ("author", "like", "ANNA", []),
        ("author", "like", "", [""]),
        ("key", "like", "%", AUTHORS[1:]),
        ("author", "in", [], []),
        ("author", "in", ["anna", "Zoe", "nobody"], ["anna", "Zoe"]),
        ("valid_from", "=", None, [""]),
        ("valid_from", "<=", "2026-01-02T00:00:00Z", ["Anna", "anna"]),
        ("valid_from", "between", ["2026-01-02T01:00:00+01:00", "2026-01-03"], ["anna", "Zoe"]),
        ("valid_from", "=", "2026-01-01T02:00:00+02:00", ["Anna"]),
        ("valid_from", "!=", "2026-01-01", AUTHORS[2:]),
        ("id", ">", 2**63 - 1, []),
        ("revision", "=", "1", AUTHORS),
    ],
)
def test_what_a_condition_holds_for(
    container: Container, ids: Mapping[str, int], name: str, operator: str, value: object, expected: list[str]
) -> None:
    assert asked(container, name, operator, value) == expected


@pytest.mark.parametrize(
    ("operator", "value"),
    [(">", "a"), (">=", "a"), ("<", "a"), ("<=", "a"), ("like", "a%"), ("between", ("a", "b"))],
)
def test_texts_are_compared_by_code_points_whatever_the_collation(operator: Any, value: object) -> None:
    """Said in the statement: the servers of the tests know no other order, those of others do."""
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    statement = str(predicate(CONTENTS, Condition("author", operator, value)).compile(dialect=dialect))
    assert statement.count('(cms_contents.author COLLATE "C")') == statement.count("cms_contents.author") > 0


def test_groups(container: Container, ids: Mapping[str, int]) -> None:
    anna, zoe = Condition("author", "=", "anna"), Condition("author", "=", "Zoe")
    assert found(container, None) == AUTHORS
    assert found(container, Group("and", ())) == AUTHORS
    assert found(container, Group("or", ())) == []
    assert found(container, Group("or", (anna, zoe))) == ["anna", "Zoe"]
    assert found(container, Group("and", (anna, zoe))) == []
    inner = Group("and", (Condition("id", ">", 0), Group("or", (zoe,))))
    assert found(container, Group("or", (inner, Group("or", ())))) == ["Zoe"]


@pytest.mark.parametrize(
    "condition",
    [
        Condition("author", ">", None),
        Condition("author", "like", None),
        Condition("key", "in", (None,)),
        Condition("key", "between", (None, "z")),
    ],
)
def test_null_is_above_below_and_inside_nothing(
    container: Container, ids: Mapping[str, int], condition: Condition
) -> None:
    assert found(container, condition) == []


@pytest.mark.parametrize(
    "condition",
    [
        Condition("title", "=", "x"),
        Condition("deleted_at", "=", None),
        Condition("author", "=", Placeholder("login")),
        Condition("author", "like", "x\\"),
        Condition("id", "like", "1"),
        Condition("id", "=", True),
        Condition("author", "~", "x"),  # type: ignore[arg-type]
        Condition("author", "in", "anna"),
        Condition("id", "between", (1,)),
    ],
)
def test_what_was_never_read_is_refused(condition: Condition) -> None:
    with pytest.raises(Invalid):
        predicate(CONTENTS, Group("or", (condition,)))


def reached(container: Container, actor: Actor, ability: Any = "select") -> list[str]:
    with container.units() as unit:
        return sorted(unit.session.scalars(select(Content.author).where(visible(CONTENTS, actor, ability))))


def test_rows_need_the_permission_and_pass_the_rules_of_select_too(
    container: Container, ids: Mapping[str, int]
) -> None:
    rows = {
        "cms.contents.select": Condition("author", "in", ("anna", "Zoe")),
        "cms.contents.update": Condition("author", "in", ("Zoe", "Anna")),
    }
    ruled = replace(READER, rows=rows)
    assert reached(container, ruled) == ["Zoe", "anna"]
    assert reached(container, ruled, "update") == ["Zoe"]
    assert reached(container, ruled, "delete") == []
    assert reached(container, replace(ruled, permissions=frozenset({"cms.contents.update"})), "update") == []
    assert reached(container, ANONYMOUS) == []
    assert len(reached(container, SYSTEM, "forceDelete")) == len(AUTHORS)


def test_an_entity_sees_only_its_own_rows_of_a_shared_table(container: Container) -> None:
    with container.units() as unit:
        unit.session.add_all(
            [DocumentationPage(corpus="user", source="a"), DocumentationPage(corpus="developer", source="b")]
        )
        unit.session.flush()
        seen = [
            list(unit.session.scalars(select(DocumentationPage.source).where(visible(entity, SYSTEM))))
            for entity in (USER, DEVELOPER)
        ]
    assert seen == [["a"], ["b"]]


def test_rows_about_records_of_many_entities(container: Container, ids: Mapping[str, int]) -> None:
    gone = max(ids.values()) + 1
    abouts = [("cms.contents", ids["anna"]), ("cms.contents", ids["Zoe"]), ("cms.contents", gone), ("sao.tickets", 1)]
    with container.units() as unit:
        for entity, record in [*abouts, ("settings", None)]:
            unit.session.add(
                AuditEntry(actor_login="x", channel="test", action="update", entity=entity, record_id=record)
            )

    def seen(actor: Actor) -> list[tuple[str, int | None]]:
        where = records_of_many(actor, container.registry, AuditEntry.entity, AuditEntry.record_id)
        with container.units() as unit:
            statement = select(AuditEntry.entity, AuditEntry.record_id).where(where).order_by(AuditEntry.id)
            return [(entity, record) for entity, record in unit.session.execute(statement)]

    assert seen(ANONYMOUS) == []
    assert seen(SYSTEM) == abouts
    assert seen(READER) == abouts[:3]
    assert seen(replace(READER, rows={"cms.contents.select": Condition("author", "=", "anna")})) == abouts[:1]
    assert seen(replace(READER, rows={"cms.contents.select": Condition("id", ">", 0)})) == abouts[:2]
