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
class QuestionVector:
    """A question's vector, who searches with it, and until when."""

    search: VectorSearch
    query: QueryVector
    budget: Budget


@dataclass(frozen=True)
class Question:
    """The question's vector, or why there is none (no reason: nobody asked for one)."""

    vector: QuestionVector | None = None
    degraded: str | None = None
    disabled: str | None = None


class Legs:
    """Asks for vectors of questions and starts vector legs."""

    def __init__(self, units: Units, clock: Clock, budget_ms: Callable[[Any], int]) -> None:
        self._units = units
        self._clock = clock
        self._budget_ms = budget_ms
        self._room = threading.Semaphore(ABREAST)

    def question(self, search: VectorSearch, wording: str, started: float) -> Question:
        """The vector of a question that was asked at ``started``, within its share of the budget.

        Call it with no transaction open.
        """
        with self._units() as unit:
            budget = Budget(self._clock, self._budget_ms(unit.session), started)
            disabled = search.unavailable(unit.session)
        if disabled or not wording:
            return Question(disabled=disabled, degraded="vectors_unavailable" if disabled else None)
        seconds = budget.left() * EMBED_SHARE
        try:
            query = _beside(lambda: search.query_vector(wording, seconds)).result(timeout=budget.left())
        except TimeoutError:
            return Question(degraded="embedder_timeout")
        except Unavailable as error:
            timed_out = isinstance(error, ModelServerFailed) and error.reason == "timeout"
            log.warning("search.query_vector_failed", code=error.code)
            return Question(degraded="embedder_timeout" if timed_out else "embedder_unavailable")
        return Question(QuestionVector(search, query, budget))

    def start(
        self, session: Any, question: Question, scope: Mapping[str, Filter | None], locale: str | None, window: int
    ) -> Callable[[], VectorLeg]:
        """Begin the vector leg on the snapshot of ``session``; without a vector there is nothing to begin.

        What is returned waits for the passages, or says that they took too long. It raises what the leg raised,
        `ServingChanged` for example.
        """
        vector = question.vector
        if vector is None:
            return lambda: VectorLeg(degraded=question.degraded, disabled=question.disabled)
        snapshot, budget = export_snapshot(session), vector.budget

        def nearest(inner: Any) -> Sequence[PassageHit]:
            adopt_snapshot(inner, snapshot, budget.left())
            return vector.search.nearest(inner, vector.query, scope, locale, window)

        leg = _beside(lambda: self._run(nearest, budget))

        def wait() -> VectorLeg:
            try:
                return leg.result(timeout=budget.left())
            except TimeoutError:
                return VectorLeg(degraded="vector_timeout")

        return wait

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
