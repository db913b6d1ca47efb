"""Retrieval sets become folders of files and suites."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.documentation.suites import read_suite
from evaluations.bench.docs_sets import (
    SETS,
    DocsSet,
    read_docs_set,
    sampled,
    sources,
    suite_of,
    texts_sent,
    write_corpus,
)
from evaluations.bench.docs_ways import Found, Scored, together


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "docs-en-it"
    folder.mkdir()
    pages = [("a/en/x.md", "X: first", "# Head\n\nText.", "en"), ("a/it/x.md", "X", "Testo.", "it")]
    rows = [{"_id": key, "title": title, "text": text, "metadata": {"lang": code}} for key, title, text, code in pages]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = [("q1", "en", True), ("q2", "it", True), ("q3", "en", False), ("q4", "en", True)]
    queries = [
        {"_id": key, "text": f"Question {key}?", "metadata": {"lang": code, "answerable": answerable}}
        for key, code, answerable in asked
    ]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    judged = "query-id\tcorpus-id\tscore\nq1\ta/en/x.md\t2\nq2\ta/it/x.md\t2\n"
    (folder / "qrels.same-language.tsv").write_text(judged)
    return tmp_path


def wanted(name: str) -> DocsSet:
    return next(one for one in SETS if one.name == name)


def test_one_language_with_its_questions(data: Path) -> None:
    english = read_docs_set(data, wanted("docs-en"))
    assert [one.id for one in english.documents] == ["a/en/x.md"]
    assert [one.id for one in english.questions] == ["q1", "q3", "q4"]
    assert list(english.judgements) == ["q1"]


def test_the_suite_names_sources_and_questions_without_an_answer(data: Path) -> None:
    english = read_docs_set(data, wanted("docs-en"))
    suite = suite_of(english, wanted("docs-en"))
    assert suite == {
        "q1": {"query": "Question q1?", "expected_sources": ["a/en/x.md"]},
        "q3": {"query": "Question q3?", "expect_no_answer": True},
    }  # q4 is answered by nothing that was judged, so nobody knows
    assert len(read_suite("docs-en", json.dumps(suite)).cases) == 2


def test_files_as_the_indexer_reads_them(data: Path, tmp_path: Path) -> None:
    english = read_docs_set(data, wanted("docs-en"))
    write_corpus(english, wanted("docs-en"), tmp_path / "out")
    text = (tmp_path / "out/a/en/x.md").read_text()
    assert text == '---\n{"title": "X: first"}\n---\n\n# Head\n\nText.\n'
    plain = DocsSet("plain", "docs-en-it own language", "en", only=True)
    assert sources(english, plain) == {"a/en/x.md": "a/en/x.md.txt"}
    write_corpus(english, plain, tmp_path / "plain")
    assert json.loads((tmp_path / "plain/a/en/x.md.txt.yaml").read_text()) == {"title": "X: first"}


def test_texts_are_told_as_the_product_sends_them(data: Path) -> None:
    english = read_docs_set(data, wanted("docs-en"))
    assert texts_sent(english, wanted("docs-en")) == ["X: first / Head\nHead\n\nText."]


def test_a_sample_is_always_the_same_and_keeps_its_judgements(data: Path) -> None:
    english = read_docs_set(data, wanted("docs-en"))
    assert sampled(english, None) is sampled(english, 3) is english
    one = sampled(english, 1)
    assert one == sampled(english, 1)
    assert len(one.questions) == 1
    assert list(one.judgements) == [q.id for q in one.questions if q.id == "q1"]


def test_a_way_is_told_by_question() -> None:
    good, bad = Scored(1.0, 1.0, 1.0, 1.0), Scored(0.5, 0.25, 1.0, 0.0)
    found = together([Found({"a": good}, {"a": 0.3, "x": 0.1}), Found({"a": bad}, {"a": 0.29, "x": 0.9})])
    assert (found.mean("ndcg"), found.mean("rr")) == (0.75, 0.625)
    assert (found.answered, found.abstained) == (0.5, 0.5)
    assert Found({"a": good}, {"a": 1.0}).abstained is None
    other = Found(dict.fromkeys(found.judged, bad))
    mean, low, high = found.over(other)
    assert (mean, low, high) == (0.25, 0.0, 0.5)
