"""Passages of the documentation for a question: two legs, one order, and the policy of documents around it.

The legs search inside the caller's row rules. What no row filter can say (audience, tenant, permissions, module) is a
condition of the statement that reads the texts; when it leaves less than was asked for, the legs are asked for more
until they have none (`search-measured.md` 9, "refills at hydration"). Then every text is held against the policy once
more in plain Python: one that fails makes the whole retrieval unavailable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from app.core.access import policy
from app.core.contracts.actor import Actor
from app.core.contracts.conditions import Filter
from app.core.contracts.passages import PassageSearch
from app.core.contracts.vectors import PassageHit, QueryVector, ServingChanged, VectorSearch
from app.core.contracts.words import WordSearch
from app.core.documents.text import clean_text, document_text
from app.core.errors import Forbidden, Invalid, Unavailable
from app.core.locale import LOCALES
from app.core.quality import quality
from app.core.unit import Units
from app.documentation import store
from app.documentation.audience import Reach, permits, reach_of
from app.documentation.entities import BY_CORPUS, entity_of
from app.documentation.fusion import Found, fused
from app.documentation.models import DocumentationPage, DocumentationText
from app.documentation.pgvector_store import of_collection, refuse_mixture
from app.documentation.retrieved import Evidence, Retrieved
from app.documentation.searchable import plain_of, sections_of
from app.documentation.splitter import Section

WINDOWS = (40, 200, 1000, 5000)
"""Records of each leg; the next one is asked when the policy left too few of the one before."""
MOST, USUAL = 10, 5
THRESHOLD = 0.3
"""Below this quality the documentation has no answer (`search-measured.md` 6; measured: `evaluations/README.md`)."""
QUESTION_LIMIT = 2_000
EMBED_SECONDS = 1.2

log = structlog.get_logger(__name__)

Text = tuple[DocumentationPage, DocumentationText]


@dataclass(frozen=True)
class Asked:
    """A question to one corpus. ``top_k`` is clamped to 1 … 10, None is the usual; ``locale`` None is the actor's."""

    question: str
    corpus: str = "user"
    locale: str | None = None
    top_k: int | None = None
    module: str | None = None
    by_words: bool = False


@dataclass(frozen=True)
class Limits:
    """``min_similarity`` drops passages whose cosine is below it (off: None); ``most`` is the usual ``top_k``;
    ``calibration`` is noise and span of the serving model, None where nobody measured them: words alone judge then."""

    most: int = USUAL
    min_similarity: float | None = None
    threshold: float = THRESHOLD
    calibration: tuple[float, float] | None = None


@dataclass(frozen=True)
class _Meaning:
    search: VectorSearch | None = None
    query: QueryVector | None = None
    degraded: str | None = None


@dataclass(frozen=True)
class _Chosen:
    """A page's best passage. ``coverage`` is that of the question's idf."""

    text: Text
    section: Section
    coverage: float
    found: Found


