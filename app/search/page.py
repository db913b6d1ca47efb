"""From ranked keys to the hits of one page: texts, titles, snippets. Everything is checked against the scope again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from app.core.contracts.vectors import PassageHit
from app.core.documents.text import document_text
from app.core.registry import Registry
from app.search.answer import SearchHit
from app.search.engines.ports import FoundDocument, Key, KeywordLeg, Scope, SearchEngine
from app.search.fusion import Fused
from app.search.matching import ParsedQuery
from app.search.snippets import LENGTH, folded, likely_words, marked_pieces, snippet
from app.search.store import Facts, Records


@dataclass(frozen=True)
class Found:
    """What both legs found, as far as a page needs it. ``readable`` are the fields of each entity that may be told."""

    query: ParsedQuery
    scope: Scope
    words: KeywordLeg
    passages: Mapping[Key, PassageHit]
    readable: Mapping[str, AbstractSet[str]]


@dataclass(frozen=True)
class _Shown:
    fused: Fused
    document: FoundDocument
    passage: PassageHit | None
    facts: Facts


class Pages:
    """Builds the hits of a page in the search's own snapshot."""

    def __init__(self, engine: SearchEngine, registry: Registry, records: Records) -> None:
        self._engine = engine
        self._registry = registry
        self._records = records

    def hits(
        self, session: Any, ranked: Sequence[Fused], found: Found, locale: str | None, scores: bool
    ) -> tuple[SearchHit, ...]:
        """The hits in their order; a record that is not (or no longer) in scope is left out."""
        shown = self._shown(session, ranked, found, locale)
        marked = self._marked(session, [one.document for one in shown], found)
        return tuple(self._hit(one, marked.get(one.document.locale, frozenset()), found, scores) for one in shown)

    def _shown(self, session: Any, ranked: Sequence[Fused], found: Found, locale: str | None) -> list[_Shown]:
        documents: dict[Key, dict[str, FoundDocument]] = {}
        if ranked:
            for document in self._engine.documents(session, [one.key for one in ranked], found.scope):
                documents.setdefault((document.entity, document.record_id), {})[document.locale] = document
        known = self._facts(session, list(documents), found)
        words = {hit.key: hit.locale for hit in found.words.hits}
        return [
            _Shown(one, texts[code], _usable(found.passages.get(one.key), code), known.get(one.key, Facts()))
            for one in ranked
            if (texts := documents.get(one.key)) and _may_show(one.key, known, found.scope)
            for code in [_locale(one, texts, locale, words, found.passages)]
        ]

    def _facts(self, session: Any, keys: Sequence[Key], found: Found) -> dict[Key, Facts]:
        known: dict[Key, Facts] = {}
        for name in dict.fromkeys(entity for entity, _ in keys):
            ids = [record for entity, record in keys if entity == name]
            tree, readable = found.scope.get(name), found.readable.get(name, frozenset())
            rows = self._records.facts(session, self._registry.get(name), ids, tree, readable)
            known.update({(name, record): row for record, row in rows.items()})
        return known

    def _marked(self, session: Any, documents: Sequence[FoundDocument], found: Found) -> Mapping[str, AbstractSet[str]]:
        """By locale, the words of the shown texts that count as words of the question."""
        lexemes = found.words.lexemes or {}
        if not any(lexemes.values()):
            return {}
        terms = [term.text for term in found.query.terms] + [word for words in lexemes.values() for word in words]
        beginnings = {folded(term)[:3] for term in terms}
        asked: dict[str, set[str]] = {}
        for document in documents:
            text = document_text(document.title, document.body)
            asked.setdefault(document.locale, set()).update(likely_words(text, beginnings))
        return self._engine.matching(session, asked, lexemes)

    def _hit(self, one: _Shown, marked: AbstractSet[str], found: Found, scores: bool) -> SearchHit:
        document, passage = one.document, one.passage
        key, title = self._named(document)
        names = found.query.identifiers
        text = document_text(document.title, document.body)
        start = len(text) - len(document.body) if document.body else len(text)
        region = _region(passage, start) if passage else None
        best = found.passages.get(one.fused.key)
        return SearchHit(
            entity=document.entity,
            id=document.record_id,
            key=key,
            title=title,
            marked_title=marked_pieces(title, marked, names),
            locale=document.locale,
            snippet=snippet(text, marked, names, region or (start, len(text))),
            score=one.fused.score,
            words_rank=one.fused.words_rank,
            vector_rank=one.fused.vector_rank,
            similarity=round(best.similarity, 4) if best and scores else None,
            source=one.facts.source,
            status=one.facts.status,
            updated_at=one.facts.updated_at,
        )

    def _named(self, document: FoundDocument) -> tuple[str | None, str]:
        """How people name the record, and the title without it: an entity with references puts them in front."""
        prefix = self._registry.get(document.entity).reference_prefix
        first, _, rest = document.title.partition(" ")
        if prefix and first.startswith(prefix):
            return first, rest or first
        return None, document.title


def _may_show(key: Key, known: Mapping[Key, Facts], scope: Scope) -> bool:
    """The record passes its row filter now, whatever an engine believed, and is not deleted."""
    row = known.get(key)
    return scope.get(key[0]) is None if row is None else not row.deleted


def _region(passage: PassageHit, body: int) -> tuple[int, int] | None:
    """The offsets of a passage inside the body, at least as long as a snippet; None for one of the title alone."""
    start = max(passage.start, body)
    return (start, max(passage.end, start + LENGTH)) if passage.end > body else None


def _usable(passage: PassageHit | None, locale: str) -> PassageHit | None:
    """A passage lends its place only while its text stands, and only to a text of its own language."""
    return passage if passage and passage.current and passage.locale == locale else None


def _locale(
    one: Fused,
    texts: Mapping[str, FoundDocument],
    wished: str | None,
    words: Mapping[Key, str],
    passages: Mapping[Key, PassageHit],
) -> str:
    """The wished locale, else that of the leg that ranks the record higher, else the first it has."""
    if wished in texts:
        return str(wished)
    best, by_vector = words.get(one.key), passages.get(one.key)
    if by_vector and (one.words_rank is None or (one.vector_rank or 0) < one.words_rank):
        best = by_vector.locale
    return best if best is not None and best in texts else min(texts)
