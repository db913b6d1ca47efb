"""Before anything is looked for: what is meant, and what to run. Rules, or a language model within its share of time.

No transaction is open meanwhile. A model that is away, late or unreadable leaves the rules, and a note.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import structlog

from app.core.clock import Clock
from app.core.contracts.planning import Intent
from app.core.errors import ModelServerFailed
from app.search.beside import beside
from app.search.budget import INTENT_UNTIL, PLAN_UNTIL
from app.search.intent import simple_intent, widened
from app.search.profile import Tuning
from app.search.work import Run, Work, fitting

Answer = TypeVar("Answer")

log = structlog.get_logger(__name__)


def understood(work: Work, run: Run, clock: Clock, tuning: Tuning) -> Run:
    """The run with what the strategy's models say of the question."""
    question, planner, parser = work.query.phrase, work.strategy.planner, work.strategy.intent
    if not question:
        return run
    intent: Intent | None = None
    if parser is not None:
        seconds = _seconds(run, INTENT_UNTIL)
        with work.watch.stage("intent"):
            intent = asked(work, "intent", lambda: parser.intent(question, seconds), seconds)
    intent = intent or simple_intent(question)
    run = replace(run, query=widened(work.query, intent), wording=intent.expanded or run.wording)
    if planner is not None:
        seconds, rules = _seconds(run, PLAN_UNTIL), run.plan
        with work.watch.stage("plan"):
            plan = asked(work, "planner", lambda: planner.plan(question, rules, seconds), seconds)
        if plan is not None:
            run = replace(run, plan=fitting(work, plan, run.options, tuning, run.disabled))
    return run


def _seconds(run: Run, until: float) -> float:
    """What a call of the language model may take: its share of the budget, and the setting's own limit."""
    left = run.budget.left(until)
    return left if run.options.model_seconds is None else min(left, run.options.model_seconds)


def asked(work: Work, step: str, call: Callable[[], Answer], seconds: float) -> Answer | None:
    """What a model answers within ``seconds``; None, and a note, when it doesn't."""
    try:
        return beside(call).result(timeout=seconds)
    except TimeoutError:
        reason = "timeout"
    except Exception as error:  # noqa: BLE001 - whatever a model does, the rules answer
        late = isinstance(error, ModelServerFailed) and error.reason == "timeout"
        reason = "timeout" if late else "unavailable"
        log.warning("search.model_failed", step=step, code=getattr(error, "code", type(error).__name__))
    work.notes.add(f"{step}_{reason}")
    return None
