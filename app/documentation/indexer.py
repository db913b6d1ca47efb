"""Brings the stored pages to what the files say: new, changed and removed ones, each with its searchable documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from app.core.clock import Clock
from app.core.contracts.documents import Document, DocumentIndex
from app.core.unit import Unit, Units
from app.documentation import store
from app.documentation.markdown import to_plain
from app.documentation.models import DocumentationPage, DocumentationText
from app.documentation.reader import CORPORA, Fault, SourceText, read_all

BATCH = 100
"""Sources of one unit."""


@dataclass
class IndexReport:
    """Pages by what happened to them, and the files that were left out."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    faults: Sequence[Fault] = ()


def documents(page: DocumentationPage, now: datetime) -> list[Document]:
    """One document per locale: the title, and the Markdown as plain text."""
    entity = f"documentation.{page.corpus}"
    return [
        Document(entity, page.id, text.locale, text.title, to_plain(text.body, text.title), page.revision)
        for text in page.texts
    ]


class Indexer:
    """Opens its own units: a corpus may be larger than one transaction should be."""

    def __init__(self, index: DocumentIndex, clock: Clock) -> None:
        self.index = index
        self.clock = clock

    def index_all(self, units: Units, root: Path) -> IndexReport:
        """All files are read before anything is written; raises as `reader.read_all`. Safe to run twice at once."""
        reading = read_all(root)
        report = IndexReport(faults=tuple(reading.faults))
        for corpus in CORPORA:
            wanted: dict[str, dict[str, SourceText]] = defaultdict(dict)
            for text in reading.texts:
                if text.corpus == corpus:
                    wanted[text.source][text.locale] = text
            sources = sorted(wanted)
            for start in range(0, len(sources), BATCH):
                part = {source: wanted[source] for source in sources[start : start + BATCH]}
                with units() as unit:
                    self._write(unit, corpus, part, report)
            with units() as unit:
                self._remove(unit, corpus, set(wanted), report)
        return report

    def _write(
        self, unit: Unit, corpus: str, wanted: Mapping[str, Mapping[str, SourceText]], report: IndexReport
    ) -> None:
        store.one_indexer(unit.session, corpus)
        present = store.pages_of(unit.session, corpus, list(wanted))
        changed: list[DocumentationPage] = []
        for source, texts in wanted.items():
            page = present.get(source)
            if page is None:
                page = DocumentationPage(corpus=corpus, source=source, revision=0)
                unit.session.add(page)
                report.created += 1
            elif {text.locale: text.content_hash for text in page.texts} == {
                locale: text.content_hash for locale, text in texts.items()
            }:
                report.unchanged += 1
                continue
            else:
                report.updated += 1
            self._apply(page, texts)
            changed.append(page)
        unit.session.flush()
        now = self.clock.now()
        self.index.put_many(unit, f"documentation.{corpus}", {page.id: documents(page, now) for page in changed})

    def _apply(self, page: DocumentationPage, texts: Mapping[str, SourceText]) -> None:
        stored = {text.locale: text for text in page.texts}
        for locale in stored.keys() - texts.keys():
            page.texts.remove(stored[locale])
        for locale, text in texts.items():
            row = stored.get(locale)
            if row is None:
                row = DocumentationText(locale=locale)
                page.texts.append(row)
            row.title, row.body = text.title, text.body
            row.front_matter, row.content_hash = dict(text.declared), text.content_hash
        page.revision += 1
        page.updated_at = self.clock.now()

    def _remove(self, unit: Unit, corpus: str, wanted: set[str], report: IndexReport) -> None:
        store.one_indexer(unit.session, corpus)
        gone = sorted(store.sources_of(unit.session, corpus) - wanted)
        for page in store.pages_of(unit.session, corpus, gone).values():
            self.index.remove(unit, f"documentation.{corpus}", page.id)
            unit.session.delete(page)
            report.removed += 1
