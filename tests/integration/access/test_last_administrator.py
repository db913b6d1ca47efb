"""Somebody who can sign in and administer is always left, whoever does what at the same time."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from app.container import Container
from app.core.access.actor import ADMINISTRATOR
from app.core.access.models import User
from app.core.contracts.actor import Actor
from app.core.errors import ChangeoverError, Conflict, Forbidden
from tests.fixtures.clients import People

PASSWORD = "right password"
ENDINGS = ({"roles": ["reader"]}, {"is_active": False}, {"is_guest": True, "roles": []}, {"needs_approval": True})


@pytest.fixture
def ada(people: People) -> User:
    return people.user("ada", ADMINISTRATOR, password=PASSWORD)


def actor(container: Container, user: User) -> Actor:
    with container.units() as unit:
        found = container.access.actor_by_session(unit, user.id, user.session_version)
    assert found is not None
    return found


def administrators(container: Container) -> set[str]:
    with container.units() as unit:
        return {
            user.login
            for user in container.access.everybody(unit)
            if user.is_active and not user.is_guest and any(role.name == ADMINISTRATOR for role in user.roles)
        }


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_last_one_stays(container: Container, ada: User, people: People, ending: dict[str, object]) -> None:
    people.user("bob", "reader", password=PASSWORD)
    with container.units() as unit, pytest.raises(Conflict) as refusal:
        container.access.people.update(unit, actor(container, ada), ada.id, ending)
    assert refusal.value.code == "access.last_administrator"
    assert administrators(container) == {"ada"}


@pytest.mark.parametrize("ending", ENDINGS)
def test_with_another_one_anybody_may_go(
    container: Container, ada: User, people: People, ending: dict[str, object]
) -> None:
    people.user("bea", ADMINISTRATOR, password=PASSWORD)
    with container.units() as unit:
        container.access.people.update(unit, actor(container, ada), ada.id, ending)
    with container.units() as unit, pytest.raises(Conflict):
        container.access.disable(unit, "bea")


@pytest.mark.parametrize(
    "state",
    [
        {"password": None},
        {"password": PASSWORD, "needs_approval": True},
    ],
)
def test_who_could_not_administer_does_not_count(
    container: Container, ada: User, people: People, state: dict[str, object]
) -> None:
    people.user("bea", ADMINISTRATOR, **state)
    with container.units() as unit, pytest.raises(Conflict):
        container.access.disable(unit, "ada")


def test_two_who_demote_each_other_at_once_leave_one(container: Container, people: People) -> None:
    users = {login: people.user(login, ADMINISTRATOR, password=PASSWORD) for login in ("ada", "bea")}
    actors = {login: actor(container, user) for login, user in users.items()}
    together = Barrier(2)

    def demote(by: str, whom: str) -> str:
        with container.units() as unit:
            together.wait(60)
            try:
                container.access.people.update(unit, actors[by], users[whom].id, {"roles": ["reader"]})
            except ChangeoverError as refusal:
                return refusal.code
        return "done"

    with ThreadPoolExecutor(2) as threads:
        outcomes = list(threads.map(demote, ("ada", "bea"), ("bea", "ada")))
    assert sorted(outcomes) == ["access.forbidden", "done"], "the second has no rights any more when its turn comes"
    assert len(administrators(container)) == 1


def test_many_who_leave_at_once_leave_one(container: Container, people: People) -> None:
    users = [people.user(f"admin{number}", ADMINISTRATOR, password=PASSWORD) for number in range(6)]
    actors = [actor(container, user) for user in users]
    together = Barrier(len(users))

    def leave(place: int) -> str:
        with container.units() as unit:
            together.wait(60)
            try:
                container.access.people.update(unit, actors[place], users[place].id, {"is_active": False})
            except ChangeoverError as refusal:
                return refusal.code
        return "done"

    with ThreadPoolExecutor(len(users)) as threads:
        outcomes = sorted(threads.map(leave, range(len(users))))
    assert outcomes == ["access.last_administrator", *["done"] * 5]
    assert len(administrators(container)) == 1


def test_the_administrators_role_can_not_be_weakened_or_removed(container: Container, ada: User) -> None:
    with container.units() as unit:
        role = next(
            role for role, _ in container.access.roles.listing(unit, actor(container, ada)) if "*" in role.permissions
        )
    for values in ({"permissions": []}, {"row_rules": []}, {"description": "x"}):
        with container.units() as unit, pytest.raises(Conflict) as refusal:
            container.access.roles.update(unit, actor(container, ada), role.id, values)
        assert refusal.value.code == "access.administrator_fixed"
    with container.units() as unit, pytest.raises(Conflict):
        container.access.roles.delete(unit, actor(container, ada), role.id)


def test_rights_are_read_again_under_the_lock(container: Container, ada: User, people: People) -> None:
    bea = people.user("bea", ADMINISTRATOR, password=PASSWORD)
    before = actor(container, bea)
    with container.units() as unit:
        container.access.people.update(unit, actor(container, ada), bea.id, {"roles": []})
    with container.units() as unit, pytest.raises(Forbidden):
        container.access.people.create(unit, before, "eve", {"roles": [ADMINISTRATOR]}, PASSWORD)
