"""Reads the files of documentation collections and admits them by the policy. Writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import yaml

from app.core.errors import ChangeoverError, Invalid
from app.documentation.audience import admit_developer, admit_user, check_audience
from app.documentation.cutting import Piece
from app.documentation.extracting import SUFFIXES, extracted
from app.documentation.extractors import escaped
from app.documentation.front_matter import Declared, checked, split
from app.documentation.markdown import first_heading
from app.documentation.places import CORPORA, UPLOADS, Collection, Place, handbook_places
from app.documentation.splitter import open_fence
from app.documentation.walking import Entry, walk

__all__ = ["CORPORA", "Admitted", "Fault", "Reading", "read", "read_all"]

LONGEST = 2 * 1024 * 1024
"""Bytes of one file of text."""
LONGEST_EXTRACTED = 50 * 1024 * 1024
"""Bytes of one file that is extracted."""
TEXT = ".txt"
BESIDE = ".yaml"
"""Front matter of a file that can't hold any stands beside it: ``manual.pdf.yaml``."""
EDITION = b"3"
"""Part of every content hash: raise it when what is made of a file changes, so that all pages are made again."""
WHO = frozenset({"audience", "policy_classification", "policy_classification_version", "tenant_scope",
                 "required_permissions"})  # fmt: skip
"""Fields that say who may read a page: refused for one of them, its old version is not shown any more either."""
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f"))

Known = Callable[[str, str, str, bytes], bool]
"""Whether (collection, source, locale, content hash) is what the store holds already: it is not extracted again."""


def nothing_known(collection: str, source: str, locale: str, content_hash: bytes) -> bool:
    return False


@dataclass(frozen=True)
class Admitted:
    """One admitted file. ``pieces`` None: it was known, so nobody looked inside."""

    collection: str
    locale: str
    source: str
    file: str
    title: str
    pieces: tuple[Piece, ...] | None
    declared: Declared
    content_hash: bytes

    @property
    def body(self) -> str:
        return "\n\n".join(piece.text for piece in self.pieces or ())


@dataclass(frozen=True)
class Fault:
    """A file that was left out, and why. ``kept``: what was stored of it stays; else it goes.

    For a ``folder`` that can't be read ``source`` is what the sources below begin with; ``locale`` "" is any.
    """

    file: str
    error: ChangeoverError
    collection: str = ""
    locale: str = ""
    source: str = ""
    kept: bool = False
    folder: bool = False


@dataclass
class Reading:
    """Everything that the files say."""

    places: Sequence[Place]
    texts: list[Admitted] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    spared: tuple[str, ...] = ()
    """What sources begin with that no place of this reading is answerable for."""

    def keeps(self, collection: str, source: str, locale: str) -> bool:
        """Whether a fault of this file, or of a folder above it, leaves what is stored of it."""
        return any(
            fault.kept
            and fault.collection == collection
            and fault.locale in ("", locale)
            and (source.startswith(fault.source) if fault.folder else source == fault.source)
            for fault in self.faults
        )

    def covers(self, collection: str, source: str) -> bool:
        """Whether a stored source would have been read, were its file still there."""
        if source.startswith((*self.spared, f"{collection}/{UPLOADS}")):
            return False
        mine = [place for place in self.places if place.collection.name == collection]
        further = {place.before for place in self.places if place.before}
        return any(
            place.covers(source) and (place.before or not any(source.startswith(one) for one in further))
            for place in mine
        )


def read_all(root: Path, further: Sequence[Path] = (), known: Known = nothing_known) -> Reading:
    """Read the handbook and further roots of its shape; raises as :func:`read` and `places.handbook_places`."""
    return read(handbook_places(root, further), known)


def read(places: Sequence[Place], known: Known = nothing_known) -> Reading:
    """Read every file of the places. Raises :class:`Invalid` (``documentation.unknown_audience``) before anything is
    believed; every other fault is that of its file."""
    reading = Reading(places)
    taken: dict[tuple[str, str, str], str] = {}
    for place in places:
        for entry in _entries(place):
            if not entry.folder and (not _readable(entry.path, place) or entry.path.name.endswith(BESIDE)):
                continue
            _read_into(reading, place, entry, taken, known)
    return reading


def _entries(place: Place) -> Iterable[Entry]:
    if place.folder.is_file():
        return [Entry(place.folder)]
    if place.locale is None and not place.folder.is_dir():
        # The folder of a named collection: what is not there now must not look like files that were removed.
        return [Entry(place.folder, Invalid("documentation.unreadable"), folder=True)]
    return walk(place.folder)


