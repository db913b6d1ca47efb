"""The question's vector first, then both legs side by side, in a thread and a connection each, over one snapshot.

No transaction is open while the model is asked (`switch.md`, "Read path"). Then the search exports the snapshot of its
transaction and looks for words while the vector leg, having adopted it, looks for passages: both legs, the page and its
texts see one state. What is not back when the budget is spent is left behind: the call to the model and the leg's
statements carry what was left of the budget as their own limit, so that nothing lives on for long.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog
from sqlalchemy.exc import SQLAlchemyError

from app.core.clock import Clock
from app.core.contracts.conditions import Filter
from app.core.contracts.vectors import PassageHit, QueryVector, VectorSearch
from app.core.errors import ModelServerFailed, Unavailable
from app.core.unit import Units
from app.search.store import adopt_snapshot, export_snapshot

EMBED_SHARE = 0.8
"""What the question's vector may take of the budget: 1.2 s of a balanced search (`search-measured.md` 8)."""
ABREAST = 6
"""Vector legs of one process at a time; each takes a connection beside that of its search."""

Result = TypeVar("Result")

log = structlog.get_logger(__name__)


class Budget:
    """What a search may still take; it began with the search."""

    def __init__(self, clock: Clock, milliseconds: int, started: float) -> None:
        self._clock = clock
        self._end = started + milliseconds / 1000

    def left(self) -> float:
        """Seconds, at least 0.001: nothing that is limited by it may take 0 for endless."""
        return max(0.001, self._end - self._clock.monotonic())


@dataclass(frozen=True)
class VectorLeg:
    """What came of the vector leg. ``ran`` is false when it was not asked; then a reason stands beside it."""

    passages: tuple[PassageHit, ...] = ()
    ran: bool = False
    degraded: str | None = None
    disabled: str | None = None
    took_ms: float | None = None


@dataclass(frozen=True)
class Question:
    """The question's vector and who searches with it, or why there is none."""

    budget: Budget
    search: VectorSearch | None = None
    query: QueryVector | None = None
    degraded: str | None = None
    disabled: str | None = None


class Legs:
    """Asks for vectors of questions and starts vector legs."""

    def __init__(self, units: Units, clock: Clock) -> None:
        self._units = units
        self._clock = clock
        self._room = threading.Semaphore(ABREAST)

    def question(self, search: VectorSearch | None, wording: str, budget: Budget) -> Question:
        """The question's vector within its share of the budget. Call it with no transaction open."""
        if search is None:
            return Question(budget)
        with self._units() as unit:
            disabled = search.unavailable(unit.session)
        if disabled or not wording:
            return Question(budget, disabled=disabled, degraded="vectors_unavailable" if disabled else None)
        seconds = budget.left() * EMBED_SHARE
        try:
            query = _beside(lambda: search.query_vector(wording, seconds)).result(timeout=budget.left())
        except TimeoutError:
            return Question(budget, degraded="embedder_timeout")
        except Unavailable as error:
            timed_out = isinstance(error, ModelServerFailed) and error.reason == "timeout"
            log.warning("search.query_vector_failed", code=error.code)
            return Question(budget, degraded="embedder_timeout" if timed_out else "embedder_unavailable")
        return Question(budget, search, query)

    def start(
        self, session: Any, question: Question, scope: Mapping[str, Filter | None], locale: str | None, window: int
    ) -> Running:
        """Begin the vector leg on the snapshot of ``session``; without a vector there is nothing to wait for."""
        search, query = question.search, question.query
        if search is None or query is None:
            leg: Future[VectorLeg] = Future()
            leg.set_result(VectorLeg(degraded=question.degraded, disabled=question.disabled))
            return Running(leg, question.budget)
        snapshot = export_snapshot(session)

        def nearest(inner: Any) -> Sequence[PassageHit]:
            adopt_snapshot(inner, snapshot, question.budget.left())
            return search.nearest(inner, query, scope, locale, window)

        return Running(_beside(lambda: self._run(nearest, question.budget)), question.budget)

    def _run(self, nearest: Callable[[Any], Sequence[PassageHit]], budget: Budget) -> VectorLeg:
        if not self._room.acquire(timeout=budget.left()):
            return VectorLeg(degraded="vector_timeout")
        started = self._clock.monotonic()
        try:
            with self._units("REPEATABLE READ") as unit:
                passages = tuple(nearest(unit.session))
        except SQLAlchemyError as error:
            log.warning("search.vector_leg_failed", error=type(error).__name__)
            return VectorLeg(degraded="vector_failed")
        finally:
            self._room.release()
        return VectorLeg(passages, ran=True, took_ms=round((self._clock.monotonic() - started) * 1000, 1))


@dataclass(frozen=True)
class Running:
    """A vector leg under way."""

    leg: Future[VectorLeg]
    budget: Budget

    def result(self) -> VectorLeg:
        """Its passages, or that it took too long. Raises what it raised, `ServingChanged` for example."""
        try:
            return self.leg.result(timeout=self.budget.left())
        except TimeoutError:
            return VectorLeg(degraded="vector_timeout")


def _beside(work: Callable[[], Result]) -> Future[Result]:
    """Begin ``work`` in a thread that nobody has to wait for, with this request's context."""
    future: Future[Result] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            future.set_result(context.run(work))
        except BaseException as error:  # noqa: BLE001 - raised again by who waits for it
            future.set_exception(error)

    threading.Thread(target=run, name="vector-leg", daemon=True).start()
    return future
