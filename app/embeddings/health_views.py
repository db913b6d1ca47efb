"""What API and command line show of vector health: plain JSON with settled names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from app.embeddings.health import KINDS, Repaired, SpaceHealth
from app.embeddings.health_store import Counts, tolerance
from app.embeddings.sampling import Sample
from app.embeddings.views import instant

JSON = dict[str, Any]
COUNTED = tuple(name for name in Counts.__dataclass_fields__ if name != "entity")


class HealthViews:
    """Makes JSON of what vector health says."""

    @staticmethod
    def report(spaces: Sequence[SpaceHealth]) -> JSON:
        """Every space; ``healthy`` is false when something is wrong, null when not all was counted in time."""
        wrong = any(space.problems for space in spaces)
        uncounted = any(space.entities is None for space in spaces)
        return {
            "healthy": False if wrong else None if uncounted else True,
            "items": [HealthViews.space(one) for one in spaces],
        }

    @staticmethod
    def space(health: SpaceHealth) -> JSON:
        """One space: totals, the same by entity, indexes, the last check and sample, and what is wrong."""
        shown, noted = health.space, health.noted
        return {
            "space": shown.id,
            "model_key": shown.key,
            "role": health.role,
            "dimensions": shown.dimensions,
            "similarity": shown.similarity,
            "retained_until": instant(shown.retained_until) if health.role == "kept" else None,
            "counted": health.entities is not None,
            **{name: health.total(name) if health.entities is not None else None for name in COUNTED},
            "norm_tolerance": tolerance(shown) if shown.profile.normalize else None,
            "entities": [asdict(part) for part in health.entities or ()],
            "indexes": [asdict(index) for index in health.indexes],
            "checked_at": instant(noted.checked_at),
            "check_result": noted.check_result,
            "sampled_at": instant(noted.sampled_at),
            "sample": None if noted.sample is None else dict(noted.sample),
            "problems": health.problems,
            "repairs": {kind: number for kind in KINDS if (number := health.number(kind))},
        }

    @staticmethod
    def repaired(done: Repaired) -> JSON:
        """What a repair did."""
        return asdict(done)

    @staticmethod
    def sampled(found: Sample) -> JSON:
        """What comparing came to."""
        return found.note()
