"""Runs a documentation dataset against what is indexed now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.contracts.actor import Actor
from app.core.errors import Forbidden, Unavailable
from app.documentation.evaluation import Case, Dataset, Outcome, breaches, by_slice, figures
from app.documentation.retrieval import Asked, Retrieval
from app.documentation.retrieved import Evidence


@dataclass(frozen=True)
class Report:
    """``failed`` are the cases that did not come out as expected; ``strategies`` what the answers were made by."""

    dataset: Dataset
    outcomes: Sequence[Outcome]
    strategies: tuple[str, ...]
    breaches: Sequence[str]

    @property
    def failed(self) -> list[Outcome]:
        return [one for one in self.outcomes if not one.passed]

    def as_json(self) -> dict[str, object]:
        """The report of a run, without times: the same corpus and model give the same report."""
        return {
            "schema_version": "1",
            "dataset_version": self.dataset.version,
            "index_profile": self.dataset.corpus,
            "strategies": list(self.strategies),
            "case_count": len(self.outcomes),
            "passed": len(self.outcomes) - len(self.failed),
            "metrics": figures(self.outcomes),
            "floors": dict(self.dataset.floors),
            "breaches": list(self.breaches),
            "slices": by_slice(self.outcomes),
            "failures": [
                {
                    "id": one.case.id,
                    "expected": list(one.case.expected_sources) or _expectation(one.case),
                    "retrieved": list(one.sources),
                    "quality": one.quality,
                }
                for one in self.failed
            ],
        }


class Evaluator:
    """Asks every case as the caller that it describes."""

    def __init__(self, retrieval: Retrieval) -> None:
        self._retrieval = retrieval

    def run(self, dataset: Dataset, by_words: bool = False) -> Report:
        """``by_words`` leaves the vectors out: the same figures on every machine."""
        strategies: set[str] = set()
        outcomes = [self._outcome(dataset.corpus, case, by_words, strategies) for case in dataset.cases]
        found = breaches(figures(outcomes), dataset.floors)
        return Report(dataset, outcomes, tuple(sorted(strategies)), found)

    def _outcome(self, corpus: str, case: Case, by_words: bool, strategies: set[str]) -> Outcome:
        asked = Asked(case.query, corpus, case.locale, case.top_k, by_words=by_words)
        try:
            found = self._retrieval.retrieve(_caller(corpus, case), asked)
        except Forbidden:
            return Outcome(case, refused=True)
        except Unavailable:
            return Outcome(case, unavailable=True)
        strategies.update(found.strategies)
        sources = tuple(_identity(corpus, one) for one in found.passages)
        return Outcome(case, sources, found.confident, quality=found.quality)


def _caller(corpus: str, case: Case) -> Actor:
    """Someone with the case's permissions; a case that names none may read its corpus."""
    held = frozenset(case.permissions or (f"documentation.{corpus}.select",))
    return Actor(
        id=0, login="evaluation", display_name="Evaluation", locale=case.locale, permissions=held,
        tenant_id=case.tenant_id,
    )  # fmt: skip


def _identity(corpus: str, one: Evidence) -> str:
    """What a dataset calls a source: its safe label for users, its name for developers (`seed-facts.md` 26.5)."""
    return one.label if corpus == "user" else one.source


def _expectation(case: Case) -> str:
    if case.expect_refusal:
        return "a refusal"
    return "nothing" if case.expect_empty else "not documented"
