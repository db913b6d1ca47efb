"""The files below a folder, with what can't be followed named. Writes nothing, follows no link out of the folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import Invalid


@dataclass(frozen=True)
class Entry:
    """A file, or what stands in the way of one; then ``error`` says why. A folder that can't be read: ``folder``."""

    path: Path
    error: Invalid | None = None
    folder: bool = False


def walk(folder: Path) -> Iterator[Entry]:
    """Files in the order of their names, without hidden ones. A folder that is not there holds nothing."""
    if folder.is_dir():
        yield from _below(folder, folder.resolve())


def _below(folder: Path, root: Path) -> Iterator[Entry]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        yield Entry(folder, Invalid("documentation.unreadable"), folder=True)
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith("."):
            continue
        if entry.is_symlink():
            yield from _linked(path, root)
        elif entry.is_dir(follow_symlinks=False):
            yield from _below(path, root)
        elif entry.is_file(follow_symlinks=False):
            yield Entry(path)


def _linked(path: Path, root: Path) -> Iterator[Entry]:
    """A link to a file inside the folder is read; one to a folder above itself, or to itself, is a loop."""
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        # Python says RuntimeError for a loop of links, the system ELOOP; a link to nothing is FileNotFoundError.
        gone = isinstance(error, FileNotFoundError)
        yield Entry(path, Invalid("documentation.unreadable" if gone else "documentation.link_loop"))
        return
    if not target.is_relative_to(root):
        return
    if target.is_dir():
        if path.parent.resolve().is_relative_to(target):
            yield Entry(path, Invalid("documentation.link_loop"), folder=True)
        return
    yield Entry(path)
