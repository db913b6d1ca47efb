"""What suites and datasets of questions share: values of a case, read strictly, and means of its figures. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.core.errors import Invalid

Wrong = Callable[[str, str], Invalid]
"""Makes the error of a place (``case first, query:``) and what must stand there."""


def texts(raw: Mapping[str, Any], where: str, key: str, wrong: Wrong) -> tuple[str, ...]:
    """The list of texts under ``key``, none when it is absent. Raises what ``wrong`` makes."""
    value = raw.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
        raise wrong(f"{where} {key}:", "must be a list of texts")
    return tuple(value)


def flag(raw: Mapping[str, Any], where: str, key: str, wrong: Wrong) -> bool:
    """The truth value under ``key``, false when it is absent. Raises what ``wrong`` makes."""
    value = raw.get(key, False)
    if not isinstance(value, bool):
        raise wrong(f"{where} {key}:", "must be true or false")
    return value


def mean(values: Sequence[float]) -> float:
    """0.0 of nothing."""
    return sum(values) / len(values) if values else 0.0
