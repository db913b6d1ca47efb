"""The tuning profile: committed parameters for each class of question (`seed-facts.md` 10).

No learning: nothing reads what people do, and two equal requests get equal plans. A profile that is missing or wrong
leaves every plan as it is, and one warning in the log of each process.
"""

from __future__ import annotations

import math
import threading
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import structlog

from app.core.contracts.planning import Plan
from app.search.plan import with_weights
from app.search.tolerance import Analysis

QueryClass = Literal["identifier", "short_keyword", "multi_term", "natural_language"]
CLASSES: tuple[QueryClass, ...] = get_args(QueryClass)
IDENTIFYING = frozenset({"numeric", "uuid", "email", "structured_identifier"})
SHORT, MULTI = 2, 5
"""Significant tokens of a short question at most, and of one of several terms."""

WEIGHTS = ("keyword_weight", "vector_weight", "hybrid_weight")
SHARES = (*WEIGHTS, "rrf_weight", "agreement_boost", "rerank_blend")
COUNTS = ("rrf_k", "rerank_top_k")
SHIPPED = Path(__file__).with_name("tuning.toml")

log = structlog.get_logger(__name__)


class UnusableProfile(ValueError):
    """The profile is wrong; the text says where, and has nothing of a question."""


@dataclass(frozen=True)
class TuningProfile:
    """A version, and for each class the parameters that hold for it (the default set's under the class's own)."""

    version: str
    sets: Mapping[QueryClass, Mapping[str, float]]


def query_class(found: Analysis) -> QueryClass:
    """The class of a question; the first that fits."""
    if any(found.kinds.get(kind) for kind in IDENTIFYING):
        return "identifier"
    if found.significant <= SHORT:
        return "short_keyword"
    return "multi_term" if found.significant <= MULTI and not found.natural else "natural_language"


def read_profile(content: Mapping[str, Any]) -> TuningProfile:
    """The profile of a file's content. Raises :class:`UnusableProfile`."""
    version, default, classes = content.get("version"), content.get("default", {}), content.get("classes", {})
    if not isinstance(version, str) or not version.strip():
        raise UnusableProfile("version must be a text")
    if not isinstance(default, dict) or not isinstance(classes, dict):
        raise UnusableProfile("default and classes must be tables")
    unknown = [name for name in classes if name not in CLASSES]
    if unknown:
        raise UnusableProfile(f"unknown class {unknown[0]}")
    sets = {name: {**default, **_table(name, classes.get(name, {}))} for name in CLASSES}
    problems = [*_problems("default", default), *(one for name in CLASSES for one in _problems(name, sets[name]))]
    if problems:
        raise UnusableProfile("; ".join(dict.fromkeys(problems)))
    return TuningProfile(version, sets)


def _table(name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnusableProfile(f"classes.{name} must be a table")
    return value


def _problems(name: str, parameters: Mapping[str, Any]) -> Iterator[str]:
    for parameter, value in parameters.items():
        if parameter in COUNTS:
            if type(value) is not int or value < 1:
                yield f"{name}: {parameter} must be a whole number from 1"
        elif parameter not in SHARES:
            yield f"{name}: unknown parameter {parameter}"
        elif type(value) not in (int, float) or not math.isfinite(value) or not 0 <= value <= 1:
            yield f"{name}: {parameter} must be a number from 0 to 1"
    if all(weight in parameters for weight in WEIGHTS) and not any(parameters[weight] for weight in WEIGHTS):
        yield f"{name}: one of the three weights must be above 0"


def applied(profile: TuningProfile, plan: Plan, found: Analysis) -> Plan:
    """The plan with the profile's parameters for this class of question, and their origin for the meta."""
    named = query_class(found)
    wanted = profile.sets[named]
    if any(weight in wanted for weight in WEIGHTS):
        plan = with_weights(plan, {weight: wanted[weight] for weight in WEIGHTS if weight in wanted})
    return replace(
        plan,
        rrf_k=int(wanted.get("rrf_k", plan.rrf_k)),
        rrf_weight=wanted.get("rrf_weight", plan.rrf_weight),
        agreement_boost=wanted.get("agreement_boost", plan.agreement_boost),
        rerank_top_k=int(wanted.get("rerank_top_k", plan.rerank_top_k)),
        rerank_blend=wanted.get("rerank_blend", plan.rerank_blend),
        tuning={"applied": True, "profile_version": profile.version, "query_class": named},
    )


class Tuning:
    """The committed profile, read when it is first needed."""

    def __init__(self, path: Path = SHIPPED) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._read = False
        self._profile: TuningProfile | None = None

    def __call__(self, plan: Plan, found: Analysis | None) -> Plan:
        """The tuned plan; the same one without a usable profile."""
        profile = self._loaded()
        return plan if profile is None or found is None else applied(profile, plan, found)

    def _loaded(self) -> TuningProfile | None:
        with self._lock:
            if not self._read:
                self._read = True
                try:
                    self._profile = read_profile(tomllib.loads(self._path.read_text(encoding="utf-8")))
                except (OSError, ValueError) as error:
                    log.warning("search.tuning_unusable", problem=str(error)[:300])
            return self._profile
