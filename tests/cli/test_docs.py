"""``flask docs``: the index, questions, and the evaluation of the handbook that fails the build."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from apiflask import APIFlask
from click.testing import Result

from app.container import Container
from app.core.contracts.actor import SYSTEM
from tests.fakes.chat_model import FakeChatModel
from tests.integration.documentation.test_indexing import PAGE, write

ROOT = Path(__file__).resolve().parents[2]
DATASETS = sorted((ROOT / "evaluations" / "documentation").glob("*.json"))


def run(app: APIFlask, *arguments: str, input: str | None = None) -> Result:
    return app.test_cli_runner().invoke(args=["docs", *arguments], input=input)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, "user/en/searching.md", PAGE.format(locale="en", title="Searching"))
    write(tmp_path, "developer/en/layers.md", "# Layers\n\n## Shape\n\nA star of packages.")
    return tmp_path


def test_only_what_changed_is_indexed(app: APIFlask, root: Path) -> None:
    path = ("index", "--path", str(root))
    assert "1 created, 0 updated, 0 unchanged" in run(app, *path, "--profile", "developer").output
    assert "1 created, 0 updated, 1 unchanged" in run(app, *path).output
    assert "0 created, 0 updated, 2 unchanged" in run(app, *path).output
    assert "0 created, 2 updated, 0 unchanged" in run(app, *path, "--full").output


def test_a_file_that_cannot_be_read_keeps_its_old_version(app: APIFlask, root: Path) -> None:
    path = ("index", "--path", str(root))
    run(app, *path)
    write(root, "developer/en/layers.md", "---\ntitle: a: b\n---\n# T")
    done = run(app, *path)
    assert done.exit_code == 1
    assert "left out developer/en/layers.md: The front matter" in done.output
    assert "the version before stays" in done.output
    assert "A star of packages." in run(app, "help", "--question", "star of packages").output
    assert "2 unchanged, 0 removed" in run(app, *path, "--full").output.replace("1 updated, 1", "2")


def test_an_unknown_audience_stops_everything(app: APIFlask, root: Path) -> None:
    write(root, "developer/en/zzz.md", "---\naudience: everybody\n---\n# Bad")
    done = run(app, "index", "--path", str(root))
    assert done.exit_code == 1
    assert "everybody" in done.output
    assert run(app, "help", "--question", "star").output == "The documentation does not say.\n"


def test_help_answers_once_or_until_an_empty_line(app: APIFlask, root: Path) -> None:
    run(app, "index", "--path", str(root))
    once = run(app, "help", "--question", "star of packages").output
    assert "A star of packages." in once
    assert once.endswith("Sources\n[1] Layers / Shape\n")
    several = run(app, "help", input="star of packages\nzzyzx\n\n").output
    assert several.index("[1] Layers / Shape") < several.index("The documentation does not say.")
    assert "[1] User guide" in run(app, "help", "--question", "some words", "--profile", "user").output


def test_help_tells_what_a_model_wrote_with_its_sources(app: APIFlask, root: Path, container: Container) -> None:
    assert container.answering is not None
    run(app, "index", "--path", str(root))
    container.answering.chat = FakeChatModel("It is a star [1][4]. Nobody knows why.")
    once = run(app, "help", "--question", "star of packages").output
    assert once == "It is a star. [1] Nobody knows why.\n\nSources\n[1] Layers / Shape\n"
    container.answering.chat = FakeChatModel('{"a": 1}')
    assert "A star of packages." in run(app, "help", "--question", "star of packages").output


def test_the_datasets_are_large_enough() -> None:
    cases = [case for file in DATASETS for case in json.loads(file.read_text())["cases"]]
    slices = {name for case in cases for name in case["slices"]}
    assert len(cases) >= 60
    assert {"no_answer", "permission", "tenant", "locale"} <= slices
    assert {json.loads(file.read_text())["index_profile"] for file in DATASETS} == {"user", "developer"}


def test_the_handbook_is_found_as_well_as_its_floors_say(app: APIFlask, container: Container) -> None:
    """Words alone, so that the figures are the same everywhere; every file has floors."""
    assert container.documentation is not None
    container.documentation.index(container.units)
    options = [part for file in DATASETS for part in ("--dataset", str(file))]
    done = run(app, "eval", "--words", "--json", *options)
    assert done.exit_code == 0, done.output
    reports = json.loads(done.stdout)
    assert len(reports) == len(DATASETS) == 4
    for report in reports:
        assert report["strategies"] == ["keyword"]
        assert {"source_hit_at_k", "mean_reciprocal_rank", "abstention_accuracy"} <= set(report["floors"])
        assert report["metrics"]["refusal_accuracy"] == 1.0
        assert report["metrics"]["unavailable_rate"] == 0.0
    with container.units() as unit:
        assert container.evaluations is not None
        kept = container.evaluations.runs.listing(unit, SYSTEM)
        first = container.evaluations.runs.show(unit, SYSTEM, kept[-1].id)
    assert {(run.kind, run.retrieval, run.model) for run in kept} == {("dataset", "words", None)}
    assert [run.suite for run in reversed(kept)] == [file.stem for file in DATASETS]
    assert (first.cases, len(first.results)) == (len(reports[0]["failures"]) + reports[0]["passed"], first.cases)
    assert first.metrics["mean_reciprocal_rank"] == reports[0]["metrics"]["mean_reciprocal_rank"]
    assert not first.breaches


def test_a_figure_below_its_floor_fails(app: APIFlask, root: Path, tmp_path: Path) -> None:
    run(app, "index", "--path", str(root))
    case = {"id": "layers", "query": "star of packages", "locale": "en", "expected_source_labels": ["layers"]}
    dataset = {
        "version": "1", "corpus_revision": "r", "module": "app", "index_profile": "developer",
        "data_classification": "synthetic", "floors": {"source_hit_at_k": 1.0}, "cases": [case],
    }  # fmt: skip
    file = tmp_path / "own.json"
    file.write_text(json.dumps(dataset))
    good = run(app, "eval", "--dataset", str(file))
    assert (good.exit_code, "1 of 1 cases" in good.output) == (0, True)
    case["expected_source_labels"] = ["another"]
    file.write_text(json.dumps(dataset))
    bad = run(app, "eval", "--dataset", str(file))
    assert bad.exit_code == 1
    assert "source_hit_at_k is 0.0000, below 1.0000" in bad.output
    case["extra"] = ["x"]
    file.write_text(json.dumps(dataset))
    malformed = run(app, "eval", "--dataset", str(file))
    assert (malformed.exit_code, "case 1 has the unknown key extra" in malformed.output) == (1, True)
    file.write_text("{")
    assert "is no JSON" in run(app, "eval", "--dataset", str(file)).output
