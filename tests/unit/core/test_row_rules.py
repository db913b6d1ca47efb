"""What roles, their rules and field lists come to for one person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from app.cms.entities import CONTENTS
from app.core.access.actor import actor_of
from app.core.access.conditions import NOTHING
from app.core.access.models import ApiToken, FieldRule, Role, RowRule, User
from app.core.access.policy import readable, writable
from app.core.access.rules import broken_rules, read_rule
from app.core.contracts.actor import ANONYMOUS, Actor
from app.core.contracts.conditions import Condition, Group
from app.core.errors import Invalid
from app.core.registry import Registry
from app.documentation.entities import USER
from app.sao.entities import TICKETS

REGISTRY = Registry([CONTENTS, TICKETS, USER])
SEE, CHANGE = "cms.contents.select", "cms.contents.update"
NEWS = {"property": "category", "operator": "=", "value": "news"}
OWN = {"property": "author", "operator": "=", "value": {"actor": "id"}}
GONE = {"property": "colour", "operator": "=", "value": "red"}
IS_NEWS, IS_OWN = Condition("category", "=", "news"), Condition("author", "=", "anna")


def role(
    name: str,
    *permissions: str,
    rules: Mapping[str, list[Any]] | None = None,
    fields: Mapping[tuple[str, str], list[str]] | None = None,
) -> Role:
    """``rules``: permission to conditions; ``fields``: (entity, ability) to names."""
    return Role(
        name=name,
        permissions=list(permissions),
        row_rules=[
            RowRule(id=number, permission=permission, condition=condition)
            for permission, conditions in (rules or {}).items()
            for number, condition in enumerate(conditions, 1)
        ],
        field_rules=[
            FieldRule(entity=entity, ability=ability, fields=names)
            for (entity, ability), names in (fields or {}).items()
        ],
    )


def actor(*roles: Role, registry: Registry | None = REGISTRY, **values: Any) -> Actor:
    user = User(id=7, login="anna", display_name="Anna", locale="it", needs_approval=False, **values)
    user.roles = list(roles)
    return actor_of(user, registry=registry)


def test_without_rules_nothing_is_restricted() -> None:
    assert actor(role("reader", SEE)).rows_for(SEE) is None


def test_rules_of_one_role_must_all_hold_with_the_actors_values() -> None:
    assert actor(role("a", SEE, rules={SEE: [NEWS]})).rows_for(SEE) == IS_NEWS
    assert actor(role("a", SEE, rules={SEE: [NEWS, OWN]})).rows_for(SEE) == Group("and", (IS_NEWS, IS_OWN))


def test_roles_are_alternatives_and_one_without_a_rule_lifts_the_restriction() -> None:
    news, own = role("a", SEE, rules={SEE: [NEWS]}), role("b", SEE, rules={SEE: [OWN]})
    assert actor(news, own).rows_for(SEE) == Group("or", (IS_NEWS, IS_OWN))
    assert actor(news, role("c", SEE)).rows_for(SEE) is None


def test_a_role_that_does_not_grant_the_permission_neither_lifts_nor_restricts() -> None:
    news = role("a", SEE, rules={SEE: [NEWS]})
    assert actor(news, role("b", CHANGE)).rows_for(SEE) == IS_NEWS
    assert actor(role("a", SEE), role("b", CHANGE, rules={SEE: [NEWS]})).rows_for(SEE) is None


def test_each_permission_has_its_own_rows() -> None:
    who = actor(role("a", SEE, CHANGE, rules={CHANGE: [OWN]}))
    assert who.rows_for(SEE) is None
    assert who.rows_for(CHANGE) == IS_OWN


def test_an_administrator_is_never_restricted() -> None:
    restricting = role("b", SEE, rules={SEE: [NEWS]}, fields={("cms.contents", "read"): ["category"]})
    who = actor(role("administrator", "*"), restricting)
    assert who.rows_for(SEE) is None
    assert "author" in readable(CONTENTS, who)


@pytest.mark.parametrize("rules", [[GONE], [NEWS, GONE], [{"operator": "or", "filters": [NEWS, GONE]}], ["nonsense"]])
def test_a_rule_that_can_not_be_read_closes_its_role_and_no_other(rules: list[Any]) -> None:
    broken = role("a", SEE, CHANGE, rules={SEE: rules})
    assert actor(broken).rows_for(SEE) == NOTHING
    assert actor(broken).rows_for(CHANGE) is None
    assert actor(broken, role("b", SEE, rules={SEE: [OWN]})).rows_for(SEE) == Group("or", (NOTHING, IS_OWN))
    assert actor(broken, role("c", SEE)).rows_for(SEE) is None


def test_without_the_registry_rules_close() -> None:
    assert actor(role("a", SEE, rules={SEE: [NEWS]}), registry=None).rows_for(SEE) == NOTHING


def test_broken_rules_are_named() -> None:
    sick = role("sick", SEE, rules={SEE: [NEWS, GONE]}, fields={("cms.contents", "read"): ["category", "colour"]})
    lost = role("lost", rules={"cms.pages.select": [NEWS]}, fields={("cms.pages", "read"): ["x"]})
    sound = role("sound", SEE, rules={SEE: [OWN]}, fields={("cms.contents", "write"): ["title"]})
    found = broken_rules([sick, lost, sound], REGISTRY)
    assert [(rule.role, rule.rule_id, rule.subject) for rule in found] == [
        ("sick", 2, SEE),
        ("sick", None, "cms.contents"),
        ("lost", 1, "cms.pages.select"),
        ("lost", None, "cms.pages"),
    ]


@pytest.mark.parametrize(
    "permission", ["settings.update", "cms.contents", "cms.contents.look", "*", "cms.pages.select"]
)
def test_a_rule_belongs_to_an_ability_of_an_entity(permission: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_rule(REGISTRY, permission, NEWS)
    assert [problem.path for problem in caught.value.fields] == ["permission"]


def test_field_lists_are_joined_and_lifted_by_a_role_that_sees_the_entity_without_one() -> None:
    one = role("a", SEE, fields={("cms.contents", "read"): ["category"]})
    two = role("b", SEE, fields={("cms.contents", "read"): ["title", "colour"]})
    system = {"id", "revision", "created_at", "updated_at"}
    assert readable(CONTENTS, actor(one)) == {"category"} | system
    assert readable(CONTENTS, actor(one, two)) == {"category", "title"} | system
    assert readable(CONTENTS, actor(one, role("c", "sao.tickets.select"))) == {"category"} | system
    assert readable(CONTENTS, actor(one, role("d", SEE))) == {item.name for item in CONTENTS.fields} | system
    assert readable(TICKETS, actor(one)) == frozenset()
    assert readable(CONTENTS, ANONYMOUS) == frozenset()


def test_writable_fields_are_editable_ones_of_who_may_write() -> None:
    everything = {"title", "body", "category", "author", "status", "valid_from", "valid_to"}
    narrow = role("a", SEE, CHANGE, fields={("cms.contents", "write"): ["status", "key"]})
    assert writable(CONTENTS, actor(role("b", SEE, CHANGE))) == everything
    assert writable(CONTENTS, actor(narrow)) == {"status"}
    assert writable(CONTENTS, actor(narrow, role("c", SEE))) == {"status"}
    assert writable(CONTENTS, actor(narrow, role("d", "cms.contents.insert"))) == everything
    assert writable(CONTENTS, actor(role("e", SEE))) == frozenset()
    assert writable(USER, actor(role("f", "*"))) == frozenset()


def test_a_token_and_a_guest_are_told_apart() -> None:
    user = User(id=7, login="anna", display_name="Anna", locale="en", needs_approval=False, is_guest=True, roles=[])
    found = actor_of(user, ApiToken(id=3, scopes=["read"]), REGISTRY)
    assert (found.is_guest, found.token_id, found.scopes) == (True, 3, frozenset({"read"}))
    assert actor(role("a", SEE)).token_id is None
