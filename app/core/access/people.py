"""People as an administrator sees them: list, add, change, new password, end sessions; and the way back in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from app.core.access import store
from app.core.access.actor import ADMINISTRATOR, require
from app.core.access.authority import (
    administer,
    keeps_an_administrator,
    not_impersonating,
    permissions_of,
    within_reach,
)
from app.core.access.models import Role, User
from app.core.access.passwords import checked_password, hash_password
from app.core.access.permissions import exceeding
from app.core.audit.service import Audit
from app.core.contracts.actor import SYSTEM, Actor
from app.core.errors import ChangeoverError, Conflict, Forbidden, Invalid, NotFound
from app.core.locale import LOCALES
from app.core.unit import Unit

ENTITY = "users"
"""The name of people in the audit."""
FIELDS = ("display_name", "email", "locale", "roles", "tenant_id", "needs_approval", "is_guest", "is_active")
PAGE = 50
LARGEST_PAGE = 200
LONGEST_NAME, LONGEST_EMAIL, LARGEST_ID = 200, 254, 2**63 - 1
_LOGIN = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")
_EMAIL = re.compile(r"[^@\s\x00-\x1f]{1,64}@[^@\s\x00-\x1f]{1,189}")


@dataclass(frozen=True)
class Asked:
    """What is looked for: words in login, name or address, a role, a state (active or disabled); page from 1."""

    words: str = ""
    role: str | None = None
    active: bool | None = None
    page: int = 1
    size: int = PAGE


class People:
    """Every method runs in the caller's unit; none of them commits. All refusals come before the first write."""

    def __init__(self, audit: Audit) -> None:
        self.audit = audit

    def page(self, unit: Unit, actor: Actor, asked: Asked = Asked()) -> tuple[Sequence[User], int]:
        """People by login, and how many there are in all. Needs ``users.select``."""
        require(actor, "users.select")
        offset = (asked.page - 1) * asked.size
        words = asked.words.strip().replace("\0", "")[:200]
        return store.find_users(unit.session, words, asked.role, asked.active, offset, asked.size)

    def get(self, unit: Unit, actor: Actor, user_id: int) -> User:
        """One person. Needs ``users.select``. Raises :class:`NotFound`."""
        require(actor, "users.select")
        return _found(store.user_by_id(unit.session, user_id) if user_id <= LARGEST_ID else None, user_id)

    def named(self, unit: Unit, actor: Actor, login: str) -> User:
        """The person with this login. Needs ``users.select``. Raises :class:`NotFound`."""
        require(actor, "users.select")
        return _found(store.user_by_login(unit.session, login.strip().lower()), login)

    def create(
        self, unit: Unit, actor: Actor, login: str, values: Mapping[str, object], password: str | None = None
    ) -> User:
        """Add a person; ``values`` as in :meth:`update`. Without a password nobody can sign in as them.

        Raises :class:`Invalid` with every field that is wrong, :class:`Conflict` for a login that is taken.
        """
        administer(unit, actor, "users.update")
        if password is not None:
            not_impersonating(actor)
        login = login.strip().lower()
        values = {"display_name": login, "locale": "en", "roles": [], **values}
        values["display_name"] = values["display_name"] or (login if _LOGIN.fullmatch(login) else "-")
        wished = self._read(unit, actor, values, [], _login_problems(login), _password_problems(password))
        if store.user_by_login(unit.session, login) is not None:
            raise Conflict("access.login_taken", path="login", login=login)
        if wished.get("is_guest") and any(role.name == ADMINISTRATOR for role in cast(list[Role], wished["roles"])):
            raise Invalid("input.invalid", fields=[Invalid("access.guest_administers", path="is_guest")])
        user = User(login=login, password_hash=None if password is None else hash_password(password), **wished)
        unit.session.add(user)
        unit.session.flush()
        changes = {name: [None, shown] for name in FIELDS if (shown := _shown(user, name)) not in (None, [], False)}
        self.audit.write(unit, actor, "insert", ENTITY, user.id, changes={"login": [None, login], **changes})
        return user

    def update(self, unit: Unit, actor: Actor, user_id: int, values: Mapping[str, object]) -> User:
        """Change the fields that are named: those of :data:`FIELDS`, ``roles`` as names.

        Who is disabled or becomes a guest is signed out everywhere; roles count from the next request on. Raises
        :class:`Invalid`, :class:`Forbidden` for who may do more than the actor, :class:`Conflict` for the last
        administrator.
        """
        user = self._administered(unit, actor, user_id)
        wished = self._read(unit, actor, values, user.roles)
        before = {name: _shown(user, name) for name in wished}
        after = {name: wished.get(name, getattr(user, name)) for name in ("is_active", "is_guest", "needs_approval")}
        roles = [role.name for role in cast(Sequence[Role], wished.get("roles", user.roles))]
        if after["is_guest"] and ADMINISTRATOR in roles:
            raise Invalid("input.invalid", fields=[Invalid("access.guest_administers", path="is_guest")])
        trusted = bool(after["is_active"] and not after["is_guest"] and not after["needs_approval"])
        keeps_an_administrator(unit, user, trusted=trusted, roles=roles)
        for name, value in wished.items():
            setattr(user, name, value)
        changes = {name: [old, new] for name, old in before.items() if (new := _shown(user, name)) != old}
        if changes.keys() & {"is_active", "is_guest"}:
            user.session_version += 1
        if changes:
            self.audit.write(unit, actor, "update", ENTITY, user.id, changes=changes)
        return user

    def set_password(self, unit: Unit, actor: Actor, user_id: int, password: str) -> None:
        """Give a new password and end the person's sessions. Raises :class:`Invalid`."""
        not_impersonating(actor)
        user = self._administered(unit, actor, user_id)
        self.renew_password(unit, actor, user, password)

    def renew_password(self, unit: Unit, actor: Actor, user: User, password: str) -> None:
        """Store a checked password, end all sessions and note it; who may is settled by the caller."""
        user.password_hash = hash_password(checked_password(password))
        user.session_version += 1
        self.audit.write(unit, actor, "set_password", ENTITY, user.id, changes={"password": None})

    def end_sessions(self, unit: Unit, actor: Actor, user_id: int) -> None:
        """Sign the person out everywhere."""
        user = self._administered(unit, actor, user_id)
        user.session_version += 1
        self.audit.write(unit, actor, "end_sessions", ENTITY, user.id)

    def rescue(self, unit: Unit, login: str, password: str) -> User:
        """Bring an administrator back: enabled, trusted, with the role and a new password.

        For the command line only: whoever may run commands on the machine may do everything anyway.
        """
        administer(unit, SYSTEM, "users.update")
        user = self.named(unit, SYSTEM, login)
        checked_password(password)
        if not any(role.name == ADMINISTRATOR for role in user.roles):
            user.roles = [*user.roles, *store.roles_named(unit.session, [ADMINISTRATOR])]
        user.is_active, user.is_guest, user.needs_approval = True, False, False
        self.audit.write(unit, SYSTEM, "rescue", ENTITY, user.id, changes={"roles": [None, _shown(user, "roles")]})
        self.renew_password(unit, SYSTEM, user, password)
        return user

    def _administered(self, unit: Unit, actor: Actor, user_id: int) -> User:
        administer(unit, actor, "users.update")
        found = store.fresh_user(unit.session, user_id) if user_id <= LARGEST_ID else None
        user = _found(found, user_id)
        within_reach(actor, user)
        return user

    def _read(
        self,
        unit: Unit,
        actor: Actor,
        values: Mapping[str, object],
        held: Sequence[Role],
        *more: Sequence[ChangeoverError],
    ) -> dict[str, object]:
        """Checked values, ready for the row: roles as rows, of which the actor may give only what they have."""
        problems = [problem for several in more for problem in several]
        wished: dict[str, object] = {}
        for name, value in values.items():
            try:
                wished[name] = self._roles(unit, actor, value, held) if name == "roles" else checked_value(name, value)
            except Invalid as problem:
                problems.append(problem)
        if problems:
            raise problems[0] if len(problems) == 1 else Invalid("input.invalid", fields=problems)
        return wished

    def _roles(self, unit: Unit, actor: Actor, names: object, held: Sequence[Role]) -> list[Role]:
        if not isinstance(names, list | tuple):
            raise Invalid("input.type", path="roles", expected="[…]")
        known = {role.name: role for role in store.roles(unit.session)}
        for name in names:
            if name not in known:
                raise Invalid("input.choice", path="roles", value=str(name)[:40], allowed=", ".join(known))
        wished = [known[name] for name in sorted(set(names))]
        changed = set(wished) ^ set(held)
        if exceeding(actor, permissions_of(changed)):
            raise Forbidden("access.gives_more")
        return wished