class Retrieval:
    """The public entry. Opens its own units, since a model is asked in between."""

    def __init__(
        self,
        units: Units,
        words: WordSearch,
        vectors: VectorSearch | None,
        limits: Callable[[Any], Limits] = lambda session: Limits(),
        passages: PassageSearch | None = None,
    ) -> None:
        """``limits`` are read in the retrieval's own session, since they depend on the serving model. ``passages``
        says whether two models have embedded a corpus: such a one is refused."""
        self._units = units
        self._words = words
        self._vectors = vectors
        self._limits = limits
        self._passages = passages

    def retrieve(self, actor: Actor, asked: Asked) -> Retrieved:
        """The best passages that the actor may see, at most one of a page.

        Raises :class:`Invalid` for a blank or too long question, an unknown corpus or locale; :class:`Forbidden` for a
        corpus that the actor may not read; :class:`Unavailable` when a text violates the policy after the filter, or
        when two models have embedded the corpus (``documentation.mixed_models`` names them). A model that is away is
        no error: words answer, and ``degraded`` says so.
        """
        question = _question(asked.question)
        reach = self._reach(actor, asked)
        meaning = self._meaning(question, asked.by_words)
        for _ in range(2):
            try:
                return self._answer(actor, question, reach, asked.top_k, meaning)
            except ServingChanged:
                meaning = self._meaning(question, asked.by_words)
        return self._answer(actor, question, reach, asked.top_k, _Meaning(degraded="serving_changed"))

    def _reach(self, actor: Actor, asked: Asked) -> Reach:
        """What of which collection is asked. Who may not read named collections isn't told which there are."""
        locale = asked.locale or actor.locale
        if locale not in LOCALES:
            raise Invalid("input.choice", path="locale", value=locale[:60], allowed=", ".join(LOCALES))
        entity = entity_of(asked.corpus)
        may = {"title", "body"} <= policy.readable(entity, actor)
        if asked.corpus in BY_CORPUS:
            if not may:
                raise Forbidden("access.forbidden", permission=entity.permission("select"))
            return reach_of(actor, asked.corpus, locale, asked.module)
        with self._units() as unit:
            found = store.named_collection(unit.session, asked.corpus) if may else None
        if found is None:
            raise Invalid("input.choice", path="corpus", value=asked.corpus[:60], allowed=", ".join(BY_CORPUS))
        return replace(reach_of(actor, asked.corpus, locale, asked.module), audience=found.audience)

    def _meaning(self, question: str, by_words: bool) -> _Meaning:
        """The question's vector, made with no transaction open."""
        if self._vectors is None or by_words:
            return _Meaning(degraded="mode_unavailable")
        with self._units() as unit:
            reason = self._vectors.guard(unit.session).reason
        if reason:
            return _Meaning(degraded=reason)
        try:
            return _Meaning(self._vectors, self._vectors.query_vector(question, EMBED_SECONDS))
        except Unavailable as error:
            log.warning("documentation_embedder_away", error=type(error).__name__, code=error.code)
            return _Meaning(degraded="embedder_unavailable")

    def _answer(self, actor: Actor, question: str, reach: Reach, wished: int | None, meaning: _Meaning) -> Retrieved:
        entity = entity_of(reach.corpus)
        scope = {entity.name: of_collection(reach.corpus, actor.rows_for(entity.permission("select")))}
        with self._units("REPEATABLE READ") as unit:
            session = unit.session
            if self._passages is not None:
                refuse_mixture(self._passages, unit, [entity.name])
            limits = self._limits(session)
            most = min(max(limits.most if wished is None else wished, 1), MOST)
            chosen: list[_Chosen] = []
            for window in WINDOWS:
                found, exhausted = self._legs(session, question, scope, reach, meaning, window)
                if limits.min_similarity is not None and meaning.query is not None:
                    found = [one for one in found if (one.similarity or -1.0) >= limits.min_similarity]
                texts = self._texts(session, actor, reach, found)
                if len(texts) >= most or exhausted:
                    chosen = self._chosen(session, question, reach, found, texts, most)
                    break
        best = max((one.coverage for one in chosen), default=0.0)
        cosine = max((one.found.similarity for one in chosen if one.found.similarity is not None), default=None)
        grade = round(quality(best, cosine, *(limits.calibration or (0.0, 0.0))), 4) if chosen else 0.0
        evidence = tuple(_evidence(number, one, actor) for number, one in enumerate(chosen, start=1))
        strategies = ("keyword", "vector") if meaning.query else ("keyword",)
        return Retrieved(evidence, grade, bool(chosen) and grade >= limits.threshold, strategies, meaning.degraded)

    def _legs(
        self,
        session: Any,
        question: str,
        scope: Mapping[str, Filter | None],
        reach: Reach,
        meaning: _Meaning,
        window: int,
    ) -> tuple[list[Found], bool]:
        """The fused order, and whether neither leg has more than this."""
        words = self._words.matches(session, question, scope, reach.locale_only, window)
        passages: Sequence[PassageHit] = ()
        if meaning.search is not None and meaning.query is not None:
            passages = meaning.search.nearest(session, meaning.query, scope, reach.locale_only, window)
        exhausted = len(words.hits) < window and len(passages) < window
        return fused(words, passages), exhausted or window == WINDOWS[-1]

    def _texts(self, session: Any, actor: Actor, reach: Reach, found: Sequence[Found]) -> dict[int, Text]:
        """One text for each page that passes, in the caller's locale where the corpus leaves a choice."""
        visible = policy.visible(entity_of(reach.corpus), actor)
        texts: dict[int, Text] = {}
        for page, text in store.texts_within(session, reach, visible, [one.record_id for one in found]):
            if not permits(text.front_matter, reach):
                log.error("documentation_policy_violated", page=page.id, locale=text.locale)
                raise Unavailable("documentation.unavailable")
            if page.id not in texts or text.locale == reach.locale:
                texts[page.id] = (page, text)
        return texts

    def _chosen(
        self,
        session: Any,
        question: str,
        reach: Reach,
        found: Sequence[Found],
        texts: Mapping[int, Text],
        most: int,
    ) -> list[_Chosen]:
        """The best passage of each of the best pages."""
        kept = [(one, texts[one.record_id]) for one in found if one.record_id in texts][:most]
        sections = [sections_of(text) or [Section(0, (), text.title)] for _, (_, text) in kept]
        shares = self._shares(session, question, reach, [text for _, (_, text) in kept], sections)
        chosen = []
        for (one, (page, text)), parts, held in zip(kept, sections, shares, strict=True):
            near = _nearness(parts, text, one.passage)
            best = max(range(len(parts)), key=lambda n: (held[n] + near[n], -n))
            chosen.append(_Chosen((page, text), parts[best], held[best], one))
        return chosen

    def _shares(
        self,
        session: Any,
        question: str,
        reach: Reach,
        texts: Sequence[DocumentationText],
        sections: Sequence[Sequence[Section]],
    ) -> list[Sequence[float]]:
        """The coverage of every passage of every page, asked once per locale."""
        wordings = [
            (text.locale, n, " ".join((text.title, *section.breadcrumb, section.text)))
            for n, (text, parts) in enumerate(zip(texts, sections, strict=True))
            for section in parts
        ]
        shares: list[list[float]] = [[] for _ in texts]
        for locale in sorted({text.locale for text in texts}):
            mine = [(n, wording) for code, n, wording in wordings if code == locale]
            held = self._words.coverage(
                session, question, [entity_of(reach.corpus).name], locale, [wording for _, wording in mine]
            )
            for (n, _), share in zip(mine, held, strict=True):
                shares[n].append(share)
        return list(shares)


