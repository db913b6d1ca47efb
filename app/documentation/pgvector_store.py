"""The passages in PostgreSQL: pages and texts here, their words and vectors kept like those of every other record.

A page, its texts, its passages and its searchable documents change in one transaction. Vectors follow: a passage whose
text has changed since it was embedded is not found by its old vector, and the embedding switch carries them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import true

from app.core.clock import Clock
from app.core.contracts.checkpoints import Checkpoint, no_checkpoint
from app.core.contracts.conditions import Condition, Filter, Group
from app.core.contracts.documents import Document, DocumentIndex
from app.core.contracts.passages import PassageSearch
from app.core.contracts.vectors import PassageHit, QueryVector
from app.core.documents.text import clean_text, document_text
from app.core.errors import Unavailable
from app.core.unit import Unit
from app.documentation import store
from app.documentation.audience import Reach, permits
from app.documentation.models import DocumentationPage, DocumentationPassage, DocumentationText
from app.documentation.places import CORPORA, NAMED
from app.documentation.ports import Change, NearPassage, PassageText, SourceKey, SourceText, Version
from app.documentation.searchable import document, document_of

WINDOWS = (1, 8, 64)
"""So many times the limit is asked for when the policy left too few; then everything."""
ALL = 1_000_000

Found = dict[tuple[int, str], tuple[DocumentationPage, DocumentationText]]


class PgvectorPassages:
    """The :class:`~app.documentation.ports.Passages` of the product."""

    name = "pgvector"

    def __init__(
        self,
        index: DocumentIndex,
        clock: Clock,
        vectors: PassageSearch | None = None,
        checkpoint: Checkpoint = no_checkpoint,
    ) -> None:
        self._index = index
        self._clock = clock
        self._vectors = vectors
        self._checkpoint = checkpoint

    def lock(self, unit: Unit, collection: str) -> None:
        store.one_indexer(unit.session, collection)

    def versions(
        self, unit: Unit, collection: str, sources: Sequence[str] | None = None
    ) -> Mapping[str, Mapping[str, Version]]:
        found: dict[str, dict[str, Version]] = {}
        for source, locale, digest, splitter in store.versions(unit.session, collection, sources):
            found.setdefault(source, {})[locale] = Version(digest, splitter)
        return found

    def replace(self, unit: Unit, collection: str, changes: Mapping[str, Change]) -> None:
        corpus = corpus_of(collection)
        present = store.pages_of(unit.session, corpus, list(changes))
        pages: dict[str, DocumentationPage] = {}
        for source, wanted in changes.items():
            page = present.get(source)
            if page is None:
                page = DocumentationPage(corpus=corpus, collection=collection, source=source, revision=0)
                unit.session.add(page)
            self._apply(page, wanted)
            pages[source] = page
        unit.session.flush()
        self._checkpoint("docs.pages_written")
        written = [(page, text) for source, page in pages.items() for text in changes[source].texts]
        rows = [row for page, text in written for row in _rows(page.id, text)]
        store.replace_passages(unit.session, [(page.id, text.locale) for page, text in written], rows)
        self._checkpoint("docs.passages_written")
        items = {page.id: _documents(page, changes[source]) for source, page in pages.items()}
        self._index.put_many(unit, f"documentation.{corpus}", items)

    def _apply(self, page: DocumentationPage, change: Change) -> None:
        stored = {text.locale: text for text in page.texts}
        for locale in stored.keys() - {text.locale for text in change.texts} - change.kept:
            page.texts.remove(stored[locale])
        for text in change.texts:
            row = stored.get(text.locale)
            if row is None:
                row = DocumentationText(locale=text.locale)
                page.texts.append(row)
            row.title, row.body, row.file = text.title, text.body, text.file
            row.front_matter, row.content_hash = dict(text.metadata), text.content_hash
            row.splitter = text.splitter
        page.revision += 1
        page.updated_at = self._clock.now()

    def remove(self, unit: Unit, collection: str, sources: Sequence[str]) -> None:
        corpus = corpus_of(collection)
        for page in store.pages_of(unit.session, corpus, sources).values():
            self._index.remove(unit, f"documentation.{corpus}", page.id)
            unit.session.delete(page)
        unit.session.flush()

    def nearest(
        self, unit: Unit, query: QueryVector, reach: Reach, rows: Filter | None, limit: int
    ) -> list[NearPassage]:
        """See the port. Raises :class:`Unavailable` where there are no vectors, those of two models, or a text that
        breaks the policy."""
        if self._vectors is None:
            raise Unavailable("vectors.none_serving")
        corpus = corpus_of(reach.corpus)
        refuse_mixture(self._vectors, unit, [f"documentation.{corpus}"])
        scope = {f"documentation.{corpus}": of_collection(reach.corpus, rows)}
        found: list[NearPassage] = []
        for window in (*(limit * times for times in WINDOWS), ALL):
            hits = self._vectors.passages(unit.session, query, scope, reach.locale_only, window)
            found = self._near(unit, reach, hits)
            if len(found) >= limit or len(hits) < window:
                break
        return sorted(found, key=_order)[:limit]

    def _near(self, unit: Unit, reach: Reach, hits: Sequence[PassageHit]) -> list[NearPassage]:
        """The passages behind the hits that the policy lets through, each once."""
        current = [hit for hit in hits if hit.current]
        texts = self._texts(unit, reach, sorted({hit.record_id for hit in current}))
        passages = store.passages_of(unit.session, list(texts))
        near: dict[tuple[int, str, int], NearPassage] = {}
        for hit in current:
            key = (hit.record_id, hit.locale)
            if key in texts and key in passages:
                page, text = texts[key]
                one = _passage_at(passages[key], hit.start - _before(text))
                source = SourceKey(page.collection, page.source)
                near.setdefault((*key, one.n), NearPassage(source, text.locale, text.title, text.front_matter, one,
                                                           hit.similarity))  # fmt: skip
        return list(near.values())

    def _texts(self, unit: Unit, reach: Reach, ids: Sequence[int]) -> Found:
        found: Found = {}
        for page, text in store.texts_within(unit.session, reach, true(), ids):
            if not permits(text.front_matter, reach):
                raise Unavailable("documentation.unavailable")
            found[page.id, text.locale] = (page, text)
        return found


def refuse_mixture(vectors: PassageSearch, unit: Unit, entities: Sequence[str]) -> None:
    """Raises :class:`Unavailable` (``documentation.mixed_models``), naming both models: cosines of two models are
    numbers without a meaning."""
    mixed = vectors.mixture(unit.session, entities)
    if mixed is not None:
        raise Unavailable("documentation.mixed_models", serving=mixed.serving, other=mixed.other)


def corpus_of(collection: str) -> str:
    """The corpus, and so the kind of record, that a collection's pages are of."""
    return collection if collection in CORPORA else NAMED


