"""What of the documentation is indexed, for administrators: each file beside what is stored of it, and its passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, Protocol

from app.core.access import policy
from app.core.contracts.actor import Actor
from app.core.errors import ChangeoverError, Forbidden, Invalid, NotFound
from app.core.unit import Unit
from app.documentation import collections, store
from app.documentation.entities import entity_of
from app.documentation.indexer import Indexer
from app.documentation.markdown import to_html
from app.documentation.models import DocumentationFault
from app.documentation.places import CORPORA, HANDBOOK, Collection, Place, collection_places
from app.documentation.reader import Admitted, Reading, read
from app.documentation.searchable import sections_of
from app.documentation.splitter import Section

State = Literal["current", "stale", "missing", "gone", "failed"]

OF_A_RUN = frozenset(
    f"documentation.{code}" for code in ("too_much_text", "not_extracted", "extraction_killed", "no_text")
)
"""Faults that only a run finds: looking at a file neither extracts nor cuts it."""
READ_LIVE = 2_000
"""A named collection of more texts is told from what is stored, without a look at its files."""


class Files(Protocol):
    """The service, as far as it is asked here."""

    indexer: Indexer

    def places(self) -> list[Place]: ...


@dataclass(frozen=True)
class CollectionLine:
    """A corpus or a named collection, and how much of it is stored. ``folders`` are those of a named one."""

    name: str
    audience: str
    splitter: str
    max_words: int
    sources: int
    texts: int
    passages: int
    failed: int
    folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class SourceLine:
    """One file or stored text. ``stale``: the file, or how it is cut, has changed since it was indexed; ``missing``:
    not indexed yet; ``gone``: stored, but without a file; ``failed``: the file is left out because of ``error``."""

    collection: str
    locale: str
    source: str
    file: str
    state: State
    title: str = ""
    audience: str = ""
    module: str = ""
    tenant: str = ""
    permissions: tuple[str, ...] = ()
    passages: int = 0
    indexed_at: datetime | None = None
    failed_since: datetime | None = None
    error: ChangeoverError | None = None


@dataclass(frozen=True)
class Sources:
    """The files of one collection. ``blocked`` says why nothing can be indexed now; then states are those of the last
    run. ``live``: the files were looked at just now."""

    lines: Sequence[SourceLine]
    live: bool
    blocked: ChangeoverError | None = None


@dataclass(frozen=True)
class Passages:
    """A stored text and what it was cut into."""

    line: SourceLine
    sections: Sequence[Section]

    def html(self, section: Section) -> str:
        """A passage for a page, sanitised."""
        return to_html(section.text, self.line.file)[0]


class Overview:
    """For those who may do everything: it tells of every page, whoever may read it."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def collections(self, unit: Unit, actor: Actor) -> list[CollectionLine]:
        """The corpora, then the named collections. Raises :class:`Forbidden`."""
        _permit(actor)
        counts = store.counts(unit.session)
        failed: dict[str, int] = {}
        for fault in store.faults(unit.session):
            failed[fault.collection] = failed.get(fault.collection, 0) + 1
        every = [*(HANDBOOK[name] for name in CORPORA), *collections.named(unit)]
        return [
            CollectionLine(
                one.name, one.audience, one.driver, one.max_words, *counts.get(one.name, (0, 0, 0)),
                failed.get(one.name, 0), tuple(str(folder.path) for folder in one.folders),
            )
            for one in every
        ]  # fmt: skip

    def sources(self, unit: Unit, actor: Actor, name: str) -> Sources:
        """Every file and every stored text of a collection, by source and locale.

        Raises :class:`Forbidden`, :class:`NotFound`, and :class:`ConfigurationError` where the handbook is not there.
        """
        _permit(actor)
        collection = collections.find(unit, name)
        stored = store.text_lines(unit.session, name)
        noted = {(one.source, one.locale): one for one in store.faults(unit.session, name)}
        signature = self._files.indexer.splitter(unit, collection).signature
        reading: Reading | None = None
        blocked: ChangeoverError | None = None
        if name in HANDBOOK or len(stored) <= READ_LIVE:
            try:
                reading = read(self._places(collection), lambda *file: True)
            except Invalid as error:
                blocked = error
        lines = _lines(stored, noted, reading, signature)
        lines.sort(key=lambda line: (line.source, line.locale, line.file))
        return Sources(lines, reading is not None, blocked)

    def passages(self, unit: Unit, actor: Actor, name: str, source: str, locale: str) -> Passages:
        """The passages of one stored text. Raises :class:`Forbidden` and :class:`NotFound`."""
        _permit(actor)
        collection = collections.find(unit, name)
        page = store.find(unit.session, collection.corpus, source, policy.visible(entity_of(name), actor))
        text = next((one for one in page.texts if one.locale == locale), None) if page else None
        if page is None or text is None or page.collection != name:
            raise NotFound("page.not_found")
        sections = sections_of(text)
        told = store.TextLine(
            name, source, locale, text.title, text.front_matter, text.content_hash, text.splitter, text.file,
            page.updated_at, len(sections),
        )  # fmt: skip
        return Passages(_line(told, "current"), sections)

    def _places(self, collection: Collection) -> list[Place]:
        if collection.name not in HANDBOOK:
            return collection_places(collection)
        return [place for place in self._files.places() if place.collection.name == collection.name]


