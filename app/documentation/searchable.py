"""What is searchable of a page: one document per locale, with the places where its passages begin."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from app.core.contracts.documents import Document
from app.core.documents.text import clean_text
from app.documentation.cutting import placed
from app.documentation.markdown import to_plain
from app.documentation.models import DocumentationPage, DocumentationText
from app.documentation.ports import PassageText
from app.documentation.splitter import Section, split_markdown


def documents(page: DocumentationPage, now: datetime) -> list[Document]:
    """One document per locale: the title, and the Markdown as plain text."""
    return [document_of(page, text) for text in page.texts]


def document_of(page: DocumentationPage, text: DocumentationText) -> Document:
    """The document of one stored text."""
    return document(page.corpus, page.id, page.revision, text.locale, text.title, *_placed(text))


def document(
    corpus: str, page_id: int, revision: int, locale: str, title: str, plain: str, passages: Sequence[PassageText]
) -> Document:
    """The document of one text."""
    parts = tuple((one.start, " / ".join(one.breadcrumb)) for one in passages)
    return Document(f"documentation.{corpus}", page_id, locale, title, plain, revision, parts)


def sections_of(text: DocumentationText) -> list[Section]:
    """The passages of a stored text; one that was stored before there were any is cut now."""
    stored = [Section(one.n, tuple(one.breadcrumb), one.body, one.page) for one in text.passages]
    return stored or split_markdown(text.body, text.title)


def plain_of(text: DocumentationText) -> str:
    """The words of a stored text without markup, as they are searched."""
    return _placed(text)[0]


def _placed(text: DocumentationText) -> tuple[str, tuple[PassageText, ...]]:
    if not text.passages:
        return clean_text(to_plain(text.body, text.title)), ()
    return placed(text.title, sections_of(text))