def of_collection(collection: str, rows: Filter | None) -> Filter | None:
    """The row filter, and of the records of all named collections only this one's."""
    if collection in CORPORA:
        return rows
    own = Condition("collection", "=", collection)
    return own if rows is None else Group("and", (own, rows))


def _order(one: NearPassage) -> tuple[float, str, str, int]:
    return -one.similarity, one.key.source, one.locale, one.passage.n


def _before(text: DocumentationText) -> int:
    """How many characters of what is embedded stand before the body."""
    title = clean_text(text.title, 1000)
    return len(document_text(title, "x")) - 1 if title else 0


def _passage_at(passages: Sequence[DocumentationPassage], start: int) -> PassageText:
    """The last passage that begins at or before ``start``: the embedder may have cut it further."""
    row = next((one for one in reversed(passages) if one.start <= start), passages[0])
    return PassageText(row.n, tuple(row.breadcrumb), row.body, row.start, row.end, row.page)


def _rows(page_id: int, text: SourceText) -> list[dict[str, Any]]:
    return [
        {
            "page_id": page_id,
            "locale": text.locale,
            "n": one.n,
            "breadcrumb": list(one.breadcrumb),
            "body": one.text,
            "start": one.start,
            "end": one.end,
            "page": one.page,
        }
        for one in text.passages
    ]


def _documents(page: DocumentationPage, change: Change) -> list[Document]:
    return [
        document(page.corpus, page.id, page.revision, text.locale, text.title, text.plain, text.passages)
        for text in change.texts
    ] + [document_of(page, text) for text in page.texts if text.locale in change.kept]
