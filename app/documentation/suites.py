"""Suites of golden questions for a collection, and how a run of one is scored (seed 002, "What gets measured"). Pure.

A suite is a JSON object of case id to case. A case names a ``query`` and what must come of it: ``expected_sources``,
``must_contain``, ``must_not_contain``, or ``expect_no_answer``. Two keys are ours: ``locale`` asks in one language
only, and ``expect_fail`` marks a case that is known to be red: it counts in no figure, and turning green is reported
(`known-bugs.md` 59c).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.core.errors import Invalid
from app.core.locale import LOCALES
from app.documentation.cases import flag, mean, texts

METRICS = ("pass_rate", "recall_at_k", "mrr", "mean_top_score")
CASE_KEYS = {
    "query", "expected_sources", "must_contain", "must_not_contain", "expect_no_answer", "locale", "expect_fail",
}  # fmt: skip
MOST_CASES, LONGEST_QUERY, LONGEST_ID = 10_000, 2_000, 200

ViolationKind = Literal["missing_source", "missing_text", "forbidden_text", "no_answer_expected"]


@dataclass(frozen=True)
class SuiteCase:
    """One question and what must come of it."""

    id: str
    query: str
    expected_sources: tuple[str, ...] = ()
    must_contain: tuple[str, ...] = ()
    must_not_contain: tuple[str, ...] = ()
    expect_no_answer: bool = False
    locale: str | None = None
    expect_fail: bool = False


@dataclass(frozen=True)
class Suite:
    """``name`` is the file's stem."""

    name: str
    cases: tuple[SuiteCase, ...]


@dataclass(frozen=True)
class Chunk:
    """One retrieved passage: the source it is of, its text, and its score (a cosine, or a fused score)."""

    source: str
    text: str
    score: float


@dataclass(frozen=True)
class Violation:
    """What a case's passages break. ``value`` is the source or text that it is about, else a count."""

    kind: ViolationKind
    value: str

    @property
    def sentence(self) -> str:
        """In English, for terminals and reports; pages have their own words."""
        if self.kind == "missing_source":
            return f"expected source was not retrieved: '{self.value}'"
        if self.kind == "missing_text":
            return f"retrieved context lacks the text: '{self.value}'"
        if self.kind == "forbidden_text":
            return f"retrieved context contains forbidden text: '{self.value}'"
        return f"no answer was expected, but passages were retrieved: {self.value}"


@dataclass(frozen=True)
class CaseResult:
    """A case and its passages, best first."""

    case: SuiteCase
    chunks: tuple[Chunk, ...]

    @property
    def violations(self) -> tuple[Violation, ...]:
        """Everything that the passages break; texts are sought in all of them, whatever their case and line breaks."""
        case = self.case
        if case.expect_no_answer:
            return (Violation("no_answer_expected", str(len(self.chunks))),) if self.chunks else ()
        sources = {chunk.source for chunk in self.chunks}
        context = "\n".join(_plain(chunk.text) for chunk in self.chunks)
        return (
            *(Violation("missing_source", source) for source in case.expected_sources if source not in sources),
            *(Violation("missing_text", text) for text in case.must_contain if _plain(text) not in context),
            *(Violation("forbidden_text", text) for text in case.must_not_contain if _plain(text) in context),
        )

    @property
    def passed(self) -> bool:
        return not self.violations

    @property
    def recall(self) -> float:
        """The share of the expected sources that are there; 1.0 for a case that names none."""
        expected = self.case.expected_sources
        sources = {chunk.source for chunk in self.chunks}
        return sum(1 for source in expected if source in sources) / len(expected) if expected else 1.0

    @property
    def rank(self) -> int | None:
        """The first passage, from 1, whose source is expected."""
        expected = set(self.case.expected_sources)
        return next((n for n, chunk in enumerate(self.chunks, start=1) if chunk.source in expected), None)

    @property
    def reciprocal_rank(self) -> float:
        """1 ÷ rank, 0.0 without one; 1.0 for a case that names no source."""
        if not self.case.expected_sources:
            return 1.0
        return 1 / self.rank if self.rank else 0.0

    @property
    def top_score(self) -> float:
        return self.chunks[0].score if self.chunks else 0.0


