"""Whether what was found answers the question at all (`search-measured.md` 6). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.core.quality import quality as judged

THRESHOLD = 0.3
"""Below this quality the documentation has no answer; measured on the handbook's datasets (`evaluations/README.md`)."""


@dataclass(frozen=True)
class Calibration:
    """How a model's cosines lie: ``noise`` is the top cosine of questions off the topic, ``span`` from there to good
    answers. Measured per profile; a model without a measurement is judged by words alone."""

    noise: float
    span: float


MEASURED: Mapping[str, Calibration] = {
    "openai_compatible:universal-sentence-encoder-m3": Calibration(noise=0.18, span=0.20),
}
"""By model key, on the handbook's datasets: questions off the topic reach .07 … .23, answered ones .16 … .60."""


def quality(coverage: float, cosine: float | None, calibration: Calibration | None) -> float:
    """In [0, 1]: half the idf coverage of the best passage, half where the top cosine lies between noise and good."""
    if calibration is None:
        return coverage
    return judged(coverage, cosine, calibration.noise, calibration.span)
