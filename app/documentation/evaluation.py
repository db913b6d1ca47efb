"""The dataset of a documentation evaluation and its figures (`seed-facts.md` 26.2, 26.5). Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core.errors import Invalid
from app.core.locale import LOCALES
from app.documentation.cases import flag, mean, texts

TOP_KEYS = {"version", "corpus_revision", "module", "index_profile", "data_classification", "floors", "cases"}
CASE_KEYS = {
    "id", "query", "locale", "top_k", "expected_source_labels", "expected_citation_labels", "expect_authorized_empty",
    "expect_supported_answer", "expect_refusal", "slices", "tenant", "effective_permissions",
}  # fmt: skip
METRICS = (
    "source_hit_at_k", "mean_reciprocal_rank", "ndcg_at_k", "recall_at_k", "citation_precision",
    "authorized_empty_accuracy", "supported_answer_rate", "abstention_accuracy", "refusal_accuracy",
    "unavailable_rate",
)  # fmt: skip
LOWER_IS_BETTER = {"unavailable_rate"}
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
MOST_CASES, LONGEST = 1000, 2000


@dataclass(frozen=True)
class Case:
    """One question of one caller, and what should come of it. A case that expects neither sources, nor an empty
    answer, nor a refusal expects an abstention: "not documented"."""

    id: str
    query: str
    locale: str
    top_k: int = 5
    expected_sources: tuple[str, ...] = ()
    expected_citations: tuple[str, ...] = ()
    expect_empty: bool = False
    expect_supported: bool = False
    expect_refusal: bool = False
    slices: tuple[str, ...] = ()
    tenant_id: int | None = None
    permissions: tuple[str, ...] = ()

    @property
    def expect_abstention(self) -> bool:
        return not (self.expected_sources or self.expect_empty or self.expect_refusal)


@dataclass(frozen=True)
class Dataset:
    """``corpus`` is user or developer; ``floors`` are the figures that must not be undercut."""

    version: str
    corpus: str
    cases: tuple[Case, ...]
    floors: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What came of a case: the sources in their order, and how the retrieval ended."""

    case: Case
    sources: tuple[str, ...] = ()
    confident: bool = False
    refused: bool = False
    unavailable: bool = False
    quality: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether everything that the case expects holds."""
        if self.unavailable or self.refused:
            return self.refused and self.case.expect_refusal
        if self.case.expect_refusal:
            return False
        if self.case.expect_empty:
            return not self.sources
        if self.case.expect_abstention:
            return not self.confident
        return bool(set(self.sources) & set(self.case.expected_sources)) and (
            self.confident or not self.case.expect_supported
        )


def read_dataset(raw: object) -> Dataset:
    """The dataset of parsed JSON, read strictly. Raises :class:`Invalid`, naming the case and the key."""
    top = _object(raw, "the file", TOP_KEYS, TOP_KEYS - {"floors"})
    if top["index_profile"] not in ("user", "developer"):
        raise _wrong("index_profile", "must be user or developer")
    if top["data_classification"] != "synthetic":
        raise _wrong("data_classification", "must be synthetic")
    cases = top["cases"]
    if not isinstance(cases, list) or not 1 <= len(cases) <= MOST_CASES:
        raise _wrong("cases", f"must be a list of 1 to {MOST_CASES}")
    read = tuple(_case(item, n) for n, item in enumerate(cases))
    if len({case.id for case in read}) < len(read):
        raise _wrong("cases", "must have ids that differ")
    return Dataset(str(top["version"]), str(top["index_profile"]), read, _floors(top.get("floors", {})))


def figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """All metrics, rounded to four digits; 0.0 where no case asks for one."""
    cited = _cited(outcomes)
    returned = sum(len(one.sources) for one in cited)
    correct = sum(len(set(one.sources) & set(one.case.expected_citations)) for one in cited)
    found = {name: mean(values) for name, values in _values(outcomes).items()}
    found["citation_precision"] = correct / returned if returned else 0.0
    return {name: round(found[name], 4) for name in METRICS}


def counts(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Over how many cases each metric is. Citation precision is one ratio over all returned sources: it has the number
    that its heaviest case makes of it (all that were returned ÷ the most of one case)."""
    returned = [len(one.sources) for one in _cited(outcomes)]
    heaviest = round(sum(returned) / max(returned), 4) if any(returned) else 0
    return {**{name: len(values) for name, values in _values(outcomes).items()}, "citation_precision": heaviest}


def _values(outcomes: Sequence[Outcome]) -> dict[str, list[float]]:
    """Of each metric that is a mean, the value of every case that asks for it."""
    relevant = [one for one in outcomes if one.case.expected_sources]
    return {
        "source_hit_at_k": [float(bool(_ranks(one))) for one in relevant],
        "mean_reciprocal_rank": [1 / _ranks(one)[0] if _ranks(one) else 0.0 for one in relevant],
        "ndcg_at_k": [_ndcg(one) for one in relevant],
        "recall_at_k": [len(_ranks(one)) / len(one.case.expected_sources) for one in relevant],
        "authorized_empty_accuracy": [
            float(not one.sources and not one.unavailable) for one in outcomes if one.case.expect_empty
        ],
        "supported_answer_rate": [float(one.confident) for one in outcomes if one.case.expect_supported],
        "abstention_accuracy": [
            float(one.confident != one.case.expect_abstention and not one.unavailable)
            for one in outcomes
            if one.case.expect_supported or one.case.expect_abstention
        ],
        "refusal_accuracy": [float(one.refused) for one in outcomes if one.case.expect_refusal],
        "unavailable_rate": [float(one.unavailable) for one in outcomes],
    }


