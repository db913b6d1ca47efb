"""The public entry of evaluation: a suite is asked, held against floors and a baseline, and kept in the history."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.core.unit import Origin, Units
from app.documentation.entities import entity_of
from app.documentation.evaluating import Report
from app.documentation.gates import FLOORS, TOLERANCES, assigned, read_baseline
from app.documentation.runs.records import RunRecord, dataset_record
from app.documentation.runs.service import Runs
from app.documentation.suite_runs import (
    USUAL_K,
    RetrievalName,
    Retriever,
    SuiteAsk,
    SuiteReport,
    against,
    run_suite,
)
from app.documentation.suites import Suite, read_suite


class Evaluations:
    """Opens its own units: models are asked in between.

    ``serving`` names the model that answers now; ``waiting`` counts the texts of an entity without current vectors.
    """

    def __init__(
        self,
        units: Units,
        runs: Runs,
        retrievers: Mapping[RetrievalName, Retriever],
        serving: Callable[[Any], str | None],
        waiting: Callable[[Any, str], int],
    ) -> None:
        self.units = units
        self.runs = runs
        self._retrievers = retrievers
        self._serving = serving
        self._waiting = waiting

    @staticmethod
    def asked(
        collection: str,
        k: int = USUAL_K,
        min_score: float = 0.0,
        locale: str = "en",
        retrieval: RetrievalName = "passages",
    ) -> SuiteAsk:
        """How a suite is asked, from raw values; they are checked when it is."""
        return SuiteAsk(collection, k, min_score, locale, retrieval)

    @staticmethod
    def read(name: str, text: str) -> Suite:
        """A suite of a file's text. Raises :class:`Invalid`, naming the case and the key."""
        return read_suite(name, text)

    def suite(self, suite: Suite, asked: SuiteAsk, floors: Sequence[str] = ()) -> SuiteReport:
        """Ask every case; ``floors`` (``metric=number``) change the usual ones. Raises as :func:`run_suite`."""
        wanted = assigned(floors, FLOORS)
        with self.units() as unit:
            model = self._serving(unit.session)
            waiting = self._waiting(unit.session, entity_of(asked.collection).name)
        report = run_suite(suite, asked, self._retrievers[asked.retrieval], model, wanted, self.runs.sha())
        return report.warned(f"{waiting} texts have no current vectors yet") if waiting else report

    @staticmethod
    def against(report: SuiteReport, baseline: str, tolerances: Sequence[str] = ()) -> SuiteReport:
        """The report beside a saved run's text. Raises :class:`Invalid` for a text that is none."""
        return against(report, read_baseline(baseline), assigned(tolerances, TOLERANCES))

    def keep_suite(self, report: SuiteReport, by: str, origin: Origin | None = None) -> int:
        """Write a suite's run to the history; its number."""
        return self._keep(report.record(), by, origin)

    def keep_dataset(
        self, name: str, report: Report, by: str, by_words: bool = False, origin: Origin | None = None
    ) -> int:
        """Write a run of a documentation dataset to the history; its number."""
        with self.units() as unit:
            model = self._serving(unit.session)
        return self._keep(dataset_record(name, report, model, by_words), by, origin)

    def _keep(self, record: RunRecord, by: str, origin: Origin | None) -> int:
        with self.units(origin=origin) as unit:
            return self.runs.record(unit, record, by).id
