"""From a question to one order of records: settings, models, both legs, fusion, a second look, and another one.

Models are asked with no transaction open; both legs, the page and its texts come from one REPEATABLE READ snapshot. A
model's reranking, or a retry, lets the snapshot go meanwhile: then the page is read from a new one, and every hit is
checked there again. When the serving model changed in between, all is asked once more from the top (`switch.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from app.core.clock import Clock
from app.core.contracts.planning import Plan
from app.core.contracts.strategy import SearchStrategy, SearchStrategyResolver
from app.core.contracts.vectors import Guard, PassageHit, ServingChanged
from app.core.unit import Units
from app.search.engines.ports import KeywordHit, SearchEngine
from app.search.explain import Ran
from app.search.fusion import Scored, extras, fuse
from app.search.legs import Legs, Question, QuestionVector, VectorLeg
from app.search.matching import ParsedQuery
from app.search.options import Options
from app.search.plan import capable
from app.search.profile import Tuning
from app.search.quality import TOP, judged, unmeasured
from app.search.reranking import second_look, texts
from app.search.retries import better, differently, worth_another
from app.search.understanding import understood
from app.search.words import WINDOW, WordLeg
from app.search.work import Defaults, Run, Work, changed, ruled

Shown = TypeVar("Shown")


@dataclass(frozen=True)
class Outcome:
    """What a search found in the end, and how often it looked again."""

    work: Work
    run: Run
    ran: Ran
    retries: int = 0


Show = Callable[[Any, Outcome], Shown]
"""Makes of an outcome what was asked for, in a session of one snapshot."""


@dataclass(frozen=True)
class _Shown(Generic[Shown]):
    """What was asked for, made of the search in its own snapshot."""

    value: Shown


@dataclass(frozen=True)
class _Unfinished:
    """A search that goes on with no transaction open: a model reads the texts of its best hits, or it looks again."""

    work: Work
    run: Run
    ran: Ran
    read: Sequence[str]


class Finder:
    """Carries searches out."""

    def __init__(
        self, units: Units, engine: SearchEngine, resolver: SearchStrategyResolver, clock: Clock, defaults: Defaults
    ) -> None:
        self._units = units
        self._engine = engine
        self._resolver = resolver
        self._clock = clock
        self._defaults = defaults
        self._legs = Legs(units, clock)
        self._words = WordLeg(engine)
        self._tuning = Tuning()

    def find(self, work: Work, show: Show[Shown]) -> Shown:
        """What ``show`` makes of the search."""
        work, found = self._at_once(work, show)
        if found is not None:
            return self._finished(found, show)
        for _ in range(2):
            try:
                return self._once(work, show)
            except ServingChanged:
                work = self._guarded(work)
        return self._once(changed(work), show)

    def _at_once(self, work: Work, show: Show[Shown]) -> tuple[Work, _Shown[Shown] | _Unfinished | None]:
        """The search with its settings and the guard's word, and all of it where no model must be asked first.

        By words alone, or with a question whose vector is known, it is one transaction from the settings to the page.
        """
        try:
            with self._units("REPEATABLE READ") as unit:
                options = self._defaults.options(unit.session)
                vectors, guard = work.strategy.vectors, Guard()
                if vectors is not None and options.orchestration:
                    guard = vectors.guard(unit.session, export=not work.may_be_deep)
                if not work.may_be_deep:
                    work = self._ruled(work, options, guard)
                    question = self._known(work, guard)
                    return work, None if question is None else self._found(unit.session, work, question, show)
        except ServingChanged:
            return self._guarded(work), None
        work = self._ruled(work, options, guard)
        return replace(work, run=understood(work, work.decided, self._clock, self._tuning)), None

    def _ruled(self, work: Work, options: Options, guard: Guard) -> Work:
        work = replace(work, strategy=self._allowed(work, options.orchestration, options.deep_per_minute))
        return replace(work, run=ruled(work, options, self._clock, self._tuning, guard))

    def _allowed(self, work: Work, orchestration: bool, limit: int) -> SearchStrategy:
        """What this search may use; a deep one over the person's limit is answered fast and not refused."""
        request, strategy = work.request, work.strategy
        more = request.mode != "basic" and request.cost != "fast"
        if more and not orchestration and strategy.degraded_reason != "mode_unavailable":
            fast = self._resolver.resolve(request.mode, "fast")
            return replace(fast, degraded_reason="search_orchestration_disabled")
        if work.may_be_deep and not self._defaults.deep_allowed(work.actor, limit):
            return replace(self._resolver.resolve(request.mode, "fast"), degraded_reason="rate_limited")
        return strategy

    def _guarded(self, work: Work) -> Work:
        """The same search under the model that serves now."""
        vectors, run = work.strategy.vectors, work.decided
        if vectors is None:
            return work
        with self._units() as unit:
            guard = vectors.guard(unit.session)
        return replace(work, run=replace(run, guard=guard, plan=capable(run.plan, guard.reason is None)))

    def _once(self, work: Work, show: Show[Shown]) -> Shown:
        question = self._question(work)
        with self._units("REPEATABLE READ") as unit:
            found = self._found(unit.session, work, question, show)
        return self._finished(found, show)

    def _found(self, session: Any, work: Work, question: Question, show: Show[Shown]) -> _Shown[Shown] | _Unfinished:
        """What one snapshot has, shown where nothing else has to be asked."""
        run = work.decided
        ran = self._ran(session, work, run, question)
        model_reads = _model_reads(work, run.plan)
        if not model_reads and not worth_another(work, run, ran, 0):
            return _Shown(show(session, Outcome(work, run, ran)))
        return _Unfinished(work, run, ran, texts(self._engine, session, ran) if model_reads else ())

    def _finished(self, found: _Shown[Shown] | _Unfinished, show: Show[Shown]) -> Shown:
        """Call it with no transaction open."""
        if isinstance(found, _Shown):
            return found.value
        work, run = found.work, found.run
        outcome = self._again(Outcome(work, run, self._reread(work, run, found.ran, found.read)))
        with self._units("REPEATABLE READ") as unit:
            return show(unit.session, outcome)

    def _again(self, outcome: Outcome) -> Outcome:
        """The better of a poor result and of what looking again brings, as often as that may be."""
        while worth_another(outcome.work, outcome.run, outcome.ran, outcome.retries):
            run = differently(outcome.work, outcome.run, outcome.ran)
            if run is None:
                break
            try:
                found = self._retried(outcome.work, run)
            except ServingChanged:
                break
            outcome = replace(outcome, run=run, retries=outcome.retries + 1)
            if better(found, outcome.ran):
                outcome = replace(outcome, ran=found)
        return outcome

    def _retried(self, work: Work, run: Run) -> Ran:
        question = self._question(replace(work, run=run))
        model_reads = _model_reads(work, run.plan)
        with self._units("REPEATABLE READ") as unit:
            ran = self._ran(unit.session, work, run, question)
            read = texts(self._engine, unit.session, ran) if model_reads else ()
        return self._reread(work, run, ran, read)

    def _reread(self, work: Work, run: Run, ran: Ran, read: Sequence[str]) -> Ran:
        """The best hits as a model orders them, where there is one. Call it with no transaction open."""
        if not read:
            return ran
        with work.watch.stage("ensemble"):
            return self._judged(second_look(work, run, ran, read))

    def _question(self, work: Work) -> Question:
        """The question's vector. Call it with no transaction open."""
        known = self._known(work)
        if known is not None:
            return known
        vectors, run = work.strategy.vectors, work.decided
        assert vectors is not None
        with work.watch.stage("vector"):
            return self._legs.question(vectors, run.wording, run.budget, run.guard)

    def _known(self, work: Work, seen: Guard | None = None) -> Question | None:
        """The question's vector, or that there is none to be had; None while a model must be asked for it.

        ``seen``: what the guard saw in the snapshot of this search.
        """
        vectors, run = work.strategy.vectors, work.decided
        if vectors is None:
            return Question()
        if run.disabled:
            return Question(disabled=run.disabled, degraded="vectors_unavailable")
        if not run.plan.wants_vectors or not run.wording:
            return Question()
        with work.watch.stage("vector"):
            query = vectors.known_vector(run.wording, run.guard)
        return None if query is None else Question(QuestionVector(vectors, query, run.budget, seen))

    def _ran(self, session: Any, work: Work, run: Run, question: Question) -> Ran:
        """Both legs, fused, and the best of them ordered by the heuristic where a plan asks for it."""
        scope, locale, plan = work.reach.scope, work.request.locale, run.plan
        with work.watch.stage("ensemble"):
            found = self._legs.start(session, question, scope, locale, WINDOW)
            words = self._words.ask(session, run.query, scope, locale, run.options.synonyms, run.budget)
            leg = self._demanded(session, words.query, found())
            work.notes.add(leg.degraded)
            work.notes.add(words.leg.degraded)
            if words.uncorrected:
                work.notes.leave_out("corrections")
            weight = _weight(plan.words_weight, plan.vector_weight, words.leg.known_idf_mass)
            alone = plan.shape == "vector" and bool(leg.passages)
            hits = [hit for hit in words.leg.hits if hit.named] if alone else words.leg.hits
            fused = fuse(_scored_words(hits), _scored_passages(leg.passages), weight, extras(plan))
            model = question.vector.query.model if question.vector and leg.ran else None
            ran = Ran(words.query, scope, locale, words.leg, leg, fused, weight, plan, words.corrections, model)
            model_reads = _model_reads(work, plan)
            if plan.rerank and not model_reads:
                ran = second_look(work, run, ran, texts(self._engine, session, ran, whole=True))
            ran = self._covered(session, ran, max(TOP, plan.rerank_top_k) if model_reads else TOP)
        return self._judged(ran)

    def _covered(self, session: Any, ran: Ran, most: int) -> Ran:
        """With how much of the question the best have, as many as may become the best of all."""
        hits = unmeasured(ran, most)
        if not hits:
            return ran
        shares = self._engine.coverage(session, ran.query, ran.scope, hits)
        return replace(ran, covered={hit.key: share for hit, share in zip(hits, shares, strict=True)})

    def _judged(self, ran: Ran) -> Ran:
        calibration = self._defaults.calibration(ran.model) if ran.model else None
        return replace(ran, quality=judged(ran, calibration))

    def _demanded(self, session: Any, query: ParsedQuery, leg: VectorLeg) -> VectorLeg:
        """What the question demands by name holds for what its meaning finds, too."""
        if not query.demands or not leg.passages:
            return leg
        kept = self._engine.satisfying(session, query, [(hit.entity, hit.record_id) for hit in leg.passages])
        return replace(leg, passages=tuple(hit for hit in leg.passages if (hit.entity, hit.record_id) in kept))


def _model_reads(work: Work, plan: Plan) -> bool:
    """Whether a model ranks a second time, for which no transaction may be open; else the heuristic does, or nobody."""
    return plan.rerank and work.strategy.reranker is not None


def _weight(words: float, vector: float, known: float) -> float:
    """The words' share: their weight times what the index knows of the question; all of it without the other weight."""
    return words * known if vector > 0 else 1.0


def _scored_words(hits: Sequence[KeywordHit]) -> list[Scored]:
    return [(hit[:2], hit.score, hit.named) for hit in hits]


def _scored_passages(passages: Sequence[PassageHit]) -> list[Scored]:
    return [(hit[:2], hit.similarity, False) for hit in passages]
