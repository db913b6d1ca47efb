"""Documentation: indexing the files, and reading the pages as the actor may."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import ColumnElement

from app.core.access import policy
from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.contracts.documents import DocumentIndex
from app.core.errors import NotFound
from app.core.unit import Unit, Units
from app.documentation import store
from app.documentation.entities import BY_CORPUS
from app.documentation.indexer import Indexer, IndexReport
from app.documentation.markdown import Heading, to_html
from app.documentation.models import DocumentationPage, DocumentationText
from app.documentation.overview import Overview
from app.documentation.reader import CORPORA, Reading, read_all


@dataclass(frozen=True)
class PageLine:
    """A page in a list; ``module`` groups the list."""

    corpus: str
    source: str
    title: str
    locale: str
    module: str
    summary: str
    updated_at: datetime


@dataclass(frozen=True)
class PageView:
    """A page to read. ``html`` is sanitised; ``locale`` may differ from the actor's, ``locales`` are all it has."""

    corpus: str
    source: str
    title: str
    html: str
    headings: tuple[Heading, ...]
    file: str
    locale: str
    locales: tuple[str, ...]
    revision: int
    updated_at: datetime
    version: str
    id: int


class Documentation:
    """Called by web, api, cli and by the switch, which checks the sources before it starts."""

    def __init__(self, index: DocumentIndex, clock: Clock, root: Path) -> None:
        self.indexer = Indexer(index, clock)
        self.root = root
        self.overview = Overview(root)

    def index(
        self, units: Units, root: Path | None = None, corpora: Sequence[str] = CORPORA, full: bool = False
    ) -> IndexReport:
        """Bring the corpora to what the files say; raises as `reader.read_all`, then nothing was written."""
        return self.indexer.index_all(units, root or self.root, corpora, full)

    def validate_sources(self) -> Reading:
        """Read every file and write nothing; raises as :meth:`index`."""
        return read_all(self.root)

    def corpora(self, actor: Actor) -> list[str]:
        """The corpora that the actor may read."""
        return [corpus for corpus in CORPORA if _shows(corpus, actor)]

    def pages(self, unit: Unit, actor: Actor, corpus: str) -> list[PageLine]:
        """All pages of a corpus, titles in the actor's locale where there is one. Raises :class:`NotFound`."""
        visible = self._visible(actor, corpus)
        lines = []
        for page in store.all_pages(unit.session, corpus, visible):
            text = _text_in(page, actor.locale)
            if text is not None:
                declared = text.front_matter
                module, summary = str(declared.get("module") or ""), str(declared.get("summary") or "")
                lines.append(PageLine(corpus, page.source, text.title, text.locale, module, summary, page.updated_at))
        return lines

    def page(self, unit: Unit, actor: Actor, corpus: str, source: str, locale: str | None = None) -> PageView:
        """One page in ``locale``, else in the actor's, else in one it has. Raises :class:`NotFound`."""
        page = store.find(unit.session, corpus, source, self._visible(actor, corpus))
        text = _text_in(page, locale or actor.locale) if page else None
        if page is None or text is None:
            raise NotFound("page.not_found")
        file = f"{corpus}/{text.locale}/{source}.md"
        html, headings = to_html(_without_title(text), file)
        return PageView(
            corpus=corpus,
            source=source,
            title=text.title,
            html=html,
            headings=headings,
            file=file,
            locale=text.locale,
            locales=tuple(item.locale for item in page.texts),
            revision=page.revision,
            updated_at=page.updated_at,
            version=str(text.front_matter.get("version", "")),
            id=page.id,
        )

    def _visible(self, actor: Actor, corpus: str) -> ColumnElement[bool]:
        """The pages that the actor's rows reach. Raises :class:`NotFound` for a corpus that they may not read."""
        if corpus not in CORPORA or not _shows(corpus, actor):
            raise NotFound("page.not_found")
        return policy.visible(BY_CORPUS[corpus], actor)


def _shows(corpus: str, actor: Actor) -> bool:
    """A page is its title and text: whoever may not read both reads no page."""
    return {"title", "body"} <= policy.readable(BY_CORPUS[corpus], actor)


def _text_in(page: DocumentationPage, locale: str) -> DocumentationText | None:
    return next((text for text in page.texts if text.locale == locale), page.texts[0] if page.texts else None)


def _without_title(text: DocumentationText) -> str:
    """The Markdown without a first heading that repeats the title, which the page shows above."""
    body = text.body.lstrip()
    first, _, rest = body.partition("\n")
    return rest if first.removeprefix("# ").strip() == text.title and first.startswith("# ") else body
