"""Settings: reading them, and changing them by people or by the program."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from app.core.access.actor import require
from app.core.audit.service import Audit
from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.errors import ChangeoverError, Conflict, Forbidden, Invalid, NotFound
from app.core.messages import N_
from app.core.settings import actions, store
from app.core.settings.schema import Confirmation, ConfirmationHook, SettingDefinition, Value
from app.core.unit import Unit

Provider = Callable[[Unit], Value]
"""Answers the value of a managed setting whose truth is kept elsewhere."""

ELSEWHERE = N_("its change is shown and confirmed on the page AI & models")


@dataclass(frozen=True)
class SettingState:
    """One setting as it is shown. ``listed`` is false for a value that is none of the choices any more (it is kept).

    ``changed`` says when a value was stored last and by whom; None for a default.
    """

    definition: SettingDefinition
    value: Value
    is_default: bool
    options: Sequence[str]
    editable: bool
    listed: bool
    changed: store.Change | None


@dataclass(frozen=True)
class Change:
    """A checked change that is not written yet."""

    definition: SettingDefinition
    old: Value
    new: Value

    @property
    def differs(self) -> bool:
        return self.new != self.old


class Capture(Protocol):
    """A captured modification, as far as settings know it."""

    @property
    def id(self) -> int: ...


class Moderation(Protocol):
    """Keeps the change of a person who needs approval (`core/approvals`)."""

    def capture_setting(
        self, unit: Unit, actor: Actor, definition: SettingDefinition, old: object, new: object
    ) -> Capture:
        """Keep it for votes instead of writing it."""
        ...


@dataclass(frozen=True)
class Saved:
    """What became of several changes: names that changed, and modifications that wait for votes, by name."""

    changed: tuple[str, ...] = ()
    captured: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.changed or self.captured)


class Settings:
    """Every method runs in the caller's unit; none of them commits."""

    def __init__(
        self,
        definitions: Sequence[SettingDefinition],
        clock: Clock,
        providers: Mapping[str, Provider] | None = None,
        hooks: Mapping[str, ConfirmationHook] | None = None,
        audit: Audit | None = None,
    ) -> None:
        self.definitions = {definition.name: definition for definition in definitions}
        self.clock = clock
        self.providers = dict(providers or {})
        self.hooks = dict(hooks or {})
        self.audit = audit or Audit(clock)
        self.moderation: Moderation | None = None

    def definition(self, name: str) -> SettingDefinition:
        """Raises :class:`NotFound` for a name that is not declared."""
        try:
            return self.definitions[name]
        except KeyError:
            raise NotFound("setting.unknown", name=name[:100]) from None

    def value(self, unit: Unit, name: str) -> Value:
        """The value that holds now. Raises :class:`NotFound` for a name that is not declared."""
        return self.values(unit, (name,))[name]

    def values(self, unit: Unit, names: Collection[str]) -> dict[str, Value]:
        """The values of several settings from one query, by name."""
        definitions = [self.definition(name) for name in names]
        stored = store.stored(unit.session, [one.name for one in definitions if one.name not in self.providers])
        return {
            one.name: self.providers[one.name](unit)
            if one.name in self.providers
            else stored.get(one.name, one.default)
            for one in definitions
        }

    def listing(self, unit: Unit, actor: Actor) -> Sequence[SettingState]:
        """Every setting, in the declared order. Needs ``settings.select``."""
        require(actor, "settings.select")
        values = self.values(unit, tuple(self.definitions))
        changes = store.changes(unit.session)
        return [self._state(one, values[one.name], actor, changes.get(one.name)) for one in self.definitions.values()]

    def update(self, unit: Unit, actor: Actor, name: str, value: object) -> Saved:
        """Change a setting for ``actor``, or capture the change of a person who needs approval.

        Raises :class:`Forbidden`, :class:`NotFound`, :class:`Invalid`, and :class:`Conflict` for a managed setting or
        one whose change must be confirmed elsewhere.
        """
        return self._save(unit, actor, [self._allowed(unit, actor, name, value)])

    def update_many(self, unit: Unit, actor: Actor, values: Mapping[str, object]) -> Saved:
        """Change several settings or none.

        Raises :class:`Forbidden`, and :class:`Invalid` whose ``fields`` are the refusals of all the others.
        """
        planned: list[Change] = []
        refusals: list[ChangeoverError] = []
        for name in sorted(values):
            try:
                planned.append(self._allowed(unit, actor, name, values[name]))
            except (Invalid, Conflict) as refusal:
                refusals.append(refusal)
        if refusals:
            raise Invalid("input.invalid", fields=refusals)
        return self._save(unit, actor, planned)

    def apply(self, unit: Unit, author: Actor, name: str, value: object) -> None:
        """Write what was captured and approved, with the author's rights of now.

        No confirmation is asked for and none of its consequences follows: an approved embedding model is a wish until
        somebody starts the switch (`core.md`, Approvals).
        """
        definition = self._definition_for(author, name)
        checked = definition.check(value)
        store.one_writer(unit.session, name)
        self._write(unit, author, Change(definition, self.value(unit, name), checked))

    def plan(self, unit: Unit, author: Actor, name: str, value: object) -> tuple[Value, Value]:
        """The value now and the one that ``value`` would make. Raises as :meth:`update`."""
        change = self._allowed(unit, author, name, value)
        return change.old, change.new

    def current(self, unit: Unit, name: str, *, lock: bool = False) -> Value:
        """The value now; ``lock`` keeps other writers of it waiting until the unit ends."""
        if lock:
            store.one_writer(unit.session, name)
        return self.value(unit, name)

    def _allowed(self, unit: Unit, actor: Actor, name: str, value: object) -> Change:
        """The checked change. It waits for other units that write this setting, so that old is what new replaces."""
        definition = self._definition_for(actor, name)
        checked = definition.check(value)
        change = Change(definition, self.current(unit, name, lock=True), checked)
        captured = actor.needs_approval and self.moderation is not None
        confirmation = self.confirmation(unit, name, checked) if change.differs and not captured else None
        if confirmation is not None:
            raise Conflict("setting.locked", path=name, name=name, reason=confirmation.reason)
        return change

    def _definition_for(self, actor: Actor, name: str) -> SettingDefinition:
        definition = self.definition(name)
        require(actor, definition.permission)
        if definition.managed:
            raise Conflict("setting.managed", path=name, name=name)
        if actor.needs_approval and (self.moderation is None or not definition.votes):
            raise Forbidden("access.needs_approval", path=name)
        return definition

    def _save(self, unit: Unit, actor: Actor, changes: Sequence[Change]) -> Saved:
        real = [change for change in changes if change.differs]
        if actor.needs_approval and self.moderation is not None:
            capture = self.moderation.capture_setting
            captured = {one.definition.name: capture(unit, actor, one.definition, one.old, one.new).id for one in real}
            return Saved(captured=captured)
        for change in real:
            self._write(unit, actor, change)
        return Saved(changed=tuple(change.definition.name for change in real))

    def confirmation(self, unit: Unit, name: str, value: Value) -> Confirmation | None:
        """What must be agreed to before ``value`` holds. A hook that is declared and not wired refuses."""
        definition = self.definition(name)
        if definition.confirmation is None:
            return None
        hook = self.hooks.get(definition.confirmation)
        if hook is None:
            return Confirmation("/settings/ai", ELSEWHERE)
        return hook.warn(unit, definition, value)

    def write_system(self, unit: Unit, name: str, value: object, by: int | None = None) -> None:
        """Write for the program: managed settings too, without confirmation or choices. Raises :class:`Invalid`.

        The audit has no entry of it: it follows from something that has one, or is the program's own bookkeeping.
        """
        definition = self.definition(name)
        self._put(unit, definition, definition.typed(value), by)

    def _write(self, unit: Unit, actor: Actor, change: Change) -> None:
        self._put(unit, change.definition, change.new, actor.id)
        shown = None if change.definition.secret else [change.old, change.new]
        self.audit.write(unit, actor, "update", "settings", changes={change.definition.name: shown})

    def _put(self, unit: Unit, definition: SettingDefinition, value: Value, by: int | None) -> None:
        store.put(unit.session, definition.name, value, by, self.clock.now())
        actions.send(unit, definition)

    def _state(
        self, definition: SettingDefinition, value: Value, actor: Actor, changed: store.Change | None
    ) -> SettingState:
        options = definition.options()
        return SettingState(
            definition=definition,
            value=value,
            is_default=value == definition.default,
            options=options,
            editable=not definition.managed and actor.may(definition.permission),
            listed=not options or value is None or value in options,
            changed=changed,
        )