Noted = Mapping[tuple[str, str], DocumentationFault]


def _lines(stored: Sequence[store.TextLine], noted: Noted, reading: Reading | None, signature: str) -> list[SourceLine]:
    """Stored texts with their state, and what is not stored."""
    files = {(one.source, one.locale): one for one in reading.texts} if reading else {}
    faults = {(one.source, one.locale): one.error for one in reading.faults} if reading else {}
    errors: dict[tuple[str, str], ChangeoverError] = dict(faults)
    for key, fault in noted.items():
        if key not in errors and (reading is None or fault.code in OF_A_RUN):
            errors[key] = Invalid(fault.code, **fault.values)
    lines = [_stored(one, files.get((one.source, one.locale)), errors, reading is not None, signature)
             for one in stored]  # fmt: skip
    known = {(one.source, one.locale) for one in stored}
    named = {(one.source, one.locale): one.file for one in reading.faults} if reading else {}
    for key, error in errors.items():
        if key not in known:
            file = named.get(key) or noted[key].file
            lines.append(SourceLine(_collection(reading, noted, key), key[1], key[0], file, "failed", error=error))
    for key, one in files.items():
        if key not in known and key not in errors:
            lines.append(SourceLine(one.collection, one.locale, one.source, one.file, "missing", one.title))
    return [_since(line, noted) for line in lines]


def _stored(
    text: store.TextLine,
    file: Admitted | None,
    errors: Mapping[tuple[str, str], ChangeoverError],
    live: bool,
    signature: str,
) -> SourceLine:
    error = errors.get((text.source, text.locale)) or errors.get((text.source, ""))
    if error is not None:
        return _line(text, "failed", error)
    if not live:
        return _line(text, "current" if text.splitter == signature else "stale")
    if file is None:
        return _line(text, "gone")
    same = file.content_hash == text.content_hash and text.splitter == signature
    return _line(text, "current" if same else "stale")


def _collection(reading: Reading | None, noted: Noted, key: tuple[str, str]) -> str:
    faults = reading.faults if reading else ()
    return next((one.collection for one in faults if (one.source, one.locale) == key), "") or noted[key].collection


def _since(line: SourceLine, noted: Noted) -> SourceLine:
    fault = noted.get((line.source, line.locale)) or noted.get((line.source, ""))
    return line if fault is None or line.state != "failed" else replace(line, failed_since=fault.since)


def _line(text: store.TextLine, state: State, error: ChangeoverError | None = None) -> SourceLine:
    declared = text.front_matter
    tenant = declared.get("tenant_id") if declared.get("tenant_scope") == "tenant" else None
    return SourceLine(
        collection=text.collection,
        locale=text.locale,
        source=text.source,
        file=text.file or f"{text.collection}/{text.locale}/{text.source}.md",
        state=state,
        title=text.title,
        audience=str(declared.get("audience") or ""),
        module=str(declared.get("module") or ""),
        tenant=str(tenant or ""),
        permissions=tuple(str(one) for one in declared.get("required_permissions") or ()),
        passages=text.passages,
        indexed_at=text.updated_at,
        error=error,
    )


def _permit(actor: Actor) -> None:
    if not actor.may("*"):
        raise Forbidden("access.forbidden", permission="*")
