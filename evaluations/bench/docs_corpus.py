"""A handbook for the benchmark of the documentation: pages of ten short sections, each of which is one passage."""

from __future__ import annotations

import json
from pathlib import Path

from evaluations.bench.corpus import documents

SECTIONS = 10
WORDS = 40
"""Words of a section at most: well below every limit of a passage, so that nobody cuts one."""


def write_handbook(folder: Path, passages: int) -> list[str]:
    """Write ``passages`` sections as Markdown below ``folder/developer/en``; returns each with its headings above."""
    home = folder / "developer" / "en" / "bench"
    home.mkdir(parents=True)
    (folder / "user" / "en").mkdir(parents=True)
    found: list[str] = []
    page: list[str] = []
    # Every second document is English; the number makes each heading and so each text different.
    for number, (_, _, _, body) in enumerate(_english(passages)):
        title, heading = f"Page {number // SECTIONS}", f"Section {number}"
        text = " ".join(body.split()[:WORDS]) or "Nothing."
        page.append(f"## {heading}\n\n{text}\n")
        found.append(f"{title} / {heading}\n{text}")
        if len(page) == SECTIONS or number == passages - 1:
            (home / f"page-{number // SECTIONS:05}.md").write_text(f"# {title}\n\n" + "\n".join(page), encoding="utf-8")
            page = []
    return found


def write_passages(file: Path, passages: list[str]) -> None:
    """The same passages, cut already, one JSON object a line: what the others are given."""
    with file.open("w", encoding="utf-8") as stream:
        for number, text in enumerate(passages):
            stream.write(json.dumps({"id": f"passage-{number}", "page": number // SECTIONS, "text": text}) + "\n")


def _english(count: int) -> list[tuple[int, str, str, str]]:
    return [one for one in documents(2 * count) if one[1] == "en"]
