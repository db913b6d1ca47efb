"""People and roles as the services keep them: what is refused, what is given, what the audit says."""

from contextlib import suppress

import pytest
from argon2 import extract_parameters
from argon2.low_level import Type
from sqlalchemy import select

from app.container import Container
from app.core.access.actor import actor_of, role_permissions
from app.core.access.models import Role, User
from app.core.audit.models import AuditEntry
from app.core.contracts.actor import SYSTEM, Actor
from app.core.errors import Forbidden, Invalid, Unauthenticated
from app.core.unit import Unit
from tests.fixtures.clients import People

PASSWORD = "right password"


def actor(container: Container, user: User) -> Actor:
    with container.units() as unit:
        found = container.access.actor_by_session(unit, user.id, user.session_version)
    assert found is not None
    return found


def role(container: Container, name: str, *permissions: str, **values: object) -> Role:
    with container.units() as unit:
        made = {"permissions": list(permissions), **values}
        return container.access.roles.create(unit, SYSTEM, name, made)


def noted(unit: Unit, action: str) -> AuditEntry:
    return unit.session.scalars(select(AuditEntry).where(AuditEntry.action == action)).one()


def test_passwords_are_argon2id_with_the_declared_costs(container: Container, people: People) -> None:
    ada = people.user("ada", "reader", password=PASSWORD)
    costs = extract_parameters(str(ada.password_hash))
    assert costs.type is Type.ID
    assert (costs.time_cost, costs.memory_cost, costs.parallelism) == (2, 19_456, 1)
    assert costs.salt_len >= 16
    assert PASSWORD not in str(ada.password_hash)


def test_changes_are_audited_without_the_password(container: Container, admin: User, people: People) -> None:
    ada = people.user("ada", "reader", password=PASSWORD)
    who = actor(container, admin)
    with container.units() as unit:
        container.access.people.update(unit, who, ada.id, {"display_name": "Ada L", "roles": ["editor"]})
        container.access.people.set_password(unit, who, ada.id, "another secret")
    with container.units() as unit:
        change, password = noted(unit, "update"), noted(unit, "set_password")
        every = unit.session.scalars(select(AuditEntry)).all()
    assert change.actor_login == "admin"
    assert (change.entity, change.record_id) == ("users", ada.id)
    assert change.changes == {"display_name": ["ada", "Ada L"], "roles": [["reader"], ["editor"]]}
    assert password.changes == {"password": None}
    assert not any("secret" in str(entry.changes) or PASSWORD in str(entry.changes) for entry in every)


def test_sign_ins_are_audited_also_failed_ones_of_people_we_know(container: Container, people: People) -> None:
    ada = people.user("ada", "reader", password=PASSWORD)
    for login, password in (("ada", PASSWORD), ("ada", "wrong"), ("nobody", "wrong")):
        with container.units() as unit, suppress(Unauthenticated):
            container.access.sign_in(unit, login, password, "192.0.2.1")
    with container.units() as unit:
        assert noted(unit, "sign_in").actor_id == ada.id
        failed = noted(unit, "sign_in_failed")
    assert (failed.actor_id, failed.record_id) == (None, ada.id)


def test_nobody_gives_more_than_they_have(container: Container, people: People) -> None:
    role(container, "clerk", "users.select", "users.update", "cms.contents.select")
    clerk = people.user("clerk", "clerk", password=PASSWORD)
    admin, reader = people.user("admin", "administrator", password=PASSWORD), people.user("rita")
    who = actor(container, clerk)
    for values in ({"roles": ["administrator"]}, {"roles": ["editor"]}):
        with container.units() as unit, pytest.raises(Forbidden) as refusal:
            container.access.people.update(unit, who, reader.id, values)
        assert refusal.value.code == "access.gives_more"
    for user in (admin, clerk):
        with container.units() as unit, pytest.raises(Forbidden):
            container.access.people.update(unit, who, user.id, {"roles": ["editor"]})
    with container.units() as unit, pytest.raises(Forbidden) as above:
        container.access.people.set_password(unit, who, admin.id, "taken over now")
    assert above.value.code == "access.above"
    with container.units() as unit:
        container.access.people.update(unit, who, reader.id, {"roles": ["clerk"]})


def test_a_permission_with_a_rule_is_not_held_in_full(container: Container, people: People) -> None:
    own = {"property": "author", "operator": "=", "value": {"actor": "id"}}
    rules = [{"permission": "cms.contents.select", "condition": own}]
    role(container, "author", "cms.contents.select", "roles.update", "roles.select", row_rules=rules)
    who = actor(container, people.user("ada", "author"))
    assert who.rows_for("cms.contents.select") is not None
    with container.units() as unit, pytest.raises(Forbidden):
        container.access.roles.create(unit, who, "wider", {"permissions": ["cms.contents.select"]})
    with container.units() as unit:
        found = next(item for item, _ in container.access.roles.listing(unit, who) if item.name == "author")
        with pytest.raises(Forbidden):
            container.access.roles.update(unit, who, found.id, {"row_rules": []})


