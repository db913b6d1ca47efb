"""Is the server still the model that made these vectors? Stored ones against fresh ones of the same passages.

Three answers, and a fourth when nothing could be compared: that is no "no" (`known-bugs.md` 48).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from app.embeddings.batches import Batcher, TextFailure
from app.embeddings.health_store import Sampled
from app.embeddings.identity import CANARY_TOLERANCE
from app.embeddings.passages import passage_hash, split

Verdict = Literal["same", "differs", "other", "cannot_tell"]


@dataclass(frozen=True)
class Sample:
    """``compared`` passages of ``asked``; ``least`` and ``median`` are cosines.

    ``same``: all are within the tolerance of the fixed text. ``differs``: most are, some are not; ``differing`` names
    their documents. ``other``: the server answers from another model. ``cannot_tell``: nothing was compared.
    """

    asked: int
    compared: int
    least: float | None
    median: float | None
    verdict: Verdict
    differing: Sequence[tuple[str, int, str]]
    tolerance: float = CANARY_TOLERANCE

    def note(self) -> dict[str, Any]:
        """As JSON, rounded to what the verdict is made from."""
        return {
            "asked": self.asked,
            "compared": self.compared,
            "least": None if self.least is None else round(self.least, 6),
            "median": None if self.median is None else round(self.median, 6),
            "verdict": self.verdict,
            "tolerance": self.tolerance,
            "differing": [list(document) for document in self.differing],
        }


def compare(stored: Sequence[Sampled], batcher: Batcher, window: int) -> Sample:
    """Embed the passages of ``stored`` anew and compare; one that the splitter would cut otherwise now is left out.

    Raises ModelServerFailed when the server is away, or names another model.
    """
    found = [(row, text) for row in stored if (text := _passage(row, window)) is not None]
    cosines: dict[int, float] = {}
    for result in batcher.embed([text for _, text in found]):
        if isinstance(result, TextFailure):
            continue
        for place, vector in zip(result.indexes, result.vectors, strict=True):
            cosines[place] = _cosine(found[place][0].vector, vector)
    values = list(cosines.values())
    bad = [place for place, cosine in cosines.items() if not 1 - cosine <= CANARY_TOLERANCE]
    median = float(np.median(values)) if values else None
    return Sample(
        asked=len(stored),
        compared=len(values),
        least=min(values) if values else None,
        median=median,
        verdict=_verdict(median, len(bad)),
        differing=sorted({(key.entity, key.record_id, key.locale) for key in (found[place][0].key for place in bad)}),
    )


def _verdict(median: float | None, bad: int) -> Verdict:
    if median is None:
        return "cannot_tell"
    if not bad:
        return "same"
    return "differs" if 1 - median <= CANARY_TOLERANCE else "other"


def _passage(row: Sampled, window: int) -> str | None:
    passages = split(row.title, row.body, window, row.parts)
    text = passages[row.n].text if 0 <= row.n < len(passages) else None
    return text if text is not None and passage_hash(text) == row.passage_hash else None


def _cosine(stored: Sequence[float], fresh: Any) -> float:
    """-1 for vectors that can't be compared: another length, without a direction."""
    first, second = np.asarray(stored, dtype=np.float64), np.asarray(fresh, dtype=np.float64)
    if first.shape != second.shape:
        return -1.0
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    if not np.isfinite(lengths) or lengths == 0:
        return -1.0
    return float(first @ second) / lengths
