"""``flask rag``: the fixture run in the shape of seed 002, with our own corpus, suite and pinned figures."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from apiflask import APIFlask
from click.testing import Result
from sqlalchemy import text

from app.container import Container
from app.core.config import Config
from app.embeddings.identity import PROBE_TEXT
from tests.fakes.embedding_server import FakeEmbeddingServer
from tests.fixtures.rag import CORPUS, MODEL, SUITE, words_config, words_server

K4 = ("--k", "4")


@pytest.fixture(scope="module")
def server() -> Iterator[FakeEmbeddingServer]:
    with words_server() as running:
        yield running


@pytest.fixture
def config(database: str, tmp_path: Path, server: FakeEmbeddingServer) -> Config:
    server.reset()
    return words_config(database, tmp_path, server)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A copy of the fixture corpus that a test may change."""
    return Path(shutil.copytree(CORPUS, tmp_path / "corpus"))


def run(app: APIFlask, *arguments: str, input: str | None = None) -> Result:
    return app.test_cli_runner().invoke(args=["rag", *arguments], input=input)


def evaluated(app: APIFlask, *arguments: str) -> dict[str, Any]:
    done = run(app, "eval", "--suite", str(SUITE), "--json", *arguments)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def sent(server: FakeEmbeddingServer) -> int:
    """Texts that reached the model, the fixed one apart that vouches for each call."""
    return sum(count for wording, count in server.counters.per_text.items() if wording != PROBE_TEXT)


def passages(container: Container) -> int:
    with container.units() as unit:
        return int(unit.session.scalar(text("select count(*) from documentation_passages")) or 0)


# --- ingest ------------------------------------------------------------------------------------------------------


def test_a_folder_becomes_passages_of_a_collection(app: APIFlask, container: Container, corpus: Path) -> None:
    done = run(app, "ingest", str(corpus))
    assert done.exit_code == 0, done.output
    assert "16 created, 0 updated, 0 unchanged, 0 removed" in done.output
    assert "16 texts embedded" in done.output
    assert passages(container) > 30


def test_what_is_unchanged_costs_nothing_and_one_file_its_own_passages(
    app: APIFlask, container: Container, corpus: Path, server: FakeEmbeddingServer
) -> None:
    run(app, "ingest", str(corpus))
    assert sent(server) == passages(container)
    server.reset()
    assert "0 created, 0 updated, 16 unchanged" in run(app, "ingest", str(corpus)).output
    assert server.counters.calls == 0
    file = corpus / "orders" / "refunds.md"
    file.write_text(file.read_text() + "\n## Exchange\n\nA device is exchanged once.\n")
    assert "0 created, 1 updated, 15 unchanged" in run(app, "ingest", str(corpus)).output
    with container.units() as unit:
        own = unit.session.scalar(
            text(
                """select count(*) from documentation_passages s join documentation_pages p on p.id = s.page_id
                where p.source = 'default/orders/refunds.md'"""
            )
        )
    assert sent(server) == own == 4


def test_above_the_threshold_it_asks_before_it_spends(
    app: APIFlask, container: Container, corpus: Path, server: FakeEmbeddingServer
) -> None:
    options = ("ingest", str(corpus), "--threshold", "100")
    asked = run(app, *options, input="n\n")
    assert asked.exit_code == 1
    assert "16 of 16 files are new or changed" in asked.output
    assert "Nothing was written." in asked.output
    assert (passages(container), sent(server)) == (0, 0)
    assert run(app, *options, input="y\n").exit_code == 0
    assert passages(container) > 0
    assert "Embed them?" not in run(app, *options).output  # nothing changed: nothing to spend
    assert run(app, "ingest", str(corpus), "--collection", "other", "--threshold", "100", "--force").exit_code == 0


