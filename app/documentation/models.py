"""Pages of documentation collections. A page is one source; its texts are its locales, cut into passages."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TIMESTAMP
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.core.db import Base

NOW = text("clock_timestamp()")


def _own_collection(context: Any) -> str:
    return str(context.get_current_parameters()["corpus"])


class DocumentationPage(Base):
    """One source of one corpus (``user``, ``developer`` or ``named``), for example ``handbook/user/searching``.

    ``collection`` is the corpus itself, or the named collection, with whose name its sources begin.
    """

    __tablename__ = "documentation_pages"
    __table_args__ = (
        UniqueConstraint("corpus", "source", name="documentation_pages_corpus_source_key"),
        Index("documentation_pages_collection_idx", "collection"),
    )

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    corpus: Mapped[str] = mapped_column(Text)
    collection: Mapped[str] = mapped_column(Text, default=_own_collection)
    source: Mapped[str] = mapped_column(Text)
    revision: Mapped[int] = mapped_column(BigInteger, server_default=text("1"))
    updated_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    texts: Mapped[list[DocumentationText]] = relationship(
        lazy="selectin", cascade="all, delete-orphan", order_by="DocumentationText.locale"
    )


class DocumentationText(Base):
    """A page in one locale: its Markdown without the front matter, and the front matter as declared.

    ``splitter`` is the signature of what cut it into ``passages``, ``file`` the path that it was read from.
    """

    __tablename__ = "documentation_texts"

    page_id: Mapped[int] = mapped_column(
        BigInteger, ForeignKey("documentation_pages.id", ondelete="CASCADE"), primary_key=True
    )
    locale: Mapped[str] = mapped_column(Text, primary_key=True)
    title: Mapped[str] = mapped_column(Text)
    body: Mapped[str] = mapped_column(Text)
    front_matter: Mapped[dict[str, Any]] = mapped_column(JSONB)
    content_hash: Mapped[bytes] = mapped_column(LargeBinary)
    splitter: Mapped[str] = mapped_column(Text, default="", server_default=text("''"))
    file: Mapped[str] = mapped_column(Text, default="", server_default=text("''"))
    passages: Mapped[list[DocumentationPassage]] = relationship(
        lazy="select", cascade="all, delete-orphan", order_by="DocumentationPassage.n", passive_deletes=True
    )


class DocumentationPassage(Base):
    """Passage ``n`` (from 0) of a text: Markdown under its headings, ``[start, end)`` of the searchable plain text."""

    __tablename__ = "documentation_passages"
    __table_args__ = (
        ForeignKeyConstraint(
            ["page_id", "locale"],
            ["documentation_texts.page_id", "documentation_texts.locale"],
            ondelete="CASCADE",
            name="documentation_passages_text_fkey",
        ),
    )

    page_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    locale: Mapped[str] = mapped_column(Text, primary_key=True)
    n: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    breadcrumb: Mapped[list[str]] = mapped_column(ARRAY(Text))
    body: Mapped[str] = mapped_column(Text)
    start: Mapped[int] = mapped_column(Integer)
    end: Mapped[int] = mapped_column(Integer)
    page: Mapped[int | None] = mapped_column(Integer)


class DocumentationCollection(Base):
    """A named collection: how its files are cut, whom they are for, and the folders that were read into it."""

    __tablename__ = "documentation_collections"

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    audience: Mapped[str] = mapped_column(Text)
    splitter: Mapped[str] = mapped_column(Text)
    max_words: Mapped[int] = mapped_column(Integer)
    delimiter: Mapped[str] = mapped_column(Text, server_default=text("''"))
    locale: Mapped[str] = mapped_column(Text)
    roots: Mapped[list[dict[str, str]]] = mapped_column(JSONB, server_default=text("'[]'"))
    created_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)


class DocumentationFault(Base):
    """A file that the last run over its collection left out, and why; ``kept``: its old version stays."""

    __tablename__ = "documentation_faults"

    collection: Mapped[str] = mapped_column(Text, primary_key=True)
    file: Mapped[str] = mapped_column(Text, primary_key=True)
    locale: Mapped[str] = mapped_column(Text)
    source: Mapped[str] = mapped_column(Text)
    code: Mapped[str] = mapped_column(Text)
    values: Mapped[dict[str, Any]] = mapped_column(JSONB)
    kept: Mapped[bool] = mapped_column(Boolean)
    since: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
