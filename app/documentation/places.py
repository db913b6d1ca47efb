"""Where the files of a collection lie, and what its sources are called. Two folders never give the same source.

The handbook has the shape ``<root>/<corpus>/<locale>/…`` for the corpora ``user`` and ``developer``; its sources are
paths below the locale. Further roots of the same shape put a prefix before them. A named collection has folders of any
shape; its sources begin with its name, and with a prefix from its second folder on.
"""

from __future__ import annotations

from collections.abc import Collection as Some
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from app.core.errors import ConfigurationError
from app.core.locale import DEFAULT_LOCALE, LOCALES
from app.documentation.cutting import Driver
from app.documentation.splitter import MAX_WORDS

CORPORA = ("user", "developer")
NAMED = "named"
"""The corpus of all named collections: one kind of record, one permission."""
UPLOADS = "uploads/"
"""What sources of a collection begin with, after its name, that were sent and have no file."""


@dataclass(frozen=True)
class Folder:
    """One root of a named collection; ``pattern`` chooses files by name."""

    path: Path
    prefix: str = ""
    pattern: str = ""


@dataclass(frozen=True)
class Collection:
    """A corpus of the handbook or a named collection.

    ``audience`` ``user``: only files pass that the policy of the user corpus admits; else every file, with this
    audience where it declares none. ``locale`` is that of files that declare none and lie in no folder of one.
    """

    name: str
    audience: str = "shared"
    driver: Driver = "markdown_aware"
    max_words: int = MAX_WORDS
    delimiter: str = ""
    locale: str = DEFAULT_LOCALE
    folders: tuple[Folder, ...] = field(default=())

    @property
    def corpus(self) -> str:
        """The corpus that its pages belong to."""
        return self.name if self.name in CORPORA else NAMED

    @property
    def strict(self) -> bool:
        """Whether the policy of the user corpus decides which files it may hold."""
        return self.audience == "user"


HANDBOOK = {"user": Collection("user", "user"), "developer": Collection("developer", "shared")}


@dataclass(frozen=True)
class Place:
    """A folder to read. ``locale`` None: each file says. ``label`` stands before a file's path where it is named."""

    folder: Path
    collection: Collection
    locale: str | None
    before: str
    label: str
    pattern: str = ""

    def covers(self, source: str) -> bool:
        """Whether a stored source came from a place like this one (a prefix marks those of further roots)."""
        if not source.startswith(self.before):
            return False
        if self.folder.is_file():
            return source == self.source(self.folder)
        return not self.pattern or fnmatch(source.rpartition("/")[2], self.pattern)

    def wants(self, path: Path) -> bool:
        return not self.pattern or fnmatch(path.name, self.pattern)

    def source(self, path: Path) -> str:
        """The name of a file's source: its path with forward slashes; Markdown of the handbook without its ending."""
        inside = path.relative_to(self.folder).as_posix() if path != self.folder else path.name
        if self.collection.corpus != NAMED:
            inside = inside.removesuffix(".md")
        return self.before + inside

    def file(self, path: Path) -> str:
        inside = path.relative_to(self.folder).as_posix() if path != self.folder else path.name
        return f"{self.label}/{inside}" if self.label else inside

    def locale_of(self, path: Path, declared: object) -> str:
        """The locale of a file: that of its folder, the declared one, or the collection's."""
        if self.locale is not None:
            return self.locale
        first = path.relative_to(self.folder).parts[0] if path != self.folder else ""
        return next((code for code in (first, declared) if code in LOCALES), self.collection.locale)


def handbook_places(root: Path, further: Sequence[Path] = ()) -> list[Place]:
    """The folders of the handbook and of further roots of its shape.

    Raises :class:`ConfigurationError` where a root holds no corpus at all: a volume that is not mounted must not look
    like pages that were removed.
    """
    places = _of_root(root, "", "CHANGEOVER_DOCS_ROOT")
    taken = {path.name for one in places if one.folder.is_dir() for path in one.folder.iterdir()}
    for path in further:
        prefix = prefix_for(path, taken)
        taken.add(prefix)
        places += _of_root(path, f"{prefix}/", "CHANGEOVER_DOCS_EXTRA_ROOTS")
    return places


def _of_root(root: Path, before: str, variable: str) -> list[Place]:
    if not any((root / corpus).is_dir() for corpus in CORPORA):
        raise ConfigurationError([f"{variable}: there is no user or developer folder in {root}"])
    return [
        Place(root / corpus / locale, HANDBOOK[corpus], locale, before, f"{before}{corpus}/{locale}")
        for corpus in CORPORA
        for locale in LOCALES
    ]


def collection_places(collection: Collection) -> list[Place]:
    """The folders of a named collection."""
    return [
        Place(one.path, collection, None, f"{collection.name}/{one.prefix}", f"{collection.name}/{one.prefix}"[:-1],
              one.pattern)
        for one in collection.folders
    ]  # fmt: skip


def prefix_for(path: Path, taken: Some[str]) -> str:
    """A name for a further root: that of its folder, numbered when another has it."""
    name = path.resolve().name or "root"
    found, number = name, 2
    while found in taken:
        found, number = f"{name}-{number}", number + 1
    return found