def test_paths_patterns_and_faults(app: APIFlask, container: Container, corpus: Path) -> None:
    gone = run(app, "ingest", str(corpus / "nowhere"))
    assert (gone.exit_code, "There is nothing at" in gone.output) == (1, True)
    none = run(app, "ingest", str(corpus), "--pattern", "*.mdx")
    assert (none.exit_code, "nothing was written" in none.output) == (0, True)
    one = run(app, "ingest", str(corpus / "team" / "leave.md"))
    assert "1 created" in one.output
    (corpus / "team" / "broken.md").write_bytes(b"\xff\xfe\x00")
    broken = run(app, "ingest", str(corpus / "team"))
    assert broken.exit_code == 1
    assert "broken.md" in broken.output
    wrong = run(app, "ingest", str(corpus), "--collection", "Not A Name")
    assert (wrong.exit_code, passages(container) > 0) == (1, True)


def test_two_folders_of_a_collection_leave_each_other_alone(app: APIFlask, container: Container, corpus: Path) -> None:
    run(app, "ingest", str(corpus / "orders"))
    assert "2 created" in run(app, "ingest", str(corpus / "team")).output
    assert "4 unchanged, 0 removed" in run(app, "ingest", str(corpus / "orders")).output
    assert "2 unchanged, 0 removed" in run(app, "ingest", str(corpus / "team")).output
    (corpus / "orders" / "discounts.md").unlink()
    assert "3 unchanged, 1 removed" in run(app, "ingest", str(corpus / "orders")).output


# --- reindex -----------------------------------------------------------------------------------------------------


def test_reindex_asks_and_cuts_anew(app: APIFlask, container: Container, corpus: Path) -> None:
    nothing = run(app, "reindex")
    assert (nothing.exit_code, "has no documents" in nothing.output) == (0, True)
    run(app, "ingest", str(corpus))
    before = passages(container)
    refused = run(app, "reindex", input="\n")
    assert (refused.exit_code, passages(container)) == (1, before)
    done = run(app, "reindex", "--max-words", "20", "--force")
    assert done.exit_code == 0, done.output
    assert "16 updated" in done.output
    assert passages(container) > before


def test_reindex_names_sources_that_cannot_be_read_and_keeps_them(
    app: APIFlask, container: Container, corpus: Path
) -> None:
    run(app, "ingest", str(corpus))
    (corpus / "team" / "leave.md").unlink()
    (corpus / "team" / "new.md").write_text("# New\n\nNot ingested yet.")
    done = run(app, "reindex", "--force")
    assert done.exit_code == 1
    assert "left out default/team/leave.md" in done.output
    assert "0 created, 15 updated, 0 unchanged, 0 removed" in done.output
    shutil.rmtree(corpus)
    away = run(app, "reindex", "--force")
    assert (away.exit_code, "is not there" in away.output) == (1, True)


def test_a_reindex_of_what_is_the_same_costs_nothing(app: APIFlask, corpus: Path, server: FakeEmbeddingServer) -> None:
    run(app, "ingest", str(corpus))
    server.reset()
    assert run(app, "reindex", "--force").exit_code == 0
    assert sent(server) == 0


# --- eval --------------------------------------------------------------------------------------------------------


@pytest.fixture
def ingested(app: APIFlask, corpus: Path) -> Path:
    assert run(app, "ingest", str(corpus), "--force").exit_code == 0
    return corpus


def test_the_fixture_run_has_its_pinned_figures(app: APIFlask, ingested: Path) -> None:
    found = evaluated(app, *K4)
    assert list(found)[:7] == ["suite", "k", "embedding_model", "total_cases", "passed", "metrics", "failures"]
    assert (found["suite"], found["k"], found["embedding_model"]) == ("suite", 4, MODEL)
    assert (found["total_cases"], found["passed"], found["answerable_cases"]) == (15, 14, 14)
    assert found["metrics"] == {"pass_rate": 0.9333, "recall_at_k": 1.0, "mrr": 0.9643, "mean_top_score": 0.6}
    assert [failure["id"] for failure in found["failures"]] == ["not-in-corpus"]
    assert found["failures"][0]["reasons"] == ["no answer was expected, but passages were retrieved: 4"]


