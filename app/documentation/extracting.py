"""Files that are no Markdown are read by a child process: a file that eats memory or time ends the child, not us."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import Invalid
from app.documentation.cutting import Piece
from app.documentation.extractors import BROKEN, KINDS, MOST_TEXT, TOO_MUCH

MEMORY = 1024 * 1024 * 1024
"""Bytes of address space of the child."""
SECONDS = 20
"""Of its processor time."""
PATIENCE = 10
"""Seconds of wall time on top: a child that waits for something spends none of its processor time."""
SCRIPT = Path(__file__).with_name("extractors.py")
SUFFIXES = {".pdf": "pdf", ".html": "html", ".htm": "html", ".docx": "docx"}


@dataclass(frozen=True)
class Extracted:
    """What was found: the title that the file gives itself (or nothing), and its text by page."""

    title: str
    pieces: tuple[Piece, ...]


def extracted(data: bytes, kind: str, memory: int = MEMORY, seconds: int = SECONDS) -> Extracted:
    """The text of a file of one of the :data:`KINDS`.

    Raises :class:`Invalid`: ``documentation.not_extracted`` for a file that its parser refuses,
    ``documentation.extraction_killed`` for one that takes too much time or memory, ``documentation.too_much_text``,
    ``documentation.no_text`` for one without any (a scan).
    """
    if kind not in KINDS:
        raise ValueError(kind)
    killed = Invalid("documentation.extraction_killed", seconds=seconds, megabytes=memory // 1024 // 1024)
    try:
        # -I: neither the folder we stand in nor the environment decides what the child imports.
        command = [sys.executable, "-I", str(SCRIPT), kind, str(memory), str(seconds)]
        done = subprocess.run(command, input=data, capture_output=True, timeout=seconds + PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise killed from None
    if done.returncode == 1:
        raise RuntimeError(f"the extractor of {kind} does not start: is its library installed?")
    if done.returncode == BROKEN:
        raise Invalid("documentation.not_extracted", kind=kind)
    if done.returncode == TOO_MUCH:
        raise Invalid("documentation.too_much_text", limit=MOST_TEXT)
    if done.returncode:
        raise killed
    found = json.loads(done.stdout)
    pieces = tuple(Piece(text, page) for page, text in found["pages"] if text.strip())
    if not pieces:
        raise Invalid("documentation.no_text")
    return Extracted(str(found["title"]).strip(), pieces)
