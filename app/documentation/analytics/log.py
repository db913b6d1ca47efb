"""What people ask the user guide, kept for a while when an administrator wants it: gaps, languages, how long it takes.

Write-only: nothing in the console reads it, and it feeds neither retrieval nor ranking (`seed-facts.md` 18). It can
neither fail nor delay an answer: the answer is made by then, and a thread beside the requests does the rest.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

import structlog

from app.core.access.actor import require
from app.core.audit.service import Audit
from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.documents.text import clean_text
from app.core.errors import Invalid, Unavailable
from app.core.unit import Origin, Unit, Units
from app.documentation.analytics.ports import Made, QuestionStore
from app.documentation.analytics.store import PostgresQuestions
from app.documentation.analytics.writer import LaterWriter

LOGGED_CORPUS = "user"
GLOBAL = "global"
LONGEST = 2_000
"""Characters of a question; no longer one is answered."""
WRITE_MILLISECONDS = 2_000
PRUNED = 5_000
POSTGRES = "postgres"
PERMISSION = "users.update"
"""Who may erase what is kept about somebody."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Rules:
    """The settings: whether anything is kept, whether with the question's text, for how many days, and where."""

    enabled: bool = False
    with_text: bool = True
    days: int = 30
    store: str = POSTGRES


@dataclass(frozen=True)
class Question:
    """What is kept of one question, and nothing else. ``latency_ms`` is that of the retrieval alone."""

    id: UUID
    logged_at: datetime
    user_ref: str
    tenant: str
    profile: str
    locale: str
    query: str | None
    retrieved_count: int
    citation_count: int
    answered: bool
    latency_ms: float
    index: str


@dataclass(frozen=True)
class Outcome:
    """What came of a question, in numbers."""

    retrieved: int
    cited: int
    answered: bool
    seconds: float


class QuestionLog:
    """Called by `answering` after each answer, by the upkeep and by who administers people."""

    def __init__(
        self,
        units: Units,
        clock: Clock,
        audit: Audit,
        keys: Sequence[str],
        rules: Callable[[Any], Rules] = lambda session: Rules(),
        writer: LaterWriter | None = None,
        stores: Mapping[str, QuestionStore] | None = None,
    ) -> None:
        """``keys``: the present secret first, then those before it. ``rules`` are read in the session of the write.

        ``stores``: those at hand, by the name that the rules say; PostgreSQL alone when none are given.
        """
        self.clock = clock
        self.writer = writer or LaterWriter()
        self._stores: Mapping[str, QuestionStore] = stores or {POSTGRES: PostgresQuestions()}
        self._units = units
        self._audit = audit
        self._keys = [key.encode() for key in keys]
        self._rules = rules

    def record(self, actor: Actor, corpus: str, locale: str, question: str, outcome: Outcome) -> None:
        """Keep a question that was answered, later. Never raises and never waits.

        Nothing is kept of guests, of who is viewed as, of the program itself, and of other corpora than the guide.
        """
        try:
            if actor.id is None or actor.is_guest or actor.impersonator_id is not None or corpus != LOGGED_CORPUS:
                return
            entry = Question(
                id=uuid4(),
                logged_at=self.clock.now(),
                user_ref=_reference(self._keys[0], actor.id),
                tenant=GLOBAL if actor.tenant_id is None else str(actor.tenant_id),
                profile=corpus,
                locale=locale,
                query=clean_text(question, LONGEST),
                retrieved_count=outcome.retrieved,
                citation_count=outcome.cited,
                answered=outcome.answered,
                latency_ms=round(max(outcome.seconds, 0.0) * 1000, 3),
                index=f"documentation.{corpus}",
            )
            if not self.writer.put(partial(self._write, entry)):
                log.warning("question_not_logged", error="TooManyWaiting")
        except Exception as error:  # noqa: BLE001 - whatever it is, the answer stands
            log.warning("question_not_logged", error=type(error).__name__)

    def _write(self, entry: Question) -> None:
        """In a unit of its own that gives up soon; the settings are those of now."""
        try:
            with self._units(origin=Origin()) as unit:
                rules = self._rules(unit.session)
                if rules.enabled:
                    values = asdict(entry if rules.with_text else replace(entry, query=None))
                    self._chosen(rules).add(unit, values, WRITE_MILLISECONDS)
        except Exception as error:  # noqa: BLE001 - the message could hold the question
            log.warning("question_not_logged", error=type(error).__name__)

    def rules(self, unit: Unit) -> Rules:
        """The settings as they are now."""
        return self._rules(unit.session)

    def prune(self, unit: Unit) -> int:
        """Delete some of what is older than the setting says; returns how many, 0 when nothing is left to delete.

        Also while nothing is kept any more, and in stores that were chosen before: one after the other, so that the
        caller's commit keeps what went in one when the next is away. Raises :class:`Unavailable`.
        """
        rules = self._rules(unit.session)
        before = self.clock.now() - timedelta(days=rules.days)
        for store in self._stores.values():
            if pruned := store.prune(unit, before, PRUNED):
                return pruned
        self._chosen(rules)
        return 0

    def erase(self, unit: Unit, actor: Actor, person_id: int | None = None, question: str | None = None) -> int:
        """Delete what is kept of a person, of a question (its very text), or of both together; returns how many.

        The person is found under the present secret and every one before it, also when the account is gone, and in
        every store, also in one that was chosen before. Raises :class:`Forbidden`, :class:`Invalid` when neither is
        given, and :class:`Unavailable` when a store is away: then asking again erases the rest.
        """
        require(actor, PERMISSION)
        text = None if question is None else clean_text(question, LONGEST)
        if person_id is None and not text:
            raise Invalid("documentation.erase_what", path="user_id")
        references = None if person_id is None else [_reference(key, person_id) for key in self._keys]
        self._chosen(self._rules(unit.session))
        erased = sum(store.erase(unit, references, text) for store in self._stores.values())
        if erased:
            self._audit.write(unit, actor, "erase_questions", "users", person_id, changes={"questions": [erased, 0]})
        return erased

    def ensure(self, unit: Unit, *, anew: bool = False) -> tuple[Made, str]:
        """Make what the chosen store keeps questions in where it is missing; ``anew`` again, without what it held.

        Returns what was done, and to what. Raises :class:`Conflict` when there is one of another form, and
        :class:`Unavailable`.
        """
        chosen = self._chosen(self._rules(unit.session))
        return chosen.ensure(unit, anew=anew), chosen.place

    def place(self, unit: Unit) -> str | None:
        """Where questions go now, as an administrator knows it; None while none are kept.

        Raises :class:`Unavailable` when the chosen store has no address.
        """
        rules = self._rules(unit.session)
        return self._chosen(rules).place if rules.enabled else None

    def _chosen(self, rules: Rules) -> QuestionStore:
        """Raises :class:`Unavailable` when the store that the setting names has no address."""
        try:
            return self._stores[rules.store]
        except KeyError:
            raise Unavailable("engine.absent") from None


def _reference(key: bytes, person_id: int) -> str:
    """HMAC-SHA256 of the id as text (`seed-facts.md` 18), in hexadecimal."""
    return hmac.digest(key, str(person_id).encode(), sha256).hex()