def test_the_report_in_words(app: APIFlask, ingested: Path) -> None:
    done = run(app, "eval", "--suite", str(SUITE), *K4)
    assert done.exit_code == 0
    assert done.output.splitlines()[0] == "Suite 'suite': 15 cases at k=4, collection default."
    assert "| metric         | score | floor |" in done.output


def test_ci_fails_below_a_floor_only(app: APIFlask, ingested: Path) -> None:
    suite = ("eval", "--suite", str(SUITE), *K4)
    assert run(app, *suite, "--ci", "--floor", "pass_rate=0.5").exit_code == 0
    assert run(app, *suite, "--ci", "--floor", "pass_rate=1").exit_code == 1
    assert run(app, *suite, "--floor", "pass_rate=1").exit_code == 0
    wrong = run(app, *suite, "--floor", "speed=1")
    assert (wrong.exit_code, "speed=1 is no METRIC=NUMBER" in wrong.output) == (1, True)


def test_a_baseline_says_what_got_worse(app: APIFlask, ingested: Path, tmp_path: Path) -> None:
    """Smaller passages: the top score rises, and the right sources come later or not at all."""
    saved = tmp_path / "baseline.json"
    suite = ("eval", "--suite", str(SUITE), *K4)
    assert run(app, *suite, "--save", str(saved)).exit_code == 0
    floor = ("--floor", "pass_rate=0")
    same = run(app, *suite, "--baseline", str(saved), "--ci", *floor)
    assert (same.exit_code, "regressed" in same.output) == (0, False)
    run(app, "reindex", "--max-words", "25", "--force")
    worse = run(app, *suite, "--baseline", str(saved), *floor)
    assert worse.exit_code == 0
    assert worse.output.endswith(
        """Against the baseline:

  pass_rate        0.933 → 0.867  -0.067
  recall_at_k      1.000 → 0.964  -0.036
  mrr              0.964 → 0.929  -0.036
  mean_top_score   0.600 → 0.609  +0.009

3 metrics regressed:

  ↓ pass_rate dropped 0.0666 (0.9333 -> 0.8667)
  ↓ recall_at_k dropped 0.0357 (1.0000 -> 0.9643)
  ↓ mrr dropped 0.0357 (0.9643 -> 0.9286)
"""
    )
    assert run(app, *suite, "--baseline", str(saved), "--ci", *floor).exit_code == 1
    room = [option for name in ("pass_rate", "recall_at_k", "mrr") for option in ("--tolerance", f"{name}=0.1")]
    assert run(app, *suite, "--baseline", str(saved), "--ci", *floor, *room).exit_code == 0


def test_a_gating_run_writes_no_baseline(app: APIFlask, ingested: Path, tmp_path: Path) -> None:
    saved = tmp_path / "baseline.json"
    done = run(app, "eval", "--suite", str(SUITE), "--ci", "--save", str(saved))
    assert (done.exit_code, saved.exists()) == (2, False)


