"""Where passages of documentation are kept: one port, several stores.

Called by the indexer (which brings a store to what the files say), by retrieval and by evaluation. Answered by
`pgvector_store.py` (the default: pages and texts in PostgreSQL, their vectors kept by the embedding switch like those
of every other record) and by `memory_store.py` (an exact scan, for tests and for the check that both agree).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from app.core.contracts.conditions import Filter
from app.core.contracts.vectors import QueryVector
from app.documentation.audience import Reach


@dataclass(frozen=True)
class SourceKey:
    """One source: a file, by its collection (``user``, ``developer`` or a named one) and its name there."""

    collection: str
    source: str


@dataclass(frozen=True)
class PassageText:
    """Passage ``n`` (from 0) of a text: Markdown under the headings of ``breadcrumb``, outermost first.

    ``[start, end)`` are its characters in the plain text; ``page`` (from 1) is the page of the file that it stands on,
    where the file has pages.
    """

    n: int
    breadcrumb: tuple[str, ...]
    text: str
    start: int
    end: int
    page: int | None = None


@dataclass(frozen=True)
class SourceText:
    """One source in one locale, admitted and cut. ``plain`` is what is searched: the words without markup.

    ``content_hash`` (16 bytes) covers the file, ``splitter`` says what it was cut by: either differs, and it is
    another version. ``metadata`` is the front matter as the policy admitted it.
    """

    key: SourceKey
    locale: str
    file: str
    title: str
    body: str
    plain: str
    metadata: Mapping[str, Any]
    content_hash: bytes
    splitter: str
    passages: tuple[PassageText, ...]

    def wording(self, passage: PassageText) -> str:
        """What is embedded of a passage: the title and its headings as a first line, then its plain words."""
        heading = " / ".join((self.title, *passage.breadcrumb))
        return f"{heading}\n{self.plain[passage.start : passage.end]}"


@dataclass(frozen=True)
class Change:
    """What is to be stored of one source. Locales among neither ``texts`` nor ``kept`` go; ``kept`` stay as they are
    (their files can't be read now)."""

    texts: Sequence[SourceText] = ()
    kept: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Version:
    """What tells one version of a stored text from another."""

    content_hash: bytes
    splitter: str


@dataclass(frozen=True)
class NearPassage:
    """A passage near a question. ``similarity`` is the cosine in [-1, 1]; ``title`` and ``metadata`` its text's."""

    key: SourceKey
    locale: str
    title: str
    metadata: Mapping[str, Any]
    passage: PassageText
    similarity: float


class Passages(Protocol):
    """A store of passages. Every method runs in the caller's unit of work and commits nothing."""

    name: str

    def lock(self, unit: Any, collection: str) -> None:
        """Wait until no other unit writes this collection; held until the unit ends."""
        ...

    def versions(
        self, unit: Any, collection: str, sources: Sequence[str] | None = None
    ) -> Mapping[str, Mapping[str, Version]]:
        """Stored sources of the collection, all or those asked for: the version of each locale."""
        ...

    def replace(self, unit: Any, collection: str, changes: Mapping[str, Change]) -> None:
        """For each source make its change all that is stored of it, passages included.

        Each source is swapped whole: whoever reads sees the old or the new version of it.
        """
        ...

    def remove(self, unit: Any, collection: str, sources: Sequence[str]) -> None:
        """Nothing of these sources is found any more once the unit commits."""
        ...

    def nearest(
        self, unit: Any, query: QueryVector, reach: Reach, rows: Filter | None, limit: int
    ) -> list[NearPassage]:
        """The ``limit`` nearest current passages that ``reach`` and the row filter let through, best first.

        Ties by source, locale and number. Raises :class:`app.core.contracts.vectors.ServingChanged`.
        """
        ...
