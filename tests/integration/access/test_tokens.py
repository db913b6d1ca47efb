from datetime import timedelta

import pytest
from sqlalchemy import select

from app.container import Container
from app.core.access.models import ApiToken, User
from app.core.errors import Forbidden, Invalid, NotFound, Unauthenticated
from tests.fakes.clock import FakeClock
from tests.fixtures.clients import People


def code_of(container: Container, secret: str) -> str:
    with container.units() as unit:
        try:
            container.tokens.actor(unit, secret)
        except Unauthenticated as refusal:
            return refusal.code
    return "known"


def test_a_token_is_its_owner_narrowed_by_scopes(container: Container, admin: User, people: People) -> None:
    secret = people.token(admin, "read", days=1)
    with container.units() as unit:
        actor = container.tokens.actor(unit, secret)
    assert actor.login == "admin"
    assert actor.scopes == {"read"}
    assert secret.startswith("chg_")


def test_the_secret_is_not_stored(container: Container, admin: User, people: People) -> None:
    secret = people.token(admin)
    with container.units() as unit:
        stored = unit.session.scalars(select(ApiToken)).one()
    assert secret.encode() not in stored.token_hash
    assert secret not in stored.name


def test_a_token_ends(container: Container, admin: User, people: People, clock: FakeClock) -> None:
    secret = people.token(admin, days=1)
    clock.advance(86_399)
    assert code_of(container, secret) == "known"
    clock.advance(1)
    assert code_of(container, secret) == "access.token_expired"


@pytest.mark.parametrize("secret", ["", "chg_", "chg_unknown", "bearer", "chg_\0", "chg_\ud800"])
def test_an_unknown_token_is_nobody(container: Container, admin: User, secret: str) -> None:
    assert code_of(container, secret) == "access.token_invalid"


def test_a_disabled_owner_takes_the_tokens_along(container: Container, people: People) -> None:
    secret = people.token(people.user("ada", "reader"))
    with container.units() as unit:
        container.access.disable(unit, "ada")
    assert code_of(container, secret) == "access.user_disabled"


def test_revoked_by_the_owner_only(container: Container, admin: User, people: People) -> None:
    secret, other = people.token(admin), people.user("bob", "reader")
    with container.units() as unit:
        token_id = unit.session.scalars(select(ApiToken.id)).one()
        bob = container.access.actor_by_session(unit, other.id, other.session_version)
        assert bob is not None
        with pytest.raises(NotFound):
            container.tokens.revoke(unit, bob, token_id)
    assert code_of(container, secret) == "known"
    with container.units() as unit:
        container.tokens.revoke(unit, container.tokens.actor(unit, secret), token_id)
    assert code_of(container, secret) == "access.token_revoked"


def test_a_token_mints_no_token(container: Container, admin: User, people: People) -> None:
    secret = people.token(admin)
    with container.units() as unit, pytest.raises(Forbidden):
        container.tokens.mint(unit, container.tokens.actor(unit, secret), "more", ["all"], 1)


@pytest.mark.parametrize(("scopes", "days"), [([], 1), (["root"], 1), (["read"], 0), (["read"], 367)])
def test_scopes_and_days_are_bounded(container: Container, admin: User, scopes: list[str], days: int) -> None:
    with container.units() as unit, pytest.raises(Invalid):
        container.tokens.create(unit, admin, "x", scopes, days)


def test_the_last_use_is_known_to_the_minute(
    container: Container, admin: User, people: People, clock: FakeClock
) -> None:
    secret, made_at = people.token(admin), clock.now()

    def used_at(after: int) -> object:
        clock.advance(after)
        assert code_of(container, secret) == "known"
        with container.units() as unit:
            return unit.session.scalars(select(ApiToken.last_used_at)).one()

    assert used_at(5) == made_at + timedelta(seconds=5)
    assert used_at(59) == made_at + timedelta(seconds=5), "a use in the same minute is not written"
    assert used_at(1) == made_at + timedelta(seconds=65)


def test_a_guest_gets_no_token(container: Container, people: People) -> None:
    guest = people.user("guest", "reader", is_guest=True)
    with container.units() as unit, pytest.raises(Forbidden):
        container.tokens.create(unit, guest, "x", ["read"], 1)
