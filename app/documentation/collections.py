"""Named collections: made on their first use, changed by name, and the folders that belong to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from app.core.errors import Invalid, NotFound
from app.core.locale import LOCALES
from app.core.unit import Unit
from app.documentation import store
from app.documentation.cutting import DEFAULT_WINDOW, Driver, Splitter
from app.documentation.front_matter import AUDIENCES
from app.documentation.models import DocumentationCollection
from app.documentation.places import CORPORA, HANDBOOK, NAMED, Collection, Folder, prefix_for

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")


def check_name(name: str) -> str:
    """A name that a collection may have. Raises :class:`Invalid`."""
    if not _NAME.fullmatch(name) or name in (*CORPORA, NAMED):
        raise Invalid("documentation.collection_name", path="collection", name=name[:60])
    return name


def checked(wished: Collection) -> Collection:
    """Raises :class:`Invalid` for what no collection can be."""
    check_name(wished.name)
    if wished.audience not in AUDIENCES:
        raise Invalid("input.choice", path="audience", value=wished.audience[:60], allowed=", ".join(AUDIENCES))
    if wished.locale not in LOCALES:
        raise Invalid("input.choice", path="locale", value=wished.locale[:60], allowed=", ".join(LOCALES))
    Splitter(wished.driver, wished.max_words, wished.delimiter, DEFAULT_WINDOW)
    return wished


def find(unit: Unit, name: str) -> Collection:
    """A corpus of the handbook or a named collection. Raises :class:`NotFound`."""
    if name in HANDBOOK:
        return HANDBOOK[name]
    row = store.named_collection(unit.session, name)
    if row is None:
        raise NotFound("documentation.no_collection", name=name[:60])
    return _read(row)


def named(unit: Unit) -> list[Collection]:
    """All named collections by name."""
    return [_read(row) for row in store.named_collections(unit.session)]


def save(unit: Unit, wished: Collection) -> Collection:
    """Make the collection, or change the one of this name; its folders stay. Raises :class:`Invalid`."""
    checked(wished)
    row = store.named_collection(unit.session, wished.name, lock=True)
    if row is None:
        row = DocumentationCollection(name=wished.name, roots=[])
        unit.session.add(row)
    row.audience, row.splitter, row.locale = wished.audience, wished.driver, wished.locale
    row.max_words, row.delimiter = wished.max_words, wished.delimiter
    unit.session.flush()
    return _read(row)


def with_folder(unit: Unit, name: str, path: Path, pattern: str = "") -> Collection:
    """The collection with nothing but this folder (or file) in it, which is noted as one of its folders from now on.

    A collection that is not there yet is made. The first folder has no prefix; each further one has its own, which it
    keeps, so that two folders never give the same source.
    """
    check_name(name)
    if store.named_collection(unit.session, name) is None:
        save(unit, Collection(name))
    row = store.named_collection(unit.session, name, lock=True)
    if row is None:  # removed meanwhile
        raise NotFound("documentation.no_collection", name=name)
    folder = _folder(row, str(path.resolve()), path)
    return replace(_read(row), folders=(Folder(path.resolve(), folder["prefix"], pattern),))


def _folder(row: DocumentationCollection, place: str, path: Path) -> Mapping[str, str]:
    for known in row.roots:
        if known["path"] == place:
            return known
    prefix = ""
    if row.roots:
        first = Path(row.roots[0]["path"])
        inside = {one.name for one in first.iterdir()} if first.is_dir() else set()
        taken = {known["prefix"].removesuffix("/") for known in row.roots} | inside
        prefix = f"{prefix_for(path, taken)}/"
    added = {"path": place, "prefix": prefix}
    row.roots = [*row.roots, added]
    return added


def _read(row: DocumentationCollection) -> Collection:
    folders = tuple(Folder(Path(one["path"]), one["prefix"], one.get("pattern", "")) for one in row.roots)
    return Collection(
        row.name, row.audience, cast(Driver, row.splitter), row.max_words, row.delimiter, row.locale, folders
    )
