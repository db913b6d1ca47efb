"""Settings: reading them, and changing them by people or by the program."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from app.core.access.actor import require
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


class Settings:
    """Every method runs in the caller's unit; none of them commits."""

    def __init__(
        self,
        definitions: Sequence[SettingDefinition],
        clock: Clock,
        providers: Mapping[str, Provider] | None = None,
        hooks: Mapping[str, ConfirmationHook] | None = None,
    ) -> None:
        self.definitions = {definition.name: definition for definition in definitions}
        self.clock = clock
        self.providers = dict(providers or {})
        self.hooks = dict(hooks or {})

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

    def update(self, unit: Unit, actor: Actor, name: str, value: object) -> bool:
        """Change a setting for ``actor``; returns whether anything changed.

        Raises :class:`Forbidden`, :class:`NotFound`, :class:`Invalid`, and :class:`Conflict` for a managed setting or
        one whose change must be confirmed elsewhere.
        """
        definition, checked, differs = self._allowed(unit, actor, name, value)
        if differs:
            self._write(unit, definition, checked, actor.id)
        return differs

    def update_many(self, unit: Unit, actor: Actor, values: Mapping[str, object]) -> list[str]:
        """Change several settings or none; returns the names of those that changed.

        Raises :class:`Forbidden`, and :class:`Invalid` whose ``fields`` are the refusals of all the others.
        """
        planned: list[tuple[SettingDefinition, Value]] = []
        refusals: list[ChangeoverError] = []
        for name, value in values.items():
            try:
                definition, checked, differs = self._allowed(unit, actor, name, value)
            except (Invalid, Conflict) as refusal:
                refusals.append(refusal)
            else:
                planned += [(definition, checked)] if differs else []
        if refusals:
            raise Invalid("input.invalid", fields=refusals)
        for definition, checked in planned:
            self._write(unit, definition, checked, actor.id)
        return [definition.name for definition, _ in planned]

    def _allowed(self, unit: Unit, actor: Actor, name: str, value: object) -> tuple[SettingDefinition, Value, bool]:
        """The definition, the value in its own type, and whether it differs from the one that holds."""
        definition = self.definition(name)
        require(actor, definition.permission)
        if definition.managed:
            raise Conflict("setting.managed", path=name, name=name)
        if actor.needs_approval:
            raise Forbidden("access.needs_approval", path=name)
        checked = definition.check(value)
        differs = checked != self.value(unit, name)
        confirmation = self.confirmation(unit, name, checked) if differs else None
        if confirmation is not None:
            raise Conflict("setting.locked", path=name, name=name, reason=confirmation.reason)
        return definition, checked, differs

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
        """Write for the program: managed settings too, without confirmation or choices. Raises :class:`Invalid`."""
        definition = self.definition(name)
        self._write(unit, definition, definition.typed(value), by)

    def _write(self, unit: Unit, definition: SettingDefinition, value: Value, by: int | None) -> None:
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
