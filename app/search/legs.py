"""The question's vector first, then both legs side by side, in a thread and a connection each, over one snapshot.

No transaction is open while the model is asked (`switch.md`, "Read path"). Then the search exports the snapshot of its
transaction and looks for words while the vector leg, having adopted it, looks for passages: both legs, the page and its
texts see one state. What is not back when the budget is spent is left behind: the call to the model and the leg's
statements carry what was left of the budget as their own limit, so that nothing lives on for long.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import structlog
from psycopg.errors import QueryCanceled
from sqlalchemy.exc import SQLAlchemyError

from app.core.clock import Clock
from app.core.contracts.conditions import Filter
from app.core.contracts.vectors import Guard, Leave, PassageHit, QueryVector, ServingChanged, VectorSearch
from app.core.errors import ModelServerFailed, Unavailable
from app.core.unit import Units
from app.search.beside import beside
from app.search.budget import EMBED_SHARE, LEGS_UNTIL, Budget
from app.search.store import adopting, export_snapshot

ABREAST = 6
"""Vector legs of one process at a time; each takes a connection beside that of its search."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class VectorLeg:
    """What came of the vector leg. ``ran`` is false when it was not asked; then a reason stands beside it.

    ``degraded`` beside passages: another engine than the chosen one gave them.
    """

    passages: tuple[PassageHit, ...] = ()
    ran: bool = False
    degraded: str | None = None
    disabled: str | None = None
    took_ms: float | None = None


@dataclass(frozen=True)
class QuestionVector:
    """A question's vector, who searches with it, and until when. ``seen``: what the guard saw, where the legs look at
    the same snapshot."""

    search: VectorSearch
    query: QueryVector
    budget: Budget
    seen: Guard | None = None


@dataclass(frozen=True)
class Question:
    """The question's vector, or why there is none (no reason: nobody asked for one)."""

    vector: QuestionVector | None = None
    degraded: str | None = None
    disabled: str | None = None


class Legs:
    """Asks for vectors of questions and starts vector legs."""

    def __init__(self, units: Units, clock: Clock) -> None:
        self._units = units
        self._clock = clock
        self._room = threading.Semaphore(ABREAST)

    def question(self, search: VectorSearch, wording: str, budget: Budget, guard: Guard) -> Question:
        """The vector of a question, within its share of the budget. Call it with no transaction open."""
        seconds = budget.left(LEGS_UNTIL) * EMBED_SHARE
        try:
            query = beside(lambda: search.query_vector(wording, seconds, guard)).result(timeout=seconds)
        except TimeoutError:
            return Question(degraded="embedder_timeout")
        except ServingChanged:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a model's server does, words answer
            timed_out = isinstance(error, ModelServerFailed) and error.reason == "timeout"
            code = error.code if isinstance(error, Unavailable) else type(error).__name__
            log.warning("search.query_vector_failed", code=code)
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
        snapshot = (vector.seen and vector.seen.snapshot) or export_snapshot(session)
        budget = vector.budget
        leave = Leave(lambda: budget.left(LEGS_UNTIL))
        settings, known = vector.search.settings(vector.query, window), dict(session.info)

        def opening() -> str:
            return adopting(snapshot, budget.left(LEGS_UNTIL), settings)

        def nearest(inner: Any) -> Sequence[PassageHit]:
            inner.info.update(known)  # it sees the same snapshot
            return vector.search.nearest(inner, vector.query, scope, locale, window, leave, vector.seen)

        leg: Future[VectorLeg] = Future()
        beside(lambda: self._run(opening, nearest, budget, leave, leg))

        def wait() -> VectorLeg:
            try:
                return leg.result(timeout=budget.left(LEGS_UNTIL))
            except TimeoutError:
                return VectorLeg(degraded="vector_timeout")

        return wait

    def _run(
        self,
        opening: Callable[[], str],
        nearest: Callable[[Any], Sequence[PassageHit]],
        budget: Budget,
        leave: Leave,
        leg: Future[VectorLeg],
    ) -> None:
        """Tell ``leg`` what came of it, as soon as it is known: nobody waits for the end of the transaction."""
        if not self._room.acquire(timeout=budget.left(LEGS_UNTIL)):
            leg.set_result(VectorLeg(degraded="vector_timeout"))
            return
        started = self._clock.monotonic()
        try:
            with self._units(begin=opening()) as unit:
                passages = tuple(nearest(unit.session))
                took = round((self._clock.monotonic() - started) * 1000, 1)
                leg.set_result(VectorLeg(passages, ran=True, degraded=leave.degraded, took_ms=took))
        except ServingChanged as error:
            leg.set_exception(error)
        except Exception as error:  # noqa: BLE001 - whatever becomes of this leg, words answer
            log.warning("search.vector_leg_failed", error=type(error).__name__)
            if not leg.done():
                leg.set_result(VectorLeg(degraded="vector_timeout" if _was_late(error) else "vector_failed"))
        finally:
            self._room.release()


def _was_late(error: Exception) -> bool:
    """Whether the database ended a statement at its limit."""
    return isinstance(error, SQLAlchemyError) and isinstance(getattr(error, "orig", None), QueryCanceled)