def _question(text: str) -> str:
    question = clean_text(text, QUESTION_LIMIT + 1)
    if not question:
        raise Invalid("input.required", path="question")
    if len(question) > QUESTION_LIMIT:
        raise Invalid("input.too_long", path="question", limit=QUESTION_LIMIT)
    return question


def _nearness(sections: Sequence[Section], text: DocumentationText, hit: PassageHit | None) -> list[float]:
    """For each passage, half the share of its words that stand in what the vectors found of this very text."""
    if hit is None or hit.locale != text.locale or not hit.current:
        return [0.0] * len(sections)
    plain = document_text(clean_text(text.title, 1000), plain_of(text))
    words = set(plain[hit.start : hit.end].lower().split())
    return [0.5 * _share(set(section.text.lower().split()), words) for section in sections]


def _share(own: set[str], words: set[str]) -> float:
    return len(own & words) / len(own) if own else 0.0


def _place(section: Section) -> tuple[str, ...]:
    """The headings over a passage, and its page where the file has pages."""
    return section.breadcrumb if section.page is None else (*section.breadcrumb, f"p. {section.page}")


def _evidence(number: int, chosen: _Chosen, actor: Actor) -> Evidence:
    page, text = chosen.text
    declared = text.front_matter
    label = str(declared.get("safe_source_label") or text.title)
    evidence = Evidence(
        number=number,
        corpus=page.corpus,
        source=page.source,
        title=text.title,
        label=label,
        breadcrumb=_place(chosen.section),
        text=chosen.section.text,
        locale=text.locale,
        audience=str(declared.get("audience") or ""),
        module=str(declared.get("module") or ""),
        version=str(declared.get("version") or ""),
        file=f"{page.corpus}/{text.locale}/{page.source}.md",
    )
    if not actor.may("*"):
        return evidence
    return replace(evidence, score=chosen.found.score, similarity=chosen.found.similarity)
