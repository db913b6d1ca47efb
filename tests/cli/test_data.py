"""``flask data``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from apiflask import APIFlask
from click.testing import Result
from sqlalchemy import text

from app.container import Container
from app.local import demo


def run(app: APIFlask, *arguments: str) -> Result:
    return app.test_cli_runner().invoke(args=["data", *arguments])


def scalar(container: Container, query: str) -> object:
    with container.units() as unit:
        return unit.session.scalar(text(query))


def test_an_import_reports_and_fails_when_lines_were_refused(
    app: APIFlask, container: Container, tmp_path: Path
) -> None:
    file = tmp_path / "tickets.jsonl"
    rows = [json.dumps({"id": f"INC{number}", "title": "T", "text": "x"}) for number in range(3)]
    file.write_text("\n".join([*rows, "{", "", "[]"]), encoding="utf-8")
    result = run(app, "import", str(file), "--entity", "sao.tickets", "--batch", "2")
    assert result.exit_code == 1
    assert "created    3" in result.output
    assert "2 × The line is not a JSON object. (line 4, 6)" in result.output
    assert scalar(container, "select count(*) from sao_tickets") == 3
    assert run(app, "import", str(file), "--entity", "sao.tickets", "--limit", "3").exit_code == 0


def test_a_dry_run_writes_nothing(app: APIFlask, container: Container, tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text(json.dumps({"_id": "1", "title": "T", "text": "x"}), encoding="utf-8")
    result = run(app, "import", str(file), "--entity", "cms.contents", "--dry-run", "--locale", "it")
    assert (result.exit_code, "nothing was written" in result.output) == (0, True)
    assert scalar(container, "select count(*) from cms_contents") == 0


def test_the_demo_may_run_twice(app: APIFlask, container: Container, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "admin_password", lambda config: "a long password")
    assert run(app, "demo").exit_code == 0
    counted = "select (select count(*) from cms_contents) + (select count(*) from sao_tickets)"
    first = scalar(container, counted)
    assert first == sum(len(path.read_bytes().splitlines()) for path in demo.seed_files().values())
    people = scalar(container, "select count(*) from users")
    assert people == len(demo.seed_people()) + 1
    events = scalar(container, "select count(*) from index_events")
    again = run(app, "demo")
    assert (again.exit_code, scalar(container, counted)) == (0, first)
    assert scalar(container, "select count(*) from users") == people
    assert scalar(container, "select count(*) from index_events") == events
