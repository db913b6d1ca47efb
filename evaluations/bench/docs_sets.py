"""Retrieval sets become what `flask rag` reads: a folder of files and a suite of questions.

::

    python -m evaluations.bench.docs_sets --data FOLDER --set docs-it --out FOLDER
    flask rag ingest FOLDER/docs-it/corpus --collection docs-it --locale it --pattern '*.md'
    flask rag eval --suite FOLDER/docs-it/suite.json --collection docs-it --locale it

Texts of an encyclopaedia are written as plain text with their title beside them, documentation as Markdown. A set of
texts without titles gets the first words of each text as its title, since a source must have one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from app.core.documents.text import clean_text
from app.documentation.cutting import Piece, Splitter, cut
from app.documentation.reader import escaped
from app.embeddings.passages import split
from evaluations.bench.quality_rebuilt import PROFILE
from evaluations.bench.quality_sets import KINDS, RetrievalSet, Text, read_set

WORDS_OF_A_TITLE = 8
SEED = 7
CUT = Splitter(window=PROFILE.window)
"""How a collection is cut that asks for nothing else."""


@dataclass(frozen=True)
class DocsSet:
    """A set as a collection: which set, which language of it (None: all), and the form of its files.

    ``baseline`` is the set's name in `baselines.json`, where one was measured on the same judgements.
    """

    name: str
    kind: str
    locale: str
    markdown: bool = False
    only: bool = False
    baseline: str = ""


SETS = (
    DocsSet("docs-en", "docs-en-it own language", "en", markdown=True, only=True),
    DocsSet("docs-it", "docs-en-it own language", "it", markdown=True, only=True),
    DocsSet("xquad-en", "xquad-en", "en", baseline="xquad-en"),
    DocsSet("squad-it", "squad-it", "it", baseline="squad-it"),
    DocsSet("xquad-en-to-squad-it", "xquad-en-to-squad-it", "it", baseline="xquad-en-to-squad-it"),
)


def read_docs_set(data: Path, wanted: DocsSet) -> RetrievalSet:
    """The set with its titles, cut down to one language where the collection holds one only."""
    kind = next(one for one in KINDS if one.name == wanted.kind)
    found = read_set(data, replace(kind, titles=True))
    if not wanted.only:
        return found
    documents = tuple(one for one in found.documents if one.locale == wanted.locale)
    questions = tuple(one for one in found.questions if one.locale == wanted.locale)
    names = {one.id for one in questions}
    judgements = {name: judged for name, judged in found.judgements.items() if name in names}
    return replace(found, documents=documents, questions=questions, judgements=judgements)


def sampled(retrieval: RetrievalSet, most: int | None) -> RetrievalSet:
    """The set with ``most`` of its questions, always the same; None: with all."""
    if most is None or len(retrieval.questions) <= most:
        return retrieval
    questions = tuple(Random(SEED).sample(retrieval.questions, most))
    judgements = {one.id: retrieval.judgements[one.id] for one in questions if one.id in retrieval.judgements}
    return replace(retrieval, questions=questions, judgements=judgements)


def sources(retrieval: RetrievalSet, wanted: DocsSet) -> dict[str, str]:
    """Id of a document to the name of its source in the collection."""
    ending = ".md" if wanted.markdown else ".txt"
    return {one.id: one.id if one.id.endswith(ending) else one.id + ending for one in retrieval.documents}


def write_corpus(retrieval: RetrievalSet, wanted: DocsSet, folder: Path) -> None:
    """One file a document; a text file's title stands beside it, as it does for every file that can't hold one."""
    names = sources(retrieval, wanted)
    for one in retrieval.documents:
        path = folder / names[one.id]
        path.parent.mkdir(parents=True, exist_ok=True)
        title = json.dumps({"title": _title(one)}, ensure_ascii=False)
        if wanted.markdown:
            path.write_text(f"---\n{title}\n---\n\n{one.text}\n", encoding="utf-8")
        else:
            path.write_text(one.text + "\n", encoding="utf-8")
            path.with_name(path.name + ".yaml").write_text(title + "\n", encoding="utf-8")


def texts_sent(retrieval: RetrievalSet, wanted: DocsSet) -> list[str]:
    """The passages that the product sends to the model when it ingests the set, so that they can be embedded ahead."""
    sent: list[str] = []
    for one in retrieval.documents:
        title = _title(one)
        plain, found = cut(title, [Piece(one.text if wanted.markdown else escaped(one.text))], CUT)
        parts = [(passage.start, " / ".join(passage.breadcrumb)) for passage in found]
        sent += [passage.text for passage in split(clean_text(title), plain, PROFILE.window, parts)]
    return sent


def suite_of(retrieval: RetrievalSet, wanted: DocsSet) -> Mapping[str, Mapping[str, object]]:
    """The suite of the set's questions; those that nothing answers expect no answer."""
    names = sources(retrieval, wanted)
    suite: dict[str, Mapping[str, object]] = {}
    for one in retrieval.questions:
        judged = retrieval.judgements.get(one.id, {})
        expected = [names[key] for key, grade in judged.items() if grade > 0 and key in names]
        if expected:
            suite[one.id] = {"query": one.text, "expected_sources": expected}
        elif not one.answerable:
            suite[one.id] = {"query": one.text, "expect_no_answer": True}
    return suite


def _title(one: Text) -> str:
    return one.title.strip() or " ".join(one.text.split()[:WORDS_OF_A_TITLE])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluations.bench.docs_sets")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the sets, in BEIR's layout")
    parser.add_argument("--set", dest="name", choices=[one.name for one in SETS], required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    wanted = next(one for one in SETS if one.name == options.name)
    retrieval = read_docs_set(options.data, wanted)
    folder = options.out / wanted.name
    write_corpus(retrieval, wanted, folder / "corpus")
    suite = suite_of(retrieval, wanted)
    (folder / "suite.json").write_text(json.dumps(suite, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(retrieval.documents)} documents, {len(suite)} cases in {folder}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
