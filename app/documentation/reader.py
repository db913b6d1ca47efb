"""Reads the files of the documentation corpora: ``<root>/<corpus>/<locale>/**/*.md``. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from app.core.errors import ChangeoverError, ConfigurationError, Invalid
from app.core.locale import LOCALES
from app.documentation.audience import admit_developer, admit_user, check_audience
from app.documentation.front_matter import Declared, split
from app.documentation.markdown import first_heading

CORPORA = ("user", "developer")
LONGEST = 2 * 1024 * 1024
"""Bytes of one file."""
EDITION = b"2"
"""Part of every content hash: raise it when what is made of a file changes, so that all pages are made again."""


@dataclass(frozen=True)
class SourceText:
    """One admitted file. ``source`` is its path below the locale's folder, without ``.md``."""

    corpus: str
    locale: str
    source: str
    title: str
    body: str
    declared: Declared
    content_hash: bytes


@dataclass(frozen=True)
class Fault:
    """A file that was left out, relative to the root, and why.

    ``kept``: it can't be read at all, so what was stored of it stays; else the policy refuses it, and it goes.
    """

    file: str
    error: ChangeoverError
    kept: bool = False


@dataclass
class Reading:
    """Everything that the files say."""

    texts: list[SourceText] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    kept: set[tuple[str, str, str]] = field(default_factory=set)
    """(corpus, source, locale) of the files that can't be read."""


def read_all(root: Path) -> Reading:
    """Read every file. Raises :class:`Invalid` (``documentation.unknown_audience``) before anything is believed, and
    :class:`ConfigurationError` when the folder holds no corpus at all: a volume that is not mounted must not look
    like pages that were removed."""
    if not any((root / corpus).is_dir() for corpus in CORPORA):
        raise ConfigurationError([f"CHANGEOVER_DOCS_ROOT: there is no user or developer folder in {root}"])
    reading = Reading()
    for corpus in CORPORA:
        for locale in LOCALES:
            folder = root / corpus / locale
            for path in _files(folder):
                _read_into(reading, root, corpus, locale, path, path.relative_to(folder))
    return reading


def _files(folder: Path) -> Iterator[Path]:
    inside = folder.resolve()
    for path in sorted(folder.rglob("*.md")):
        if path.is_file() and path.resolve().is_relative_to(inside):
            yield path


def _read_into(reading: Reading, root: Path, corpus: str, locale: str, path: Path, inside: Path) -> None:
    file = path.relative_to(root).as_posix()
    source = inside.as_posix().removesuffix(".md")
    try:
        data = _bytes(path)
        declared, body = split(_decoded(data))
    except Invalid as error:
        reading.faults.append(Fault(file, error, kept=True))
        reading.kept.add((corpus, source, locale))
        return
    check_audience(file, declared)
    try:
        reading.texts.append(_admitted(corpus, locale, source, declared, body, data))
    except Invalid as error:
        kept = error.code == "documentation.no_title"
        reading.faults.append(Fault(file, error, kept))
        reading.kept |= {(corpus, source, locale)} if kept else set()


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid("documentation.not_utf8") from None


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            data = stream.read(LONGEST + 1)
    except OSError:
        raise Invalid("documentation.unreadable") from None
    if len(data) > LONGEST:
        raise Invalid("documentation.too_long", limit=LONGEST)
    if b"\x00" in data:
        raise Invalid("documentation.control_characters")
    return data


def _admitted(corpus: str, locale: str, source: str, declared: Declared, body: str, data: bytes) -> SourceText:
    metadata = admit_user(declared, locale) if corpus == "user" else admit_developer(declared, locale, source)
    stated = metadata.get("title")
    title = stated.strip() if isinstance(stated, str) and stated.strip() else first_heading(body)
    if not title:
        raise Invalid("documentation.no_title")
    content_hash = blake2b(EDITION + data, digest_size=16).digest()
    return SourceText(corpus, locale, source, title, body, metadata, content_hash)
