"""The retrieval sets: a folder each of BEIR's layout, which is no part of the repository.

``corpus.jsonl`` and ``queries.jsonl`` have a text a line, ``qrels.tsv`` (or another file of its form) the judgements.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Kind:
    """How a set is used. ``titles``: whether its public baselines index titles; ``own_language``: whether a question
    is asked with its locale; ``stems``: the language of its texts, None where they have two."""

    name: str
    folder: str
    stems: str | None = "en"
    corpus: str = ""
    qrels: str = "qrels.tsv"
    titles: bool = True
    own_language: bool = False


KINDS = (
    Kind("xquad-en", "xquad-en", titles=False),
    Kind("docs-en-it", "docs-en-it", None),
    Kind("docs-en-it own language", "docs-en-it", None, qrels="qrels.same-language.tsv", own_language=True),
    Kind("cranfield", "cranfield", titles=False),
    Kind("scifact-1500", "scifact-1500"),
    Kind("squad-it", "squad-it", "it", titles=False),
    Kind("xquad-en-to-squad-it", "xquad-en-to-squad-it", "it", corpus="squad-it", titles=False),
    Kind("scifact", "scifact"),
)
SMALL = ("xquad-en", "docs-en-it", "docs-en-it own language")


@dataclass(frozen=True)
class Text:
    """A document or a question. ``answerable`` is false for questions that nothing in the set answers."""

    id: str
    title: str
    text: str
    locale: str
    answerable: bool = True


@dataclass(frozen=True)
class RetrievalSet:
    """Documents, questions, and the documents that answer each, with their grades."""

    kind: Kind
    documents: tuple[Text, ...]
    questions: tuple[Text, ...]
    judgements: Mapping[str, Mapping[str, int]]

    @property
    def corpus(self) -> tuple[str, bool]:
        """What its documents are read from: sets of one corpus share a database."""
        return self.kind.corpus or self.kind.folder, self.kind.titles

    @property
    def judged(self) -> tuple[Text, ...]:
        """The questions that have judgements."""
        return tuple(one for one in self.questions if one.id in self.judgements)


def read_set(data: Path, kind: Kind) -> RetrievalSet:
    """Raises FileNotFoundError naming the file that is not there."""
    documents = tuple(_texts(data / (kind.corpus or kind.folder) / "corpus.jsonl", titles=kind.titles))
    questions = tuple(_texts(data / kind.folder / "queries.jsonl", titles=False))
    judgements: dict[str, dict[str, int]] = {}
    with (data / kind.folder / kind.qrels).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            judgements.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    return RetrievalSet(kind, documents, questions, judgements)


def read_baselines(data: Path) -> list[dict[str, Any]]:
    """The rows of ``baselines.json``."""
    rows: list[dict[str, Any]] = json.loads((data / "baselines.json").read_text(encoding="utf-8"))["rows"]
    return rows


def _texts(path: Path, *, titles: bool) -> Iterator[Text]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            value = json.loads(line)
            told = value.get("metadata") or {}
            yield Text(
                str(value["_id"]),
                value.get("title", "") if titles else "",
                value["text"],
                told.get("lang", "en"),
                told.get("answerable", True),
            )
