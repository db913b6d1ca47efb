"""The deletion test: without the AI packages the console starts, searches by words, and says what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.architecture.tree import ROOT

ABSENT = "The AI packages are not installed; search answers by words."
UNAVAILABLE = 503


@pytest.fixture
def seen(database: str) -> Any:
    """What the console without AI answered."""
    environment = {
        "PATH": os.environ["PATH"],
        "DATABASE_URL": database,
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "SECRET_KEY": "a secret key of the tests only",
        "CHANGEOVER_ENV": "test",
    }
    command = [sys.executable, "-m", "tests.architecture.without_ai"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_console_without_ai(seen: Any) -> None:
    assert seen["loaded"] == []
    assert seen["alive"] == 200
    assert seen["made"] == 201
    hits = [(hit["entity"], hit["title"]) for hit in seen["found"]["data"]]
    assert hits == [("cms.contents", "The printer on the second floor")]
    meta = seen["found"]["meta"]["search"]
    assert (meta["mode_applied"], meta["degraded_reason"]) == ("fast", "mode_unavailable")
    assert len(seen["found_fast"]["data"]) == 1
    assert seen["found_fast"]["meta"]["search"]["degraded_reason"] is None

    for name in ("models", "ai_page", "command"):
        status, said = seen[name]
        assert (status, ABSENT in said) == (1 if name == "command" else UNAVAILABLE, True), said

    answers = seen["pages"] | seen["resources"]
    assert len(answers) > 10
    assert answers.pop("/readyz") == UNAVAILABLE  # no worker runs here
    assert {path: status for path, status in answers.items() if status >= 500 and not _is_ai(path)} == {}
    assert {status for path, status in answers.items() if _is_ai(path)} <= {200, UNAVAILABLE}


def _is_ai(path: str) -> bool:
    return path.startswith(("/settings/ai", "/api/v1/embedding", "/api/v1/vector-health"))