def _found(user: User | None, asked: int | str) -> User:
    if user is None:
        raise NotFound("access.user_unknown", login=asked)
    return user


def _login_problems(login: str) -> list[ChangeoverError]:
    return [] if _LOGIN.fullmatch(login) else [Invalid("access.login_form", path="login")]


def _password_problems(password: str | None) -> list[ChangeoverError]:
    try:
        if password is not None:
            checked_password(password)
    except Invalid as problem:
        return [problem]
    return []


def checked_value(name: str, value: object) -> object:
    """One checked value of the row. Raises :class:`Invalid` at its name."""
    if name == "display_name":
        return _text(name, value, LONGEST_NAME)
    if name == "email":
        return _email(value)
    if name == "locale":
        if value not in LOCALES:
            raise Invalid("input.choice", path=name, value=str(value)[:20], allowed=", ".join(LOCALES))
        return value
    if name == "tenant_id":
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST_ID):
            return value
        raise Invalid("input.range", path=name, least=1, most=LARGEST_ID)
    if name in FIELDS and isinstance(value, bool):
        return value
    code = "input.type" if name in FIELDS else "input.unknown_field"
    raise Invalid(code, path=name, expected="true, false", field=name)


def _text(name: str, value: object, longest: int) -> str:
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not text or "\0" in text:
        raise Invalid("input.required", path=name)
    if len(text) > longest:
        raise Invalid("input.too_long", path=name, limit=longest)
    return text


def _email(value: object) -> str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str) or len(value) > LONGEST_EMAIL or not _EMAIL.fullmatch(value.strip()):
        raise Invalid("access.email_form", path="email")
    return value.strip()


def _shown(user: User, name: str) -> object:
    """A value as the audit keeps it."""
    return sorted(role.name for role in user.roles) if name == "roles" else getattr(user, name)