def _cited(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [one for one in outcomes if one.case.expected_citations]


def breaches(found: Mapping[str, float], floors: Mapping[str, float]) -> list[str]:
    """A sentence for each floor that is undercut (a ceiling, where less is better)."""
    return [
        f"{name} is {found[name]:.4f}, {'above' if name in LOWER_IS_BETTER else 'below'} {floor:.4f}"
        for name, floor in floors.items()
        if (found[name] > floor if name in LOWER_IS_BETTER else found[name] < floor)
    ]


def by_slice(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]]:
    """The figures of each slice and of each locale, in the order of their names."""
    names = sorted({name for one in outcomes for name in (*one.case.slices, one.case.locale)})
    return {name: figures([one for one in outcomes if name in (*one.case.slices, one.case.locale)]) for name in names}


def _ranks(one: Outcome) -> list[int]:
    return [rank for rank, source in enumerate(one.sources, start=1) if source in one.case.expected_sources]


def _ndcg(one: Outcome) -> float:
    ideal = sum(1 / math.log2(n + 2) for n in range(min(len(one.case.expected_sources), one.case.top_k)))
    return sum(1 / math.log2(rank + 1) for rank in _ranks(one)) / ideal


def _case(raw: object, n: int) -> Case:
    where = f"case {n + 1}"
    item = _object(raw, where, CASE_KEYS, {"id", "query", "locale"})
    case_id, query, locale, top_k = item["id"], item["query"], item["locale"], item.get("top_k", 5)
    if not isinstance(case_id, str) or not _ID.fullmatch(case_id):
        raise _wrong(f"{where}, id:", "must be lower-case letters, digits, - and _")
    where = f"case {case_id},"
    if not isinstance(query, str) or not query.strip() or len(query) > LONGEST:
        raise _wrong(f"{where} query:", f"must be a text of at most {LONGEST} characters")
    if locale not in LOCALES:
        raise _wrong(f"{where} locale:", f"must be one of {', '.join(LOCALES)}")
    if not isinstance(top_k, int) or isinstance(top_k, bool) or not 1 <= top_k <= 10:
        raise _wrong(f"{where} top_k:", "must be 1 to 10")
    case = Case(
        id=case_id,
        query=query,
        locale=str(locale),
        top_k=top_k,
        expected_sources=texts(item, where, "expected_source_labels", _wrong),
        expected_citations=texts(item, where, "expected_citation_labels", _wrong),
        expect_empty=flag(item, where, "expect_authorized_empty", _wrong),
        expect_supported=flag(item, where, "expect_supported_answer", _wrong),
        expect_refusal=flag(item, where, "expect_refusal", _wrong),
        slices=texts(item, where, "slices", _wrong),
        tenant_id=_tenant(item, where),
        permissions=texts(item, where, "effective_permissions", _wrong),
    )
    expected = (bool(case.expected_sources), case.expect_empty, case.expect_refusal)
    if sum(expected) > 1 or (case.expect_supported and not case.expected_sources):
        raise _wrong(where, "must expect one thing: sources, an empty answer, a refusal, or an abstention")
    return case


def _tenant(item: Mapping[str, Any], where: str) -> int | None:
    tenant = item.get("tenant", {"scope": "global"})
    if tenant == {"scope": "global"}:
        return None
    fits = isinstance(tenant, dict) and set(tenant) == {"scope", "id"} and tenant["scope"] == "tenant"
    if not fits or not isinstance(tenant["id"], int):
        raise _wrong(f"{where} tenant:", 'must be {"scope": "global"} or {"scope": "tenant", "id": number}')
    return int(tenant["id"])


def _floors(raw: object) -> dict[str, float]:
    floors = _object(raw, "floors", set(METRICS), set())
    if not all(isinstance(value, int | float) and 0 <= value <= 1 for value in floors.values()):
        raise _wrong("floors", "must be numbers from 0 to 1")
    return {name: float(value) for name, value in floors.items()}


def _object(raw: object, where: str, known: set[str], needed: set[str]) -> Mapping[str, Any]:
    if not isinstance(raw, dict):
        raise _wrong(where, "must be an object")
    if set(raw) - known:
        raise _wrong(where, f"has the unknown key {sorted(set(raw) - known)[0][:60]}")
    if needed - set(raw):
        raise _wrong(where, f"lacks the key {sorted(needed - set(raw))[0]}")
    return raw


def _wrong(where: str, expected: str) -> Invalid:
    return Invalid("documentation.dataset", where=where, expected=expected)
