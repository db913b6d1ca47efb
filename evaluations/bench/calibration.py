"""Where *not documented* begins: noise, span and threshold of a model, fitted on some questions, tried on others. Pure.

Each question has two measurements: how much of its idf the best passage covers, and the top cosine. What is fitted on
a question must not judge it, so figures are of cross-validation: every fold is tried with what the others gave.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from app.core.quality import quality

FOLDS = 5
NOISE_AT, GOOD_AT = 0.5, 0.5
"""Noise is the median top cosine of questions off the topic, and a good answer's the median of answered ones."""
THRESHOLDS = tuple(round(0.05 * n, 2) for n in range(1, 19))


@dataclass(frozen=True)
class Sample:
    """One question. ``cosine`` None: meaning was not asked, words alone judge."""

    id: str
    answerable: bool
    coverage: float
    cosine: float | None


@dataclass(frozen=True)
class Fit:
    """What a set of questions gives. ``span`` 0: words alone judge."""

    noise: float
    span: float
    threshold: float

    def quality(self, sample: Sample) -> float:
        """What the product says of its answer."""
        return quality(sample.coverage, sample.cosine, self.noise, self.span)

    def right(self, sample: Sample) -> bool:
        return (self.quality(sample) >= self.threshold) == sample.answerable


@dataclass(frozen=True)
class Tried:
    """How a fit did on questions: the shares of answerable ones that are answered, and of others that are not."""

    answered: float
    abstained: float
    answerable: int
    others: int

    @property
    def balanced(self) -> float:
        return (self.answered + self.abstained) / 2


def fold(sample: Sample, folds: int = FOLDS) -> int:
    """Which fold a question belongs to, by its id: the same one on every machine (`seed-facts.md` 26.4)."""
    return crc32(sample.id.encode()) % folds


def fitted(samples: Sequence[Sample], threshold: float | None = None) -> Fit:
    """Noise and span from the medians, then the threshold with the best balanced accuracy, the lowest of equals."""
    good = [one.cosine for one in samples if one.answerable and one.cosine is not None]
    off = [one.cosine for one in samples if not one.answerable and one.cosine is not None]
    noise = float(np.quantile(off, NOISE_AT)) if off else 0.0
    span = float(np.quantile(good, GOOD_AT)) - noise if good and off else 0.0
    if threshold is not None:
        return Fit(noise, span, threshold)
    fits = [Fit(noise, span, value) for value in THRESHOLDS]
    return max(fits, key=lambda fit: (round(tried(fit, samples).balanced, 6), -fit.threshold))


def tried(fit: Fit, samples: Sequence[Sample]) -> Tried:
    """A fit on questions that it may or may not have seen."""
    good = [fit.right(one) for one in samples if one.answerable]
    off = [fit.right(one) for one in samples if not one.answerable]
    return Tried(_share(good), _share(off), len(good), len(off))


def held_out(samples: Sequence[Sample], threshold: float | None = None, folds: int = FOLDS) -> Tried:
    """Every question judged by a fit of the other folds."""
    right: dict[bool, list[bool]] = {True: [], False: []}
    for own, others in _split(samples, folds):
        fit = fitted(others, threshold)
        for one in own:
            right[one.answerable].append(fit.right(one))
    return Tried(_share(right[True]), _share(right[False]), len(right[True]), len(right[False]))


def _split(samples: Sequence[Sample], folds: int) -> Iterator[tuple[list[Sample], list[Sample]]]:
    for n in range(folds):
        own = [one for one in samples if fold(one, folds) == n]
        if own:
            yield own, [one for one in samples if fold(one, folds) != n]


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else 0.0
