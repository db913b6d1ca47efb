"""What of the handbook is indexed, for administrators: each file beside what is stored of it, and its passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from app.core.access import policy
from app.core.contracts.actor import Actor
from app.core.errors import ChangeoverError, Forbidden, NotFound
from app.core.unit import Unit
from app.documentation import store
from app.documentation.entities import BY_CORPUS
from app.documentation.markdown import to_html
from app.documentation.models import DocumentationText
from app.documentation.reader import Reading, read_all
from app.documentation.splitter import Section, split_markdown

State = Literal["current", "stale", "missing", "gone", "failed"]


@dataclass(frozen=True)
class SourceLine:
    """One file or stored text. ``stale``: the file has changed since it was indexed; ``missing``: not indexed yet;
    ``gone``: stored, but without a file; ``failed``: the file is left out because of ``error``."""

    corpus: str
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
    error: ChangeoverError | None = None


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

    def __init__(self, root: Path) -> None:
        self.root = root

    def sources(self, unit: Unit, actor: Actor) -> list[SourceLine]:
        """Every file and every stored text, by corpus, source and locale. Raises :class:`Forbidden`, and what
        `reader.read_all` raises."""
        _permit(actor)
        reading = read_all(self.root)
        lines = [*self._stored(unit, reading), *_unstored(unit, reading)]
        return sorted(lines, key=lambda line: (line.corpus, line.source, line.locale, line.file))

    def passages(self, unit: Unit, actor: Actor, corpus: str, source: str, locale: str) -> Passages:
        """The passages of one stored text. Raises :class:`Forbidden` and :class:`NotFound`."""
        _permit(actor)
        if corpus not in BY_CORPUS:
            raise NotFound("page.not_found")
        page = store.find(unit.session, corpus, source, policy.visible(BY_CORPUS[corpus], actor))
        text = next((one for one in page.texts if one.locale == locale), None) if page else None
        if page is None or text is None:
            raise NotFound("page.not_found")
        return Passages(_line(corpus, source, text, "current", page.updated_at), split_markdown(text.body, text.title))

    def _stored(self, unit: Unit, reading: Reading) -> list[SourceLine]:
        hashes = {(one.corpus, one.source, one.locale): one.content_hash for one in reading.texts}
        failed = {fault.file: fault.error for fault in reading.faults}
        lines = []
        for corpus, source, updated_at, text in store.every_text(unit.session):
            key = (corpus, source, text.locale)
            error = failed.get(f"{corpus}/{text.locale}/{source}.md")
            state: State = "gone"
            if error is not None:
                state = "failed"
            elif key in hashes:
                state = "current" if hashes[key] == text.content_hash else "stale"
            lines.append(_line(corpus, source, text, state, updated_at, error))
        return lines


def _unstored(unit: Unit, reading: Reading) -> list[SourceLine]:
    """Files of which nothing is stored: new ones, and those that were left out."""
    stored = {(corpus, source, text.locale) for corpus, source, _, text in store.every_text(unit.session)}
    lines = [
        SourceLine(one.corpus, one.locale, one.source, _file(one.corpus, one.locale, one.source), "missing", one.title)
        for one in reading.texts
        if (one.corpus, one.source, one.locale) not in stored
    ]
    for fault in reading.faults:
        corpus, locale, source = fault.file.removesuffix(".md").split("/", 2)
        if (corpus, source, locale) not in stored:
            lines.append(SourceLine(corpus, locale, source, fault.file, "failed", error=fault.error))
    return lines


def _line(
    corpus: str,
    source: str,
    text: DocumentationText,
    state: State,
    indexed_at: datetime,
    error: ChangeoverError | None = None,
) -> SourceLine:
    declared = text.front_matter
    tenant = declared.get("tenant_id") if declared.get("tenant_scope") == "tenant" else None
    return SourceLine(
        corpus=corpus,
        locale=text.locale,
        source=source,
        file=_file(corpus, text.locale, source),
        state=state,
        title=text.title,
        audience=str(declared.get("audience") or ""),
        module=str(declared.get("module") or ""),
        tenant=str(tenant or ""),
        permissions=tuple(str(one) for one in declared.get("required_permissions") or ()),
        passages=len(split_markdown(text.body, text.title)),
        indexed_at=indexed_at,
        error=error,
    )


def _file(corpus: str, locale: str, source: str) -> str:
    return f"{corpus}/{locale}/{source}.md"


def _permit(actor: Actor) -> None:
    if not actor.may("*"):
        raise Forbidden("access.forbidden", permission="*")
