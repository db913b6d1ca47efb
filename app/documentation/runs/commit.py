"""Which commit is evaluated: what the build says, else what `.git` holds. No process is started."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_SHA = re.compile(r"[0-9a-f]{40}")
_REF = re.compile(r"ref: (refs/[\w./-]{1,300})")
MOST = 1_000_000
"""Bytes of a packed-refs file that are read."""


def commit_of(root: Path, named: Sequence[str | None] = ()) -> str | None:
    """The first of ``named`` that is a whole commit (40 hexadecimal digits), else that of ``root``; None without."""
    for name in named:
        if name is not None and _SHA.fullmatch(name.strip().lower()):
            return name.strip().lower()
    try:
        return _head(_git_folder(root))
    except (OSError, UnicodeDecodeError):
        return None


def _git_folder(root: Path) -> Path:
    """``.git``, or where it says that the folder is (a linked work tree)."""
    git = root / ".git"
    if git.is_file():
        return (root / _read(git).removeprefix("gitdir:").strip()).resolve()
    return git


def _head(git: Path) -> str | None:
    head = _read(git / "HEAD").strip()
    if _SHA.fullmatch(head):
        return head
    match = _REF.fullmatch(head)
    if match is None or ".." in match.group(1):
        return None
    common = (git / _read(git / "commondir").strip()).resolve() if (git / "commondir").is_file() else git
    for folder in (git, common):
        if (folder / match.group(1)).is_file():
            found = _read(folder / match.group(1)).strip()
            return found if _SHA.fullmatch(found) else None
    return _packed(common / "packed-refs", match.group(1))


def _packed(file: Path, ref: str) -> str | None:
    for line in _read(file).splitlines() if file.is_file() else ():
        sha, _, name = line.partition(" ")
        if name == ref and _SHA.fullmatch(sha):
            return sha
    return None


def _read(file: Path) -> str:
    with file.open("rb") as stream:
        return stream.read(MOST).decode("utf-8")
