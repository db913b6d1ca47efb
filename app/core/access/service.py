"""Who is asking, and how people come in: sign-in, sessions, users and roles. Tokens have their own file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.core.access import store
from app.core.access.actor import ADMINISTRATOR, EDITOR, READER, actor_of, require, role_permissions
from app.core.access.models import Role, User
from app.core.access.passwords import LIMIT, SHORTEST, hash_password, is_outdated, verify_password
from app.core.access.throttle import Throttle
from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.errors import Conflict, Invalid, NotFound, Unauthenticated
from app.core.locale import LOCALES, known_locale
from app.core.registry import Registry
from app.core.unit import Unit

ROLES = (ADMINISTRATOR, EDITOR, READER)
_LOGIN = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")


class Access:
    """People. Every method runs in the caller's unit; none of them commits."""

    def __init__(self, clock: Clock, registry: Registry, secret: str) -> None:
        self.registry = registry
        self.throttle = Throttle(clock, secret)

    def sign_in(self, unit: Unit, login: str, password: str, address: str) -> User:
        """The user of a right password.

        Raises :class:`Unauthenticated` for a wrong one, an unknown user or a disabled account, and
        :class:`TooManyRequests`. A failure is counted in the unit: commit it also when this raises.
        """
        login = login.strip().lower()
        self.throttle.check_address(unit.session, address)
        user = store.user_by_login(unit.session, login)
        if not verify_password(user.password_hash if user else None, password) or user is None:
            self.throttle.failed(unit.session, login, address)
            raise Unauthenticated("access.bad_credentials")
        if not user.is_active:
            raise Unauthenticated("access.user_disabled")
        self.throttle.succeeded(unit.session, login)
        if user.password_hash and is_outdated(user.password_hash):
            user.password_hash = hash_password(password)
        return user

    def actor_by_session(self, unit: Unit, user_id: int, session_version: int) -> Actor | None:
        """The actor of a session, or None when it was ended or the account is disabled."""
        user = store.user_by_id(unit.session, user_id)
        if user is None or not user.is_active or user.session_version != session_version:
            return None
        return actor_of(user)

    def end_sessions(self, unit: Unit, user_id: int) -> None:
        """End all of the user's sessions: a session lives in the browser's cookie, so one alone can't be recalled."""
        user = store.user_by_id(unit.session, user_id)
        if user is not None:
            user.session_version += 1

    def ensure_roles(self, unit: Unit) -> None:
        """Make the three roles, with the permissions of the entities that are registered now. Safe to repeat."""
        for name, permissions in role_permissions(self.registry).items():
            store.put_role(unit.session, name, permissions)

    def create_user(
        self,
        unit: Unit,
        login: str,
        password: str | None,
        roles: Sequence[str],
        display_name: str = "",
        locale: str = "en",
        needs_approval: bool = False,
    ) -> User:
        """Add a person. Without a password nobody can sign in as them. Raises :class:`Invalid`, :class:`Conflict`."""
        login = login.strip().lower()
        if not _LOGIN.fullmatch(login):
            raise Invalid("access.login_form", path="login")
        if store.user_by_login(unit.session, login) is not None:
            raise Conflict("access.login_taken", path="login", login=login)
        user = User(
            login=login,
            display_name=display_name.strip() or login,
            password_hash=None if password is None else hash_password(_checked(password)),
            locale=known_locale(locale),
            needs_approval=needs_approval,
            roles=list(self._roles(unit, roles)),
        )
        unit.session.add(user)
        unit.session.flush()
        return user

    def set_password(self, unit: Unit, login: str, password: str) -> None:
        """Give a new password and end the person's sessions. Raises :class:`NotFound`, :class:`Invalid`."""
        user = self.user(unit, login)
        user.password_hash = hash_password(_checked(password))
        user.session_version += 1

    def disable(self, unit: Unit, login: str) -> None:
        """End the person's sessions and refuse new ones; their tokens stop working. Raises :class:`NotFound`."""
        user = self.user(unit, login)
        user.is_active = False
        user.session_version += 1

    def set_locale(self, unit: Unit, actor: Actor, locale: str) -> None:
        """Remember the language of the signed-in person. Raises :class:`Invalid` for one that we don't have."""
        if locale not in LOCALES:
            raise Invalid("input.choice", path="locale", value="", allowed=", ".join(LOCALES))
        user = store.user_by_id(unit.session, actor.id) if actor.id is not None else None
        if user is not None:
            user.locale = locale

    def user(self, unit: Unit, login: str) -> User:
        """The user with this login. Raises :class:`NotFound`."""
        user = store.user_by_login(unit.session, login.strip().lower())
        if user is None:
            raise NotFound("access.user_unknown", login=login)
        return user

    def everybody(self, unit: Unit) -> Sequence[User]:
        """All people, for commands on the machine itself."""
        return store.users(unit.session)

    def people(self, unit: Unit, actor: Actor) -> Sequence[User]:
        """All people, by login. Needs ``users.select``."""
        require(actor, "users.select")
        return store.users(unit.session)

    def _roles(self, unit: Unit, names: Sequence[str]) -> Sequence[Role]:
        unknown = [name for name in names if name not in ROLES]
        if unknown:
            raise Invalid("input.choice", path="roles", value=unknown[0], allowed=", ".join(ROLES))
        self.ensure_roles(unit)
        return store.roles_named(unit.session, names)


def _checked(password: str) -> str:
    if len(password) < SHORTEST:
        raise Invalid("access.password_short", path="password", shortest=SHORTEST)
    if len(password) > LIMIT:
        raise Invalid("input.too_long", path="password", limit=LIMIT)
    return password
