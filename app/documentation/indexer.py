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
from app.documentation.reader import CORPORA, Fault, Reading, SourceText, read_all

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

    def index_all(self, units: Units, root: Path, corpora: Sequence[str] = CORPORA, full: bool = False) -> IndexReport:
        """All files are read before anything is written; raises as `reader.read_all`. Safe to run twice at once.

        ``full`` makes unchanged pages anew. A file that can't be read leaves what is stored of it.
        """
        reading = read_all(root)
        report = IndexReport(faults=tuple(reading.faults))
        for corpus in corpora:
            wanted: dict[str, dict[str, SourceText]] = defaultdict(dict)
            for text in reading.texts:
                if text.corpus == corpus:
                    wanted[text.source][text.locale] = text
            change = _Change(reading, corpus, full, report)
            sources = sorted(wanted)
            for start in range(0, len(sources), BATCH):
                part = {source: wanted[source] for source in sources[start : start + BATCH]}
                with units() as unit:
                    self._write(unit, change, part)
            with units() as unit:
                self._remove(unit, change, set(wanted))
        return report

    def _write(self, unit: Unit, change: _Change, wanted: Mapping[str, Mapping[str, SourceText]]) -> None:
        report = change.report
        store.one_indexer(unit.session, change.corpus)
        present = store.pages_of(unit.session, change.corpus, list(wanted))
        changed: list[DocumentationPage] = []
        for source, texts in wanted.items():
            page = present.get(source)
            if page is None:
                page = DocumentationPage(corpus=change.corpus, source=source, revision=0)
                unit.session.add(page)
                report.created += 1
            elif not change.full and change.hashes(page) == {
                locale: text.content_hash for locale, text in texts.items()
            }:
                report.unchanged += 1
                continue
            else:
                report.updated += 1
            self._apply(page, texts, change.kept_locales(source))
            changed.append(page)
        unit.session.flush()
        now = self.clock.now()
        documents_of = {page.id: documents(page, now) for page in changed}
        self.index.put_many(unit, f"documentation.{change.corpus}", documents_of)

    def _apply(self, page: DocumentationPage, texts: Mapping[str, SourceText], kept: set[str]) -> None:
        stored = {text.locale: text for text in page.texts}
        for locale in stored.keys() - texts.keys() - kept:
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

    def _remove(self, unit: Unit, change: _Change, wanted: set[str]) -> None:
        """Pages without a file go; of a page whose files can't be read, the locales without a file."""
        store.one_indexer(unit.session, change.corpus)
        gone = sorted(store.sources_of(unit.session, change.corpus) - wanted)
        name = f"documentation.{change.corpus}"
        for source, page in store.pages_of(unit.session, change.corpus, gone).items():
            kept = change.kept_locales(source)
            stored = {text.locale for text in page.texts}
            if not stored & kept:
                self.index.remove(unit, name, page.id)
                unit.session.delete(page)
                change.report.removed += 1
            elif stored - kept:
                self._apply(page, {}, kept)
                unit.session.flush()
                self.index.put(unit, name, page.id, documents(page, self.clock.now()))
                change.report.updated += 1
            else:
                change.report.unchanged += 1


@dataclass(frozen=True)
class _Change:
    """What one run does to one corpus."""

    reading: Reading
    corpus: str
    full: bool
    report: IndexReport

    def kept_locales(self, source: str) -> set[str]:
        """The locales of a source whose files can't be read."""
        return {locale for corpus, name, locale in self.reading.kept if (corpus, name) == (self.corpus, source)}

    def hashes(self, page: DocumentationPage) -> dict[str, bytes]:
        """The content hashes stored of the files that can be read, or are gone."""
        kept = self.kept_locales(page.source)
        return {text.locale: text.content_hash for text in page.texts if text.locale not in kept}
