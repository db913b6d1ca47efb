"""Contents of the intranet, with a title and body per locale."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Text, text
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.core.db import Base

NOW = text("clock_timestamp()")


class Content(Base):
    """One content. ``key`` is the id it had where it was imported from."""

    __tablename__ = "cms_contents"

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    key: Mapped[str | None] = mapped_column(Text, unique=True)
    category: Mapped[str] = mapped_column(Text, server_default=text("'news'"))
    author: Mapped[str] = mapped_column(Text, server_default=text("''"))
    status: Mapped[str] = mapped_column(Text, server_default=text("'draft'"))
    valid_from: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
    valid_to: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
    revision: Mapped[int] = mapped_column(BigInteger, server_default=text("1"))
    created_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    updated_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    deleted_at: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
    translations: Mapped[list[ContentTranslation]] = relationship(
        lazy="selectin", cascade="all, delete-orphan", order_by="ContentTranslation.locale"
    )


class ContentTranslation(Base):
    """Title and body of a content in one locale."""

    __tablename__ = "cms_content_translations"

    content_id: Mapped[int] = mapped_column(
        BigInteger, ForeignKey("cms_contents.id", ondelete="CASCADE"), primary_key=True
    )
    locale: Mapped[str] = mapped_column(Text, primary_key=True)
    title: Mapped[str] = mapped_column(Text)
    body: Mapped[str] = mapped_column(Text)
