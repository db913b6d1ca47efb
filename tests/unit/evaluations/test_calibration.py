"""Calibration of *not documented*: what is fitted, and that a question never judges its own fit."""

from __future__ import annotations

import pytest

from evaluations.bench.calibration import FOLDS, Fit, Sample, fitted, fold, held_out, tried


def samples(good: list[tuple[float, float | None]], off: list[tuple[float, float | None]]) -> list[Sample]:
    named = [(f"good-{n}", True, *one) for n, one in enumerate(good)] + [
        (f"off-{n}", False, *one) for n, one in enumerate(off)
    ]
    return [Sample(*one) for one in named]


def test_noise_and_span_are_medians_and_the_threshold_separates() -> None:
    found = samples([(1.0, 0.9), (0.9, 0.9), (0.8, 0.9)], [(0.1, 0.5), (0.2, 0.5), (0.0, 0.5)])
    fit = fitted(found)
    assert (fit.noise, fit.span) == pytest.approx((0.5, 0.4))
    assert [fit.quality(one) for one in found] == pytest.approx([1.0, 0.95, 0.9, 0.05, 0.1, 0.0])
    assert fit.threshold == 0.15  # the lowest of those that separate
    assert tried(fit, found).balanced == 1.0
    assert tried(Fit(0.5, 0.4, 0.95), found).answered == pytest.approx(2 / 3)


def test_without_meaning_words_alone_judge() -> None:
    found = samples([(0.6, None)], [(0.3, None)])
    fit = fitted(found)
    assert (fit.span, fit.quality(found[0]), fit.threshold) == (0.0, 0.6, 0.35)


def test_a_question_never_judges_its_own_fit() -> None:
    """Each fold has one odd question that only a fit of its own fold would get right."""
    plain = samples([(0.9, None)] * 40, [(0.1, None)] * 40)
    odd = next(
        Sample(f"odd-{n}", False, 0.55, None) for n in range(100) if fold(Sample(f"odd-{n}", False, 0, None)) == 0
    )
    everything = [*plain, odd]
    assert tried(fitted(everything), everything).balanced == 1.0  # fitted on itself: looks perfect
    honest = held_out(everything)
    assert honest.abstained == pytest.approx(40 / 41)
    assert (honest.answerable, honest.others) == (40, 41)


def test_folds_depend_on_the_id_alone_and_none_is_empty() -> None:
    found = samples([(0.9, None)] * 60, [])
    assert {fold(one) for one in found} == set(range(FOLDS))
    assert [fold(one) for one in found] == [fold(Sample(one.id, False, 0.0, None)) for one in found]
