"""Documentation: indexing the files, and reading the pages as the actor may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement

from app.core.access import policy
from app.core.contracts.actor import Actor
from app.core.errors import NotFound
from app.core.unit import Unit, Units
from app.documentation import collections, store
from app.documentation.entities import entity_of
from app.documentation.index_store import IndexPart, ensure_indexes
from app.documentation.indexer import Indexer, IndexReport
from app.documentation.markdown import Heading, to_html
from app.documentation.models import DocumentationPage, DocumentationText
from app.documentation.overview import Overview
from app.documentation.places import CORPORA, NAMED, Collection, Place, collection_places, handbook_places


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

    def __init__(self, indexer: Indexer, root: Path, further: Sequence[Path] = ()) -> None:
        """``further`` are more roots of the handbook's shape."""
        self.indexer = indexer
        self.root = root
        self.further = tuple(further)
        self.overview = Overview(self)

    def index(
        self, units: Units, root: Path | None = None, corpora: Sequence[str] = CORPORA, full: bool = False
    ) -> IndexReport:
        """Bring the corpora to what the files say; raises as `reader.read_all`, then nothing was written.

        ``root`` stands in place of the handbook; pages of further roots are left alone then.
        """
        if root is None:
            places, spared = self.places(), tuple[str, ...]()
        else:
            places = handbook_places(root)
            spared = tuple(one.before for one in self.places() if one.before) if self.further else ()
        return self.indexer.run(units, places, full, spared, corpora)

    def index_collection(self, units: Units, name: str, full: bool = False) -> IndexReport:
        """Bring a named collection to what the files in all of its folders say. Raises :class:`NotFound`."""
        with units() as unit:
            found = collections.find(unit, collections.check_name(name))
        return self.indexer.run(units, collection_places(found), full)

    def save_collection(self, unit: Unit, name: str, wished: Mapping[str, Any]) -> Collection:
        """Make a named collection, or change the one of this name in what is ``wished`` (fields of `Collection`).

        Raises :class:`Invalid` for what no collection can be.
        """
        known = {one.name: one for one in collections.named(unit)}
        changed = dict(wished)
        if changed.get("driver", "delimiter") != "delimiter":
            changed["delimiter"] = ""
        return collections.save(unit, replace(known.get(name) or Collection(name), **changed))

    def places(self) -> list[Place]:
        """The folders of the handbook and of further roots. Raises :class:`ConfigurationError`."""
        return handbook_places(self.root, self.further)

    def ensure_index(self, unit: Unit) -> list[IndexPart]:
        """What passages are kept in, table by table; missing indexes are made. Safe to repeat."""
        return ensure_indexes(unit.session)

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
        place = f"{corpus}/{text.locale}/{source}.md"
        html, headings = to_html(_without_title(text), place)
        return PageView(
            corpus=corpus,
            source=source,
            title=text.title,
            html=html,
            headings=headings,
            file=text.file or place,
            locale=text.locale,
            locales=tuple(item.locale for item in page.texts),
            revision=page.revision,
            updated_at=page.updated_at,
            version=str(text.front_matter.get("version", "")),
            id=page.id,
        )

    def _visible(self, actor: Actor, corpus: str) -> ColumnElement[bool]:
        """The pages that the actor's rows reach. Raises :class:`NotFound` for a corpus that they may not read."""
        if corpus not in (*CORPORA, NAMED) or not _shows(corpus, actor):
            raise NotFound("page.not_found")
        return policy.visible(entity_of(corpus), actor)


def _shows(corpus: str, actor: Actor) -> bool:
    """A page is its title and text: whoever may not read both reads no page."""
    return {"title", "body"} <= policy.readable(entity_of(corpus), actor)


def _text_in(page: DocumentationPage, locale: str) -> DocumentationText | None:
    return next((text for text in page.texts if text.locale == locale), page.texts[0] if page.texts else None)


def _without_title(text: DocumentationText) -> str:
    """The Markdown without a first heading that repeats the title, which the page shows above."""
    body = text.body.lstrip()
    first, _, rest = body.partition("\n")
    return rest if first.removeprefix("# ").strip() == text.title and first.startswith("# ") else body
