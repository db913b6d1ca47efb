"""The history of evaluations: a run is kept with its commit, listed, shown, and compared with another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.contracts.actor import Actor
from app.core.errors import Forbidden, NotFound
from app.core.unit import Unit
from app.documentation.evaluation import LOWER_IS_BETTER
from app.documentation.runs import store
from app.documentation.runs.commit import commit_of
from app.documentation.runs.models import EvaluationRun
from app.documentation.runs.records import RunDiff, RunRecord, beside, difference
from app.documentation.runs.weights import KEPT

PERMISSION = "evaluations.select"
PAGE = 50
MOST = 200


@dataclass(frozen=True)
class SuiteLine:
    """A suite with the collection that it asks, how often it ran, and its latest run."""

    kind: str
    suite: str
    collection: str
    runs: int
    latest: int


class Runs:
    """Runs in the caller's unit. ``named`` are the commits that the environment names, in their order."""

    ceilings = frozenset(LOWER_IS_BETTER)
    """Metrics whose limit must not be exceeded; that of every other one must not be undercut."""

    def __init__(self, root: Path, named: Sequence[str | None] = ()) -> None:
        self._root = root
        self._named = tuple(named)

    def record(self, unit: Unit, run: RunRecord, by: str) -> EvaluationRun:
        """Keep a run; ``by`` is a login, or what else started it."""
        counted = [one for one in run.results if not one.known_red]
        row = EvaluationRun(
            kind=run.kind,
            suite=run.suite,
            collection=run.collection,
            model=run.model,
            retrieval=run.retrieval,
            k=run.k,
            git_sha=self.sha(),
            cases=len(run.results),
            passed=sum(1 for one in counted if one.passed),
            metrics=dict(run.metrics),
            floors=dict(run.floors),
            breaches=list(run.breaches),
            settings={**run.settings, **({KEPT: dict(run.counts)} if run.counts else {})},
            started_by=by,
            results=list(run.results),
        )
        store.add(unit.session, row)
        return row

    def sha(self) -> str | None:
        """The commit that is evaluated now, when it can be said."""
        return commit_of(self._root, self._named)

    def suites(self, unit: Unit, actor: Actor) -> list[SuiteLine]:
        """Every suite that ever ran, the latest first. Raises :class:`Forbidden`."""
        permit(actor)
        return [SuiteLine(*row) for row in store.series(unit.session)]

    def listing(
        self,
        unit: Unit,
        actor: Actor,
        suite: str | None = None,
        collection: str | None = None,
        before: int | None = None,
        size: int = PAGE,
    ) -> Sequence[EvaluationRun]:
        """Runs without their cases, newest first, older than the run ``before``. Raises :class:`Forbidden`."""
        permit(actor)
        return store.page(unit.session, suite, collection, before, min(max(size, 1), MOST))

    def show(self, unit: Unit, actor: Actor, run_id: int) -> EvaluationRun:
        """One run with its cases. Raises :class:`Forbidden` and :class:`NotFound`."""
        permit(actor)
        run = store.find(unit.session, run_id)
        if run is None:
            raise NotFound("evaluation.run_unknown", run=run_id)
        return run

    def diff(self, unit: Unit, actor: Actor, run_id: int, before_id: int | None = None) -> RunDiff | None:
        """The run beside another one, or beside the one before it of its suite; None when there is none before."""
        now = self.show(unit, actor, run_id)
        before = store.before(unit.session, now) if before_id is None else self.show(unit, actor, before_id)
        return None if before is None else difference(before, now)

    @staticmethod
    def last_change(runs: Sequence[EvaluationRun]) -> RunDiff | None:
        """The first of ``runs`` (newest first) beside the next of its kind, without cases; None when there is none."""
        now = runs[0] if runs else None
        before = next((run for run in runs[1:] if now and run.kind == now.kind), None)
        return beside(before, now) if now and before else None


def permit(actor: Actor) -> None:
    """Raises :class:`Forbidden` without ``evaluations.select``: a run names sources of every collection."""
    if not actor.may(PERMISSION):
        raise Forbidden("access.forbidden", permission=PERMISSION)
