"""Processes are recognised by id and start, and ended with what they started."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from app.local.lifetime import end_tree, record, recorded, start_mark

SLEEPER = "import time; time.sleep(60)"
PARENT = f"""
import subprocess, sys, time
print(subprocess.Popen([sys.executable, "-c", {SLEEPER!r}]).pid, flush=True)
time.sleep(60)
"""


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen([sys.executable, "-c", SLEEPER])
    yield child
    child.kill()
    child.wait()


def test_a_noted_process_is_found_while_it_runs(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    record(tmp_path, "web", sleeper.pid)

    assert [(found.name, found.pid) for found in recorded(tmp_path)] == [("web", sleeper.pid)]

    sleeper.kill()
    sleeper.wait()
    assert recorded(tmp_path) == []


def test_a_later_process_with_the_same_id_is_not_taken_for_the_noted_one(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    record(tmp_path, "web", sleeper.pid)
    [noted] = recorded(tmp_path)

    assert noted.runs
    assert not replace(noted, started="1").runs


def test_a_dead_process_that_nobody_collected_does_not_count(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)

    assert start_mark(sleeper.pid) is None


def test_a_damaged_note_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "web.pid.json").write_text("{")
    (tmp_path / "other.pid.json").write_text('{"pid": 1}')

    assert recorded(tmp_path) == []


def test_ending_a_process_ends_what_it_started() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    grandchild = psutil.Process(int(parent.stdout.readline()))

    end_tree([parent.pid], 5, signal.SIGKILL)

    parent.wait()
    parent.stdout.close()
    assert not grandchild.is_running() or grandchild.status() == psutil.STATUS_ZOMBIE
