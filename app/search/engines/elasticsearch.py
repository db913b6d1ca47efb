"""The Elasticsearch engine: words in a field per locale, ranked there; rows and texts checked and read in PostgreSQL.

What the index says is never believed about who may see what: every hit is looked up in the search's own snapshot,
inside the same scope, so that a row that was hidden, removed or moved out of reach a moment ago is no hit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from app.core.access import policy
from app.core.elasticsearch.fields import filter_fields
from app.core.elasticsearch.filters import Compiler, Query, both, either
from app.core.elasticsearch.reading import Reader
from app.core.locale import LOCALES
from app.core.registry import Registry
from app.search.engines import elasticsearch_store as store
from app.search.engines.elasticsearch_mapping import HEADING_LIMIT, analyser
from app.search.engines.elasticsearch_query import (
    Asked,
    covered,
    demanded,
    is_complete,
    named,
    question_body,
    read_hit,
    spelt,
    statistics,
    titles_body,
    unknown_terms,
)
from app.search.engines.ports import TOTAL_LIMIT, Key, KeywordHit, KeywordLeg, Scope, SearchEngine
from app.search.engines.ranking import in_every_locale, known_idf_mass, significant, typed
from app.search.engines.schema import RowFilters
from app.search.engines.snapshot import SnapshotInPostgres
from app.search.matching import WORD_LIMIT, ParsedQuery

PAGES = 5
"""Pages of a window at most that are looked through for rows that PostgreSQL lets pass."""
DRIVER = "elasticsearch"
WORDS_AT_ONCE = 5_000
"""Below the 10,000 tokens of one `_analyze`."""


class RawTerms(dict[str, Sequence[str]]):
    """The question's terms as they were asked, by locale: this engine's form of `KeywordLeg.lexemes`."""


@dataclass(frozen=True)
class _Found:
    """The hits that PostgreSQL let pass, those of them that have all of two terms, and the first answer."""

    hits: Sequence[KeywordHit]
    complete: frozenset[Key]
    total: int
    capped: bool
    answer: Mapping[str, Any]


class ElasticsearchEngine(SnapshotInPostgres):
    """The :class:`~app.search.engines.ports.SearchEngine` on generation indexes behind aliases.

    Every question may raise :class:`app.core.errors.Unavailable`. ``postgres`` holds the words that are written with
    each row, and reads the texts of a page.
    """

    def __init__(self, reader: Reader, postgres: SearchEngine, filters: RowFilters, registry: Registry) -> None:
        super().__init__(postgres)
        self._reader = reader
        self._filters = filters
        self._registry = registry

    def keyword(
        self,
        session: Any,
        query: ParsedQuery,
        scope: Scope,
        locale: str | None,
        window: int,
        seconds: float | None = None,
    ) -> KeywordLeg:
        """See :meth:`app.search.engines.ports.SearchEngine.keyword`; ``seconds`` hold for each request."""
        self._filters.scope(scope)
        places = spelt(query)
        asked, exact = self._asked(query, scope, locale)
        if not scope:
            return KeywordLeg(hits=(), total=0, known_idf_mass=0.0)
        if not any(asked.terms.values()) and not query.identifiers:
            return self._titles(session, query, scope, asked, exact, window, seconds)
        found = self._found(session, question_body(asked, window), scope, exact, window, seconds)
        if not found.total and not query.identifiers and not in_every_locale(places):
            return self._titles(session, query, scope, asked, exact, window, seconds)
        top = max((hit.score for hit in found.hits), default=0.0)
        hits = [
            KeywordHit(hit.entity, hit.record_id, hit.locale, hit.score + top, hit.named)
            if hit.key in found.complete
            else hit
            for hit in found.hits
        ]
        counts = statistics(asked, found.answer)
        return KeywordLeg(
            hits=sorted(hits, key=lambda hit: (not hit.named, -hit.score, hit.entity, hit.record_id)),
            total=found.total,
            capped=found.capped,
            known_idf_mass=known_idf_mass(typed(asked.terms, query.typed), query.unbroken, counts),
            lexemes=RawTerms({code: list(words) for code, words in asked.terms.items()}),
            unknown=unknown_terms(query, asked.terms, counts),
            driver=DRIVER,
        )

    def matching(
        self, session: Any, words: Mapping[str, AbstractSet[str]], lexemes: Mapping[str, Sequence[str]]
    ) -> Mapping[str, AbstractSet[str]]:
        """See :meth:`app.search.engines.ports.SearchEngine.matching`."""

        def written(code: str, asked: Sequence[str]) -> list[str | None]:
            return self._tokens(session, code, asked)

        found: dict[str, AbstractSet[str]] = {}
        for code, asked in words.items():
            terms = [term for term in lexemes.get(code, ()) if not term.endswith(":*")]
            beginnings = tuple(term.removesuffix(":*") for term in lexemes.get(code, ()) if term.endswith(":*"))
            known = sorted(
                word for word in asked if word and len(word) <= WORD_LIMIT and not any(map(str.isspace, word))
            )
            wanted = {token for token in written(code, terms) if token}
            tokens = written(code, known) if wanted or beginnings else []
            found[code] = frozenset(
                word
                for word, token in zip(known, tokens, strict=False)
                if token in wanted or (beginnings and word.startswith(beginnings))
            )
        return found

    def _tokens(self, session: Any, code: str, words: Sequence[str]) -> list[str | None]:
        found: list[str | None] = []
        entity = self._registry.names()[0]  # every index has every locale's analyser
        for start in range(0, len(words), WORDS_AT_ONCE):
            found += self._reader.tokens(session, entity, analyser(code), words[start : start + WORDS_AT_ONCE])
        return found

    def _asked(self, query: ParsedQuery, scope: Scope, locale: str | None) -> tuple[Asked, bool]:
        """The question, and whether its rows are all that the scope allows (else they are more)."""
        exact = True
        rows: dict[str, Query] = {}
        terms = significant(spelt(query))
        for code in LOCALES:
            parts = []
            for name, tree in scope.items():
                entity = self._registry.get(name)
                compiler = Compiler(name, code, filter_fields(entity), policy.condition_columns(entity))
                parts.append(both([{"term": {"entity": name}}, compiler(tree)]))
                exact = exact and compiler.exact
            rows[code] = both([either(parts), demanded(code, query)])
        enough = {code: covered(code, query, terms.get(code, {})) for code in LOCALES}
        first = {code: named(code, query) for code in LOCALES}
        return Asked(terms, query.identifiers, rows, locale, enough, first), exact

    def _titles(
        self,
        session: Any,
        query: ParsedQuery,
        scope: Scope,
        asked: Asked,
        exact: bool,
        window: int,
        seconds: float | None,
    ) -> KeywordLeg:
        """A question of stop words or of nothing but marks: its whole phrase in titles, or nothing."""
        if sum(character.isalnum() for character in query.phrase) < 2:
            return KeywordLeg(hits=(), total=0, known_idf_mass=0.0, note="no_terms")
        if len(query.phrase) > HEADING_LIMIT:
            return KeywordLeg(hits=(), total=0, known_idf_mass=0.0, note="title_only")
        found = self._found(session, titles_body(asked, query.phrase, window), scope, exact, window, seconds)
        return KeywordLeg(
            hits=found.hits,
            total=found.total,
            capped=found.capped,
            known_idf_mass=1.0 if found.hits else 0.0,
            note="title_only",
        )

    def _found(
        self, session: Any, body: Mapping[str, Any], scope: Scope, exact: bool, window: int, seconds: float | None
    ) -> _Found:
        """The best ``window`` records that PostgreSQL lets pass; looks further while some were not."""
        first = answer = self._reader.search(session, scope, body, seconds)
        hits: list[KeywordHit] = []
        complete: set[Key] = set()
        dropped = 0
        for page in range(PAGES):
            raw = answer["hits"]["hits"]
            read = [read_hit(hit) for hit in raw]
            passed = store.passing(session, [hit.key for hit in read], self._filters.scope(scope))
            kept = [hit for hit in read if (*hit.key, hit.locale) in passed]
            complete |= {one.key for one, hit in zip(read, raw, strict=True) if is_complete(hit, one)}
            dropped += len(read) - len(kept)
            hits += kept
            if len(hits) >= window or len(raw) < window or page == PAGES - 1:
                break
            further = {**body, "aggs": {}, "search_after": raw[-1]["sort"]}
            answer = self._reader.search(session, scope, further, seconds)
        total = first["hits"]["total"]
        counted = total["value"] - dropped if exact else len(hits)
        return _Found(
            hits[:window],
            frozenset(complete),
            max(0, min(counted, TOTAL_LIMIT)),
            total["relation"] != "eq" or (not exact and total["value"] - dropped > len(hits)),
            first,
        )