def test_a_baseline_that_cannot_be_read_warns(app: APIFlask, ingested: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    for file in (bad, tmp_path / "none.json"):
        done = run(app, "eval", "--suite", str(SUITE), "--json", "--baseline", str(file))
        assert done.exit_code == 0
        assert "nothing was compared" in done.stderr
        assert "baseline" not in json.loads(done.stdout)
    other = {**evaluated(app), "embedding_model": "another", "k": 9}
    bad.write_text(json.dumps(other))
    assert "made with another, this run with" in run(app, "eval", "--baseline", str(bad)).stderr


def test_a_suite_that_is_missing_or_malformed(app: APIFlask, ingested: Path, tmp_path: Path) -> None:
    missing = run(app, "eval", "--suite", str(tmp_path / "none.json"))
    assert (missing.exit_code, "There is no suite at" in missing.output) == (1, True)
    bad = tmp_path / "bad.json"
    bad.write_text('{"refund-window": {"query": "q", "must_contain": "30 days"}}')
    malformed = run(app, "eval", "--suite", str(bad))
    assert malformed.exit_code == 1
    assert "case refund-window, must_contain: must be a list of texts" in malformed.output
    unknown = run(app, "eval", "--suite", str(SUITE), "--collection", "nowhere")
    assert (unknown.exit_code, "nowhere" in unknown.output) == (1, True)


def test_known_red_cases_are_reported_when_they_turn_green(app: APIFlask, ingested: Path, tmp_path: Path) -> None:
    cases = {
        "red": {"query": "gift cards", "expected_sources": ["nowhere.md"], "expect_fail": True},
        "green": {"query": "gift cards refunded", "expected_sources": ["orders/refunds.md"], "expect_fail": True},
        "counted": {"query": "gift cards refunded", "expected_sources": ["orders/refunds.md"]},
    }
    file = tmp_path / "known.json"
    file.write_text(json.dumps(cases))
    done = run(app, "eval", "--suite", str(file), "--ci")
    assert done.exit_code == 0
    assert "Known to be red, not counted: red" in done.output
    assert "Said to be red, but green now: green" in done.output


def test_min_score_lets_a_question_stay_without_answer(app: APIFlask, ingested: Path) -> None:
    failed = {failure["id"] for failure in evaluated(app)["failures"]}
    assert "not-in-corpus" in failed
    raised = {failure["id"] for failure in evaluated(app, "--min-score", "0.5")["failures"]}
    assert "not-in-corpus" not in raised


def test_the_history_keeps_runs_unless_told_not_to(app: APIFlask, container: Container, ingested: Path) -> None:
    evaluated(app, *K4, "--no-record")
    assert _runs(container) == []
    evaluated(app, *K4)
    ((suite, collection, model, k, commit, cases),) = _runs(container)
    assert (suite, collection, model, k, cases) == ("suite", "default", MODEL, 4, 15)
    assert commit is None or len(commit) == 40


def test_a_history_that_cannot_be_written_fails_nothing(app: APIFlask, container: Container, ingested: Path) -> None:
    with container.units() as unit:
        unit.session.execute(text("alter table evaluation_runs rename to elsewhere"))
    try:
        done = run(app, "eval", "--suite", str(SUITE), "--json", "--ci", "--floor", "pass_rate=0")
    finally:
        with container.units() as unit:
            unit.session.execute(text("alter table elsewhere rename to evaluation_runs"))
    assert done.exit_code == 0
    assert json.loads(done.stdout)["total_cases"] == 15
    assert "not kept in the history" in done.stderr


def test_without_vectors_nothing_is_measured(app: APIFlask, corpus: Path) -> None:
    assert run(app, "ingest", str(corpus), "--later").exit_code == 0
    done = run(app, "eval", "--suite", str(SUITE))
    assert (done.exit_code, "nothing was measured" in done.output) == (1, True)


def test_answers_are_measured_too(app: APIFlask, ingested: Path) -> None:
    found = evaluated(app, "--retrieval", "answers")
    assert found["retrieval"] == "answers"
    assert found["metrics"]["recall_at_k"] > 0.8
    more = run(app, "eval", "--suite", str(SUITE), "--retrieval", "answers", "--k", "11")
    assert (more.exit_code, "from 1 to 10" in more.output) == (1, True)


def _runs(container: Container) -> list[tuple[Any, ...]]:
    with container.units() as unit:
        rows = unit.session.execute(
            text(
                """select suite, collection, model, k, git_sha,
                    (select count(*) from evaluation_results where run_id = r.id) from evaluation_runs r"""
            )
        )
        return [tuple(row) for row in rows]
