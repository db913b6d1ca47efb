"""Who a server says it is, and whether that is who the profile means (seed 000, "Health"; `known-bugs.md` 16, 46).

Length is no identity: two models of 384 numbers give vectors that compare to plausible nonsense.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.errors import ChangeoverError, Conflict, ModelServerFailed
from app.embeddings.indexes.pgvector import DIMENSIONS_LIMIT
from app.embeddings.profiles import Profile

PROBE_TEXT = "embedding service probe"
NORM_TOLERANCE = 0.01
CANARY_TOLERANCE = 1e-3

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Inspection:
    """What a server answered to the probe text. ``max_batch`` is in texts; ``seconds`` is the embedding call alone."""

    named_model: str | None
    info_model: str | None
    dimensions: int
    norm: float
    max_batch: int | None
    vector: Vectors
    seconds: float


def same_model(a: str, b: str) -> bool:
    """Whether two names mean one model: case, ``.gguf``, ``:latest`` and a missing organisation don't matter.

    Two different organisations do, and so does all else: a quantised model is another one. Of a folder's path only the
    last part counts, since a server that loads from disk may name the folder.
    """
    (first_organisation, first), (second_organisation, second) = _parts(a), _parts(b)
    if not first or first != second:
        return False
    return not (first_organisation and second_organisation) or first_organisation == second_organisation


def refusal(profile: Profile, inspection: Inspection) -> ChangeoverError | None:
    """Why this server can't serve this profile, in the seed's order, or None."""
    if inspection.dimensions != profile.dimensions:
        return Conflict(
            "switch.dimensions", profile=profile.key, declared=profile.dimensions, measured=inspection.dimensions
        )
    if profile.dimensions > DIMENSIONS_LIMIT:
        return Conflict(
            "switch.too_many_dimensions", profile=profile.key, dimensions=profile.dimensions, limit=DIMENSIONS_LIMIT
        )
    if inspection.named_model is None and inspection.info_model is None:
        return Conflict("switch.names_no_model", profile=profile.key)
    for name in (inspection.named_model, inspection.info_model):
        if name is not None and not same_model(name, profile.model):
            return Conflict("switch.other_model", profile=profile.key, measured=name, declared=profile.model)
    if profile.normalize and abs(inspection.norm - 1) > NORM_TOLERANCE:
        return Conflict("switch.not_normalised", profile=profile.key, norm=f"{inspection.norm:.3f}")
    return None


def identity(profile: Profile, inspection: Inspection) -> str:
    """The server's identity as the fingerprint takes it: the model's bare name, the same however a server spells it."""
    name = inspection.named_model or inspection.info_model
    return declared_identity(profile) if name is None else _parts(name)[1]


def declared_identity(profile: Profile) -> str:
    """The identity that a server of ``profile`` has once it is not refused: the declared model's bare name."""
    return _parts(profile.model)[1]


def same_vector(
    a: Sequence[float] | Vectors, b: Sequence[float] | Vectors, tolerance: float = CANARY_TOLERANCE
) -> bool:
    """Whether two vectors of one text are from one model: their cosine distance is within ``tolerance``.

    Servers that batch or use several threads differ in the last digits; another model differs by far more.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        return False
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    if not np.isfinite(lengths) or lengths == 0:
        return False
    return 1 - float(first @ second) / lengths <= tolerance


def require_canary(profile: Profile, vector: Vectors, canary: Vectors) -> None:
    """Raises ModelServerFailed (``model``) when ``vector``, of the probe text, is not that of the space's ``canary``.

    Same name and same length are not enough: a silent change of weights shows in the vector of a fixed text.
    """
    if not same_vector(vector, canary):
        raise ModelServerFailed(
            "model",
            server=profile.server,
            request_id="-",
            got="another version of the model",
            expected=profile.model,
        )


def _parts(name: str) -> tuple[str, str]:
    """(organisation or "", bare name), both in lower case."""
    folder, _, bare = name.strip().lower().rstrip("/").rpartition("/")
    bare = bare.removesuffix(":latest").removesuffix(".gguf")
    return ("" if "/" in folder or folder.startswith(".") else folder), bare