def scores(results: Sequence[CaseResult]) -> dict[str, float]:
    """The four metrics, unrounded. ``pass_rate`` counts every case; the others are means over the answerable ones,
    0.0 where there is none. Cases that are known to be red count nowhere."""
    counted, answerable = _counted(results)
    return {
        "pass_rate": mean([float(one.passed) for one in counted]),
        "recall_at_k": mean([one.recall for one in answerable]),
        "mrr": mean([one.reciprocal_rank for one in answerable]),
        "mean_top_score": mean([one.top_score for one in answerable]),
    }


def counts(results: Sequence[CaseResult]) -> dict[str, int]:
    """Over how many cases each of the four metrics is."""
    counted, answerable = _counted(results)
    return {name: len(counted if name == "pass_rate" else answerable) for name in METRICS}


def _counted(results: Sequence[CaseResult]) -> tuple[Sequence[CaseResult], Sequence[CaseResult]]:
    """The cases that count, and those of them that have an answer."""
    counted = [one for one in results if not one.case.expect_fail]
    return counted, [one for one in counted if not one.case.expect_no_answer]


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


# --- reading -----------------------------------------------------------------------------------------------------


def read_suite(name: str, text: str) -> Suite:
    """The suite of a file's text, read strictly. Raises :class:`Invalid`, naming the case and the key."""
    try:
        raw = json.loads(text, object_pairs_hook=_Object)
    except ValueError:
        raise _wrong("the file", "must be JSON") from None
    except RecursionError:
        raise _wrong("the file", "is nested too deep") from None
    if not isinstance(raw, dict):
        raise _wrong("the file", "must be an object of case id to case")
    _no_twin("the file", raw)
    if not 1 <= len(raw) <= MOST_CASES:
        raise _wrong("the file", f"must hold 1 to {MOST_CASES} cases")
    return Suite(name, tuple(_case(case_id, item) for case_id, item in raw.items()))


class _Object(dict[str, Any]):
    """An object that knows a key which stood twice: the first one would be lost silently."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        self.twin = next((name for name, _ in pairs if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]


def _no_twin(where: str, raw: Mapping[str, Any]) -> None:
    twin = getattr(raw, "twin", None)
    if twin is not None:
        raise _wrong(where, f"has the key {twin[:60]} twice")


def _case(case_id: str, raw: object) -> SuiteCase:
    where = f"case {case_id[:60]},"
    if not case_id.strip() or len(case_id) > LONGEST_ID:
        raise _wrong("a case", f"has an id that is blank or longer than {LONGEST_ID} characters")
    if not isinstance(raw, dict):
        raise _wrong(where.removesuffix(","), "must be an object")
    _no_twin(where.removesuffix(","), raw)
    unknown = sorted(set(raw) - CASE_KEYS)
    if unknown:
        raise _wrong(where.removesuffix(","), f"has the unknown key {unknown[0][:60]}")
    query = raw.get("query")
    if not isinstance(query, str) or not query.strip() or len(query) > LONGEST_QUERY:
        raise _wrong(f"{where} query:", f"must be a text of at most {LONGEST_QUERY} characters")
    if raw.get("locale") is not None and raw["locale"] not in LOCALES:
        raise _wrong(f"{where} locale:", f"must be one of {', '.join(LOCALES)}")
    case = SuiteCase(
        id=case_id,
        query=query,
        expected_sources=_texts(raw, where, "expected_sources"),
        must_contain=_texts(raw, where, "must_contain"),
        must_not_contain=_texts(raw, where, "must_not_contain"),
        expect_no_answer=flag(raw, where, "expect_no_answer", _wrong),
        locale=raw.get("locale"),
        expect_fail=flag(raw, where, "expect_fail", _wrong),
    )
    if case.expect_no_answer and (case.expected_sources or case.must_contain):
        raise _wrong(f"{where} expect_no_answer:", "goes with neither expected_sources nor must_contain")
    return case


def _texts(raw: Mapping[str, Any], where: str, key: str) -> tuple[str, ...]:
    value = texts(raw, where, key, _wrong)
    if len(set(value)) < len(value):
        raise _wrong(f"{where} {key}:", "must not name the same text twice")
    return value


def _wrong(where: str, expected: str) -> Invalid:
    return Invalid("documentation.suite", where=where, expected=expected)