def test_who_needs_approval_administers_nobody(container: Container, people: People) -> None:
    ada = people.user("ada", "administrator", password=PASSWORD, needs_approval=True)
    with container.units() as unit, pytest.raises(Forbidden) as refusal:
        container.access.people.update(unit, actor(container, ada), ada.id, {"needs_approval": False})
    assert refusal.value.code == "access.needs_approval_here"


def test_a_guest_only_reads_whatever_the_roles_grant(container: Container, people: People) -> None:
    role(container, "wide", "cms.contents.select", "cms.contents.update", "users.select", "settings.update")
    who = actor(container, people.user("guest", "wide", is_guest=True))
    assert who.may("cms.contents.select")
    for permission in ("cms.contents.update", "users.select", "settings.update", "users.impersonate"):
        assert not who.may(permission)
    with container.units() as unit, pytest.raises(Invalid):
        container.access.create_user(unit, "boss", None, ["administrator"], is_guest=True)


def test_wrong_values_are_all_named(container: Container) -> None:
    values = {"display_name": " ", "email": "nobody", "locale": "xx", "roles": ["king"], "tenant_id": -1, "more": 1}
    with container.units() as unit, pytest.raises(Invalid) as refusal:
        container.access.people.create(unit, SYSTEM, "bob smith", {**values, "display_name": "x" * 201}, "short")
    paths = {problem.path for problem in refusal.value.fields}
    assert paths == {"login", "password", "display_name", "email", "locale", "roles", "tenant_id", "more"}


def test_disabling_ends_sessions_and_a_changed_role_counts_at_once(container: Container, people: People) -> None:
    ada = people.user("ada", "reader", password=PASSWORD)
    with container.units() as unit:
        container.access.people.update(unit, SYSTEM, ada.id, {"roles": ["editor"]})
    assert actor(container, ada).may("cms.contents.update")
    with container.units() as unit:
        editor = unit.session.scalars(select(Role).where(Role.name == "editor")).one()
        container.access.roles.update(unit, SYSTEM, editor.id, {"permissions": ["cms.contents.select"]})
    assert not actor(container, ada).may("cms.contents.update")
    with container.units() as unit:
        container.access.people.update(unit, SYSTEM, ada.id, {"is_active": False})
        container.access.people.update(unit, SYSTEM, ada.id, {"is_active": True})
    with container.units() as unit:
        assert container.access.actor_by_session(unit, ada.id, ada.session_version) is None


def test_what_was_taken_from_a_role_stays_away_and_what_is_new_comes(container: Container) -> None:
    with container.units() as unit:
        container.access.ensure_roles(unit)
    with container.units() as unit:
        editor = unit.session.scalars(select(Role).where(Role.name == "editor")).one()
        defaults = list(editor.permissions)
        assert defaults == role_permissions(container.registry)["editor"]
        left = [name for name in defaults if name != "sao.tickets.delete"]
        container.access.roles.update(unit, SYSTEM, editor.id, {"permissions": [*left, "queues.select"]})
    with container.units() as unit:
        editor = unit.session.scalars(select(Role).where(Role.name == "editor")).one()
        editor.offered = [name for name in editor.offered if name != "cms.contents.delete"]
        editor.permissions = [name for name in editor.permissions if name != "cms.contents.delete"]
    with container.units() as unit:
        container.access.ensure_roles(unit)
    with container.units() as unit:
        editor = unit.session.scalars(select(Role).where(Role.name == "editor")).one()
    assert set(editor.permissions) == {*left, "queues.select"}, "seen for the first time: cms.contents.delete"


def test_roles_say_every_path_that_is_wrong(container: Container) -> None:
    bad = {"property": "nothing", "operator": "~", "value": 1}
    values = {
        "permissions": ["cms.contents.select", "*", "cms.contents.fly"],
        "row_rules": [
            {"permission": "cms.contents.select", "condition": {"operator": "and", "filters": [bad]}},
            {"permission": "sao.tickets.select", "condition": {"property": "status", "operator": "=", "value": "open"}},
            {"permission": "settings.update", "condition": {}},
        ],
        "field_rules": [{"entity": "cms.contents", "ability": "read", "fields": ["title", "ghost"]}],
    }
    with container.units() as unit, pytest.raises(Invalid) as refusal:
        container.access.roles.create(unit, SYSTEM, "odd", values)

    def paths(error: Invalid) -> set[str]:
        own = {error.path} if error.path else set()
        return own.union(*(paths(item) for item in error.fields if isinstance(item, Invalid)))

    assert paths(refusal.value) == {
        "permissions.1",
        "permissions.2",
        "row_rules.0.condition.filters.0.property",
        "row_rules.0.condition.filters.0.operator",
        "row_rules.1.permission",
        "row_rules.2.permission",
        "field_rules.0.fields",
    }


def test_a_role_that_is_removed_leaves_its_people(container: Container, people: People) -> None:
    clerk = role(container, "clerk", "users.select")
    ada = people.user("ada", "clerk", "reader")
    with container.units() as unit:
        container.access.roles.delete(unit, SYSTEM, clerk.id)
    assert actor(container, ada).roles == {"reader"}
    assert not actor(container, ada).may("users.select")


def test_an_actor_of_a_row_carries_what_the_guest_is(people: People) -> None:
    assert actor_of(people.user("guest", "reader", is_guest=True)).is_guest
