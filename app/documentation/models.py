"""Pages of documentation corpora. A page is one source; its texts are its locales."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, LargeBinary, Text, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.core.db import Base

NOW = text("clock_timestamp()")


class DocumentationPage(Base):
    """One source of one corpus (``user`` or ``developer``), for example ``handbook/user/searching``."""

    __tablename__ = "documentation_pages"
    __table_args__ = (UniqueConstraint("corpus", "source", name="documentation_pages_corpus_source_key"),)

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    corpus: Mapped[str] = mapped_column(Text)
    source: Mapped[str] = mapped_column(Text)
    revision: Mapped[int] = mapped_column(BigInteger, server_default=text("1"))
    updated_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    texts: Mapped[list[DocumentationText]] = relationship(
        lazy="selectin", cascade="all, delete-orphan", order_by="DocumentationText.locale"
    )


class DocumentationText(Base):
    """A page in one locale: its Markdown without the front matter, and the front matter as declared."""

    __tablename__ = "documentation_texts"

    page_id: Mapped[int] = mapped_column(
        BigInteger, ForeignKey("documentation_pages.id", ondelete="CASCADE"), primary_key=True
    )
    locale: Mapped[str] = mapped_column(Text, primary_key=True)
    title: Mapped[str] = mapped_column(Text)
    body: Mapped[str] = mapped_column(Text)
    front_matter: Mapped[dict[str, Any]] = mapped_column(JSONB)
    content_hash: Mapped[bytes] = mapped_column(LargeBinary)
