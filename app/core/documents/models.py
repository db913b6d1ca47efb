"""Searchable texts, index events and the cursors of those who apply them (`switch.md`, first table)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import REAL, BigInteger, Boolean, Index, Integer, LargeBinary, Text, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TIMESTAMP, TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column
from sqlalchemy.types import UserDefinedType

from app.core.db import Base


class Xid8(UserDefinedType[int]):
    """PostgreSQL's 64-bit transaction id; travels as text."""

    cache_ok = True

    def get_col_spec(self, **kw: Any) -> str:
        return "xid8"


class Impacts(UserDefinedType[str]):
    """What each word weighs in a text, a sparse vector by the word's place; a trigger makes it of the words."""

    cache_ok = True

    def get_col_spec(self, **kw: Any) -> str:
        return "sparsevec(268435456)"


class SearchDocument(Base):
    """The searchable text of one record in one locale. What stands here is what can be found.

    ``impacts`` were made for texts of ``mean_length`` words on average; None where the words are older than the column.
    """

    __tablename__ = "search_documents"
    __table_args__ = (
        Index("search_documents_words_idx", "words", postgresql_using="gin"),
        Index("search_documents_identifiers_idx", "identifiers", postgresql_using="gin"),
    )

    entity: Mapped[str] = mapped_column(Text, primary_key=True)
    record_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    locale: Mapped[str] = mapped_column(Text, primary_key=True)
    title: Mapped[str] = mapped_column(Text)
    body: Mapped[str] = mapped_column(Text)
    text_hash: Mapped[bytes] = mapped_column(LargeBinary)
    embeddable: Mapped[bool] = mapped_column(Boolean)
    cut: Mapped[bool] = mapped_column(Boolean, server_default=text("false"))
    parts: Mapped[list[list[Any]]] = mapped_column(JSONB, server_default=text("'[]'"))
    revision: Mapped[int] = mapped_column(BigInteger)
    words: Mapped[str | None] = mapped_column(TSVECTOR)
    identifiers: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=text("'{}'"))
    impacts: Mapped[str | None] = mapped_column(Impacts, deferred=True)
    mean_length: Mapped[float | None] = mapped_column(REAL, deferred=True)
    updated_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=text("clock_timestamp()"))


class IndexEvent(Base):
    """A record was written or removed. Made in the writer's transaction; never holds text."""

    __tablename__ = "index_events"
    __table_args__ = (Index("index_events_xid_id_idx", "xid", "id"),)

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    xid: Mapped[str] = mapped_column(Xid8, server_default=text("pg_current_xact_id()"))
    entity: Mapped[str] = mapped_column(Text)
    record_id: Mapped[int] = mapped_column(BigInteger)
    revision: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=text("clock_timestamp()"))


class IndexCursor(Base):
    """How far one consumer (``serving`` or ``target``) has applied events, in the order (xid, id)."""

    __tablename__ = "index_cursors"

    consumer: Mapped[str] = mapped_column(Text, primary_key=True)
    space_id: Mapped[int] = mapped_column(Integer)
    xid: Mapped[str] = mapped_column(Xid8)
    event_id: Mapped[int] = mapped_column(BigInteger)
    system_identifier: Mapped[str] = mapped_column(Text)
    lease_token: Mapped[str | None] = mapped_column(Text)
    lease_until: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
    waiting_since: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
    moved_at: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
