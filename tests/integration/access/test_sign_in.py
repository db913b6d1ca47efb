import pytest

from app.container import Container
from app.core.access.models import User
from app.core.access.throttle import LIMIT
from app.core.errors import Conflict, Invalid, TooManyRequests, Unauthenticated
from tests.fakes.clock import FakeClock
from tests.fixtures.clients import People

HOME, ELSEWHERE = "192.0.2.1", "192.0.2.2"


@pytest.fixture
def ada(people: People) -> User:
    return people.user("ada", "reader", password="right password")


def attempt(container: Container, password: str, address: str = HOME, login: str = "ada") -> str:
    """ "in", or the code of the refusal; what was counted is committed either way, as the edge does."""
    with container.units() as unit:
        try:
            container.access.sign_in(unit, login, password, address)
        except (Unauthenticated, TooManyRequests) as refusal:
            return refusal.code
    return "in"


def test_the_right_password_opens_in_any_case_of_the_name(container: Container, ada: User) -> None:
    assert attempt(container, "right password", login=" ADA ") == "in"


def test_wrong_password_and_unknown_name_look_the_same(container: Container, ada: User) -> None:
    assert attempt(container, "wrong") == attempt(container, "wrong", login="nobody") == "access.bad_credentials"


def test_a_disabled_account_says_so_to_its_owner_only(container: Container, ada: User) -> None:
    with container.units() as unit:
        container.access.disable(unit, "ada")
    assert attempt(container, "right password") == "access.user_disabled"
    assert attempt(container, "wrong") == "access.bad_credentials"


def test_an_address_that_failed_too_often_waits_even_with_the_right_password(
    container: Container, ada: User, clock: FakeClock
) -> None:
    for _ in range(LIMIT):
        assert attempt(container, "wrong") == "access.bad_credentials"
    assert attempt(container, "right password") == "access.throttled"
    clock.advance(15 * 60 + 1)
    assert attempt(container, "right password") == "in"


def test_nobody_can_lock_somebody_out_from_another_address(container: Container, ada: User) -> None:
    for number in range(LIMIT + 5):
        attempt(container, "wrong", address=f"198.51.100.{number}")
    assert attempt(container, "wrong", address=ELSEWHERE) == "access.throttled"
    assert attempt(container, "right password", address=ELSEWHERE) == "in"
    assert attempt(container, "wrong", address=ELSEWHERE) == "access.bad_credentials"


def test_one_good_account_does_not_wash_an_address_clean(container: Container, ada: User, people: People) -> None:
    people.user("eve", "reader", password="eves password")
    for _ in range(LIMIT):
        attempt(container, "wrong")
        attempt(container, "eves password", login="eve")
    assert attempt(container, "eves password", login="eve") == "access.throttled"


def test_throttled_says_how_long(container: Container, ada: User, clock: FakeClock) -> None:
    for _ in range(LIMIT):
        attempt(container, "wrong")
    clock.advance(60)
    with container.units() as unit, pytest.raises(TooManyRequests) as refusal:
        container.access.sign_in(unit, "ada", "wrong", HOME)
    assert 14 * 60 <= refusal.value.retry_after <= 14 * 60 + 1


def test_a_session_ends_with_a_new_password_and_with_the_account(container: Container, ada: User) -> None:
    with container.units() as unit:
        assert container.access.actor_by_session(unit, ada.id, ada.session_version) is not None
        container.access.set_password(unit, "ada", "another password")
    with container.units() as unit:
        assert container.access.actor_by_session(unit, ada.id, 1) is None
        assert container.access.actor_by_session(unit, ada.id, 2) is not None
        container.access.disable(unit, "ada")
    with container.units() as unit:
        assert container.access.actor_by_session(unit, ada.id, 3) is None


@pytest.mark.parametrize("login", ["", "-ada", "a b", "à", "a" * 65, "a\0"])
def test_user_names_have_a_form(container: Container, login: str) -> None:
    with container.units() as unit, pytest.raises(Invalid) as refusal:
        container.access.create_user(unit, login, None, ["reader"])
    assert refusal.value.path == "login"


def test_users_are_unique_have_known_roles_and_long_passwords(container: Container, ada: User) -> None:
    with container.units() as unit:
        with pytest.raises(Conflict):
            container.access.create_user(unit, "Ada", None, ["reader"])
        with pytest.raises(Invalid):
            container.access.create_user(unit, "bob", None, ["king"])
        with pytest.raises(Invalid):
            container.access.create_user(unit, "bob", "short", ["reader"])


def test_roles_follow_the_registered_entities_and_can_be_made_again(container: Container, ada: User) -> None:
    with container.units() as unit:
        container.access.ensure_roles(unit)
        container.access.ensure_roles(unit)
        actor = container.access.actor_by_session(unit, ada.id, ada.session_version)
    assert actor is not None
    assert actor.may("documentation.user.select")
    assert not actor.may("settings.select")
    assert actor.roles == {"reader"}
