"""Where the engines answer differently, as functions that ask; and the page that says so.

`python -m tests.contracts.engine_differences` writes docs/reference/search-engines.md from this list and from the
suites that run on both engines. `test_engine_differences.py` asks both engines, and compares the page.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.search.matching import parse_question

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/search-engines.md"
SUITES = {"words": "test_search_engine.py", "vectors": "test_passage_index.py"}
CONTENTS = "cms.contents"
FOUND, NOT_FOUND = "found", "not found"


@dataclass(frozen=True)
class Difference:
    """``ask`` writes records ``first`` and following, and says in a word what became of the question."""

    what: str
    postgres: str
    elasticsearch: str
    why: str
    ask: Callable[[Any, int], str]


def _leg(engine: Any, question: str) -> Any:
    with engine.container.units("REPEATABLE READ") as unit:
        return engine.engine.keyword(unit.session, parse_question(question), {CONTENTS: None}, None, 50)


def _finds(engine: Any, question: str, record: int) -> str:
    engine.settle()
    return FOUND if record in [hit.record_id for hit in _leg(engine, question).hits] else NOT_FOUND


def _at_once(engine: Any, first: int) -> str:
    engine.settle()
    engine.put(first, ("en", "Submarine", "x"))
    return FOUND if _leg(engine, "submarine").hits else NOT_FOUND


def _phrase(engine: Any, first: int) -> str:
    engine.put(first, ("en", "Purple", "elephant of the house"))
    return _finds(engine, '"purple elephant"', first)


def _accented(engine: Any, first: int) -> str:
    engine.put(first, ("it", "Cinema", "La più bella."))
    return _finds(engine, "più", first)


DIFFERENCES = (
    Difference(
        "a record that was written a moment ago",
        FOUND,
        NOT_FOUND,
        "PostgreSQL's words are written in the record's own transaction; Elasticsearch follows events, which takes a "
        "second or two",
        _at_once,
    ),
    Difference(
        "a phrase that begins in the title and ends in the text",
        FOUND,
        NOT_FOUND,
        "Elasticsearch has them in two fields, and a phrase must stand in one",
        _phrase,
    ),
    Difference(
        "*più* in an Italian text",
        FOUND,
        NOT_FOUND,
        "PostgreSQL folds accents before it looks at the list of stop words, where *più* stands with its accent; "
        "Elasticsearch leaves it out",
        _accented,
    ),
)


def behaviours(suite: str) -> list[str]:
    """What the tests of a suite say, in their order, that run on both engines."""
    tree = ast.parse((Path(__file__).parent / suite).read_text(encoding="utf-8"))
    both = {"engine", "stage"}
    return [
        node.name.removeprefix("test_").replace("_", " ")
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and both & {argument.arg for argument in node.args.args}
    ]


def page() -> str:
    """The page, whole."""
    lines = [
        "# The two engines, side by side",
        "",
        "Written by `python -m tests.contracts.engine_differences` from the suites that run unchanged on both engines",
        "against real servers; do not edit. Each line of the first table is asked of both engines, too, by",
        "`tests/contracts/test_engine_differences.py`.",
        "",
        "## Where they differ, and why",
        "",
        "| asked for | PostgreSQL | Elasticsearch | why |",
        "| --- | --- | --- | --- |",
        *(f"| {one.what} | {one.postgres} | {one.elasticsearch} | {one.why} |" for one in DIFFERENCES),
        "",
        "Facets, suggestions, corrections, demands on the vector leg's hits and the texts of a page are PostgreSQL's",
        "on both. A deleted or hidden record is gone at once on both: every hit is looked up in the search's own",
        "snapshot. While Elasticsearch is away PostgreSQL answers and the answer says so.",
    ]
    for name, suite in SUITES.items():
        lines += ["", f"## The same on both: {name}", "", f"From `tests/contracts/{suite}`.", ""]
        lines += [f"- {one}" for one in behaviours(suite)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
