"""What people change of themselves: name, language, password."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.access import store
from app.core.access.authority import oneself
from app.core.access.models import User
from app.core.access.passwords import checked_password, verify_password
from app.core.access.people import ENTITY, People, checked_value
from app.core.access.throttle import Throttle
from app.core.audit.service import Audit
from app.core.contracts.actor import Actor
from app.core.errors import ChangeoverError, Invalid, Unauthenticated
from app.core.unit import Unit

OWN_FIELDS = ("display_name", "locale")


class Account:
    """Every method runs in the caller's unit; none of them commits. None is open to tokens, guests or impersonators."""

    def __init__(self, people: People, throttle: Throttle, audit: Audit) -> None:
        self.people = people
        self.throttle = throttle
        self.audit = audit

    def user(self, unit: Unit, actor: Actor) -> User:
        """The actor's own row. Raises :class:`Forbidden`."""
        user = store.user_by_id(unit.session, oneself(actor))
        if user is None:
            raise Unauthenticated("access.sign_in")
        return user

    def update(self, unit: Unit, actor: Actor, values: Mapping[str, object]) -> User:
        """Change one's :data:`OWN_FIELDS`. Raises :class:`Invalid` with every field that is wrong."""
        user = self.user(unit, actor)
        wished: dict[str, object] = {}
        problems: list[ChangeoverError] = []
        for name, value in values.items():
            try:
                if name not in OWN_FIELDS:
                    raise Invalid("input.unknown_field", path=name, field=name)
                wished[name] = checked_value(name, value)
            except Invalid as problem:
                problems.append(problem)
        if problems:
            raise Invalid("input.invalid", fields=problems)
        changes = {name: [old, new] for name, new in wished.items() if (old := getattr(user, name)) != new}
        for name, value in wished.items():
            setattr(user, name, value)
        if changes:
            self.audit.write(unit, actor, "update", ENTITY, user.id, changes=changes)
        return user

    def change_password(self, unit: Unit, actor: Actor, current: str, new: str, address: str) -> User:
        """Change one's password, which ends all sessions (ASVS 7.4.3); the caller begins a new one in this browser.

        The current password is asked for, and guessing it is throttled as at the sign-in: commit the unit also when
        this raises :class:`Invalid` or :class:`TooManyRequests`.
        """
        user = self.user(unit, actor)
        self.throttle.check_address(unit.session, address)
        if not verify_password(user.password_hash, current):
            self.throttle.failed(unit.session, user.login, address)
            raise Invalid("input.invalid", fields=[Invalid("access.password_wrong", path="current")])
        checked_password(new)
        self.throttle.succeeded(unit.session, user.login)
        self.people.renew_password(unit, actor, user, new)
        return user