def _readable(path: Path, place: Place) -> bool:
    suffix = path.suffix.lower()
    if place.pattern:
        return place.wants(path)
    return suffix in SUFFIXES or suffix in (".md", ".markdown", ".mdx", TEXT)


def _read_into(
    reading: Reading, place: Place, entry: Entry, taken: dict[tuple[str, str, str], str], known: Known
) -> None:
    path, file, source = entry.path, place.file(entry.path), place.source(entry.path)
    name = place.collection.name

    def left_out(error: ChangeoverError, locale: str, kept: bool, folder: bool = False) -> None:
        start = (place.before if path == place.folder else f"{source}/") if folder else source
        reading.faults.append(Fault(file, error, name, locale, start, kept, folder))

    if entry.error is not None:
        left_out(entry.error, place.locale or "", kept=True, folder=entry.folder)
        return
    try:
        found = _Opened(path, place)
    except Invalid as error:
        left_out(error, place.locale or "", kept=True)
        return
    check_audience(file, found.declared)
    locale = place.locale_of(path, found.declared.get("locale"))
    key = (name, source, locale)
    try:
        if key in taken:
            raise Invalid("documentation.same_source", file=taken[key])
        taken[key] = file
        reading.texts.append(found.admitted(locale, file, source, known))
    except Invalid as error:
        left_out(error, locale, kept=error.code != "documentation.field" or error.path not in WHO)


class _Opened:
    """A file's bytes and what it declares."""

    def __init__(self, path: Path, place: Place) -> None:
        """Raises :class:`Invalid` for a file that can't be opened, decoded or believed."""
        self.path = path
        self.collection: Collection = place.collection
        self.kind = SUFFIXES.get(path.suffix.lower())
        self.data = _bytes(path, LONGEST_EXTRACTED if self.kind else LONGEST)
        self.declared: Declared = {}
        self.text = ""
        self.beside = b""
        if self.kind or path.suffix.lower() == TEXT:
            self.declared, self.beside = _declared_beside(path)
        if not self.kind:
            text = _decoded(self.data)
            if path.suffix.lower() == TEXT:
                self.text = escaped(text)
            else:
                self.declared, self.text = split(text)

    def admitted(self, locale: str, file: str, source: str, known: Known) -> Admitted:
        """Raises :class:`Invalid` where the policy or the text itself refuses."""
        content_hash = blake2b(EDITION + self.data + self.beside, digest_size=16).digest()
        metadata = self._metadata(locale, source)
        title = _text(metadata.get("title"))
        pieces: tuple[Piece, ...] | None = None
        if self.kind is None:
            line = open_fence(self.text)
            if line is not None:
                raise Invalid("documentation.open_fence", line=line)
            title = title or first_heading(self.text) or (self._name if self._may_lack_title else "")
            pieces = (Piece(self.text),)
        elif not known(self.collection.name, source, locale, content_hash):
            found = extracted(self.data, self.kind)
            pieces = found.pieces
            title = title or found.title or first_heading(pieces[0].text)
        title = title or (self._name if self.kind else "")
        if not title:
            raise Invalid("documentation.no_title")
        return Admitted(self.collection.name, locale, source, file, title[:1000], pieces, metadata, content_hash)

    @property
    def _name(self) -> str:
        return self.path.stem

    @property
    def _may_lack_title(self) -> bool:
        return self.path.suffix.lower() == TEXT or self.collection.name not in CORPORA

    def _metadata(self, locale: str, source: str) -> Declared:
        if self.collection.strict:
            return admit_user(self.declared, locale)
        default: Mapping[str, Any] = {} if self.collection.name in CORPORA else {"audience": self.collection.audience}
        given = {name: value for name, value in self.declared.items() if value is not None and str(value).strip()}
        return admit_developer({**default, **given}, locale, source)


def _declared_beside(path: Path) -> tuple[Declared, bytes]:
    beside = path.with_name(path.name + BESIDE)
    if not beside.is_file():
        return {}, b""
    data = _bytes(beside, LONGEST)
    try:
        found = yaml.safe_load(_decoded(data))
    except (yaml.YAMLError, ValueError, RecursionError):
        raise Invalid("documentation.front_matter") from None
    return checked(found if found is not None else {}), data


def _decoded(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid("documentation.not_utf8") from None
    if len(data.translate(None, _CONTROLS)) != len(data):
        raise Invalid("documentation.control_characters")
    return text


def _bytes(path: Path, longest: int) -> bytes:
    try:
        with path.open("rb") as stream:
            data = stream.read(longest + 1)
    except OSError:
        raise Invalid("documentation.unreadable") from None
    if len(data) > longest:
        raise Invalid("documentation.too_long", limit=longest)
    return data


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
