"""Who is asking, and how people come in: sign-in, sessions, viewing as somebody else. Tokens have their own file.

The parts that administer hang here: ``people``, ``roles``, ``account`` (what a person changes of themselves).
"""

from __future__ import annotations

from collections.abc import Sequence

from app.core.access import store
from app.core.access.account import Account
from app.core.access.actor import ADMINISTRATOR, EDITOR, READER, actor_of
from app.core.access.impersonation import Impersonation
from app.core.access.models import User
from app.core.access.passwords import hash_password, is_outdated, verify_password
from app.core.access.people import ENTITY, People
from app.core.access.roles import Roles
from app.core.access.throttle import Throttle
from app.core.audit.service import Audit
from app.core.clock import Clock
from app.core.contracts.actor import ANONYMOUS, SYSTEM, Actor
from app.core.errors import Invalid, Unauthenticated
from app.core.locale import LOCALES
from app.core.registry import Registry
from app.core.unit import Unit

ROLES = (ADMINISTRATOR, EDITOR, READER)
"""The roles of the system."""


class Access:
    """Every method runs in the caller's unit; none of them commits."""

    def __init__(self, clock: Clock, registry: Registry, secret: str, audit: Audit) -> None:
        self.registry = registry
        self.audit = audit
        self.throttle = Throttle(clock, secret)
        self.people = People(audit)
        self.roles = Roles(registry, audit)
        self.impersonation = Impersonation(registry, audit)
        self.account = Account(self.people, self.throttle, audit)

    def sign_in(self, unit: Unit, login: str, password: str, address: str) -> User:
        """The user of a right password.

        Raises :class:`Unauthenticated` for a wrong one, an unknown user or a disabled account, and
        :class:`TooManyRequests`. A failure is counted in the unit: commit it also when this raises.
        """
        login = login.strip().lower()
        self.throttle.check_address(unit.session, address)
        user = store.user_by_login(unit.session, login)
        if not verify_password(user.password_hash if user else None, password) or user is None:
            if user is not None:
                self.audit.write(unit, ANONYMOUS, "sign_in_failed", ENTITY, user.id)
            self.throttle.failed(unit.session, login, address)
            raise Unauthenticated("access.bad_credentials")
        if not user.is_active:
            self.audit.write(unit, ANONYMOUS, "sign_in_failed", ENTITY, user.id)
            raise Unauthenticated("access.user_disabled")
        self.throttle.succeeded(unit.session, login)
        if user.password_hash and is_outdated(user.password_hash):
            user.password_hash = hash_password(password)
        self.audit.write(unit, actor_of(user), "sign_in", ENTITY, user.id)
        return user

    def sign_out(self, unit: Unit, actor: Actor) -> None:
        """End all sessions of who signs out: a session lives in a cookie, so one alone can't be recalled.

        While somebody is viewed as, it is the administrator's sessions that end. A guest account is everybody's, so
        that only this browser forgets it.
        """
        if actor.impersonator_id is not None:
            self.impersonation.end(unit, actor)
        user_id = actor.impersonator_id or actor.id
        user = store.user_by_id(unit.session, user_id) if user_id is not None else None
        if user is not None and actor.scopes is None:
            if not user.is_guest:
                user.session_version += 1
            self.audit.write(unit, actor_of(user), "sign_out", ENTITY, user.id)

    def actor_by_session(self, unit: Unit, user_id: int, session_version: int) -> Actor | None:
        """The actor of a session, or None when it was ended or the account is disabled."""
        user = store.user_by_id(unit.session, user_id)
        if user is None or not user.is_active or user.session_version != session_version:
            return None
        return actor_of(user, registry=self.registry)

    def set_locale(self, unit: Unit, actor: Actor, locale: str) -> None:
        """Remember the language of the signed-in person. Raises :class:`Invalid` for one that we don't have.

        Nothing is remembered of a guest or of who only views as this person; their browser keeps it.
        """
        if locale not in LOCALES:
            raise Invalid("input.choice", path="locale", value="", allowed=", ".join(LOCALES))
        if actor.is_guest or actor.impersonator_id is not None:
            return
        user = store.user_by_id(unit.session, actor.id) if actor.id is not None else None
        if user is not None:
            user.locale = locale

    # What commands on the machine itself do. No permission is asked: who may run them may do all.

    def ensure_roles(self, unit: Unit) -> None:
        """Make the three roles, with the permissions of the entities that are registered now. Safe to repeat."""
        self.roles.ensure(unit)

    def create_user(
        self,
        unit: Unit,
        login: str,
        password: str | None,
        roles: Sequence[str],
        display_name: str = "",
        locale: str = "en",
        needs_approval: bool = False,
        *,
        email: str | None = None,
        tenant_id: int | None = None,
        is_guest: bool = False,
    ) -> User:
        """Add a person. Without a password nobody can sign in as them. Raises :class:`Invalid`, :class:`Conflict`."""
        self.roles.ensure(unit)
        values = {
            "display_name": display_name,
            "email": email,
            "locale": locale,
            "roles": list(roles),
            "tenant_id": tenant_id,
            "needs_approval": needs_approval,
            "is_guest": is_guest,
        }
        return self.people.create(unit, SYSTEM, login, values, password)

    def set_password(self, unit: Unit, login: str, password: str) -> None:
        """Give a new password and end the person's sessions. Raises :class:`NotFound`, :class:`Invalid`."""
        self.people.set_password(unit, SYSTEM, self.user(unit, login).id, password)

    def disable(self, unit: Unit, login: str) -> None:
        """End the person's sessions and refuse new ones; their tokens stop working.

        Raises :class:`NotFound`, and :class:`Conflict` for the last administrator.
        """
        self.people.update(unit, SYSTEM, self.user(unit, login).id, {"is_active": False})

    def user(self, unit: Unit, login: str) -> User:
        """The user with this login. Raises :class:`NotFound`."""
        return self.people.named(unit, SYSTEM, login)

    def everybody(self, unit: Unit) -> Sequence[User]:
        """All people, by login."""
        return store.users(unit.session)
