"""Settings as JSON."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, ConfigDict

from app.api.v1.approvals import captured
from app.core.settings.service import SettingState
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.transactions import in_unit

blueprint = APIBlueprint("settings_api", __name__, url_prefix="/api/v1/settings")


class Change(BaseModel):
    """The new value of one setting."""

    model_config = ConfigDict(extra="forbid", strict=True)

    value: bool | int | str | None


@blueprint.get("")
@in_unit
def index(*, unit: Unit) -> ResponseReturnValue:
    """Every setting, in the order of the page."""
    return {"items": [_shown(state) for state in container().settings.listing(unit, actor())]}


@blueprint.get("/<name>")
@in_unit
def show(name: str, *, unit: Unit) -> ResponseReturnValue:
    """One setting."""
    return _one(unit, name)


@blueprint.patch("/<name>")
@blueprint.input(Change, location="json", arg_name="change")
@in_unit
def update(name: str, change: Change, *, unit: Unit) -> ResponseReturnValue:
    """Change one setting and show it; 202 when the change waits for votes."""
    saved = container().settings.update(unit, actor(), name, change.value)
    if saved.captured:
        return captured(unit, container().approvals.get(unit, actor(), saved.captured[name]))
    return _one(unit, name)


def _one(unit: Unit, name: str) -> dict[str, object]:
    settings = container().settings
    settings.definition(name)
    return next(_shown(state) for state in settings.listing(unit, actor()) if state.definition.name == name)


def _shown(state: SettingState) -> dict[str, object]:
    definition = state.definition
    return {
        "name": definition.name,
        "value": state.value,
        "default": definition.default,
        "kind": definition.kind,
        "managed": definition.managed,
        "editable": state.editable,
        "needs_confirmation": definition.confirmation is not None,
        "choices": list(state.options) or None,
        "value_is_listed": state.listed,
    }
