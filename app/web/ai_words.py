"""Words of the switch in the language of the request: models, phases, reasons. Used by all of its pages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from flask import url_for
from flask_babel import gettext as _

from app.core.messages import N_, sentence
from app.edge.context import container
from app.web.record_words import word

if TYPE_CHECKING:
    from app.embeddings.models import Switch, SwitchFailure
    from app.embeddings.parts import EmbeddingParts
    from app.embeddings.profiles import Profile
    from app.embeddings.spaces import Space
    from app.embeddings.status import SwitchStatus

JSON = dict[str, object]

PERMISSION = "embeddings.switch"
PHASES: Mapping[str, str] = {
    "preflight": N_("Preflight"),
    "embeddings": N_("Embeddings"),
    "indexes": N_("Indexes"),
    "verify": N_("Verify"),
    "activate": N_("Activate"),
}
MODE_LABELS: Mapping[str, str] = {"side_by_side": N_("Side by side"), "in_place": N_("In place")}
OUTCOMES: Mapping[str, str] = {"activated": "done", "cleared": "abandoned", "finished": "dry_run"}
"""Stored status to the one that templates know."""
REASONS: Mapping[str, str] = {
    "too_large": N_("too large for the server"),
    "server_crash": N_("the server breaks down on it"),
    "status": N_("refused by the server"),
    "malformed": N_("the server's answer can't be read"),
    "not_finite": N_("its vector holds values that are no numbers"),
    "zero": N_("its vector is all zeros"),
    "norm": N_("its vector has the wrong length"),
    "dimensions": N_("its vector has the wrong number of dimensions"),
}

PROFILE_DESCRIPTIONS = (
    N_("Fast; sixteen languages, among them English and Italian."),
    N_("Ahead on public retrieval sets, slower; about a hundred languages; 4-bit weights."),
    N_("The full weights on a server of your own."),
)
"""What `app/embeddings/profiles.toml` says of its models, marked here for extraction."""


# --- words ---------------------------------------------------------------------------------------------------------


def declared(ai: EmbeddingParts, key: str) -> Profile | None:
    """The profile of ``key``; None when it is no longer declared."""
    return next((profile for profile in ai.profiles if profile.key == key), None)


def name_of(ai: EmbeddingParts, key: str) -> str:
    """A model's name; one that is no longer declared is shown by its key."""
    profile = declared(ai, key)
    return profile.label if profile else key.partition(":")[2] or key or str(_("no model"))


def model(ai: EmbeddingParts, key: str, space: Space | None = None) -> JSON:
    """A model as the templates show it; with ``space`` by its stored declaration."""
    profile = space.profile if space else declared(ai, key)
    return {
        "name": name_of(ai, key),
        "key": key,
        "dimensions": profile.dimensions if profile else None,
        "similarity": profile.similarity if profile else "",
    }


def entity_label(name: str) -> str:
    """The kind of record in the language of the request."""
    registry = container().registry
    return str(_(registry.get(name).label_plural)) if name in registry else name


def phase_label(phase: str | None) -> str:
    return str(_(PHASES[phase])) if phase else ""


def mode_label(switch: Switch) -> str:
    """How it switches; the way back after an abandoned switch is none of the two."""
    kinds = {"return": N_("Return"), "dry_run": N_("Dry run")}
    return str(_(kinds.get(switch.kind) or MODE_LABELS[switch.mode]))


def instant(value: object) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else None


def percent(status: SwitchStatus) -> int:
    """Documents done, rounded down: 100 only when none is left."""
    return 100 * status.done // status.total if status.total else 0


def undecided(status: SwitchStatus) -> list[SwitchFailure]:
    return [failure for failure in status.failures if failure.resolution is None]


def why_stopped(status: SwitchStatus) -> str | None:
    """Why a switch failed, as a sentence in the person's language."""
    switch = status.switch
    if switch is None or not switch.error_code:
        return None
    if switch.error_code == "switch.failed.decisions" and not undecided(status):
        return str(_("Every document has its decision now."))
    return sentence(switch.error_code, switch.error_values or {}, _)


def failure_reason(failure: SwitchFailure) -> str:
    return str(_(REASONS[failure.reason])) if failure.reason in REASONS else failure.reason


def failure_place(failure: SwitchFailure) -> JSON:
    """Which document it is, by kind and number; never by its text."""
    registry = container().registry
    editable = failure.entity in registry and registry.get(failure.entity).editable
    href = url_for("records.detail", name=failure.entity, record_id=failure.record_id) if editable else None
    return {
        "entity_label": entity_label(failure.entity),
        "label": str(failure.record_id),
        "href": href,
        "locale_label": word(failure.locale),
    }
