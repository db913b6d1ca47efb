"""Jobs are sent by name: every name exists, takes the ids that are sent, and goes to a queue with a timeout."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from app.core import queue
from app.core.queue import QUEUES
from tests.architecture.tree import ROOT, called, constants, nodes, parsed, python_files, text

PROCESSES = {"jobs/__init__.py", "jobs/runtime.py", "jobs/schedule.py", "jobs/worker.py"}
"""Files of `jobs` that hold no job."""
PASSES_ON = {"app/core/unit.py", "app/core/settings/actions.py", "app/core/processes/health.py"}
"""Where a wake-up is made from a name that was handed in; the names themselves are read where they stand."""


@dataclass(frozen=True)
class Sent:
    """A wake-up as it stands in the source; ``ids`` None when they can't be read there."""

    place: str
    job: str
    queue: str
    ids: frozenset[str] | None


def _sent(path: str) -> Iterator[Sent]:
    named = {**constants("app/core/queue.py"), **constants(path)}
    for node in nodes(path, ast.Call):
        if called(node) not in ("wake", "Wake", "SettingAction") or path in PASSES_ON or not node.args + node.keywords:
            continue
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        job = node.args[0] if node.args else keywords.pop("job")
        to = node.args[1] if len(node.args) > 1 else keywords.pop("queue")
        yield Sent(f"{path}:{node.lineno}", _value(job, named), _value(to, named), _ids(node, keywords))


def _value(node: ast.AST, named: dict[str, str]) -> str:
    value = named.get(node.id) if isinstance(node, ast.Name) else text(node)
    assert value is not None, ast.dump(node)
    return value


def _ids(node: ast.Call, keywords: dict[str | None, ast.expr]) -> frozenset[str] | None:
    if called(node) == "SettingAction":
        return frozenset({"setting"})
    if called(node) == "wake":
        return frozenset(name for name in keywords if name)
    given = node.args[2] if len(node.args) > 2 else keywords.get("ids")
    if given is None:
        return frozenset()
    assert isinstance(given, ast.Dict)
    return frozenset(name for key in given.keys if (name := text(key)) is not None)


SENT = [sent for path in python_files("app", "jobs") for sent in _sent(path)]


@pytest.mark.parametrize("sent", SENT, ids=lambda sent: f"{sent.place}-{sent.job}")
def test_every_job_that_is_sent_exists_and_takes_its_ids(sent: Sent) -> None:
    module, _, name = sent.job.rpartition(".")
    assert module.startswith("jobs.")
    function = getattr(importlib.import_module(module), name)
    inspect.signature(function).bind(**dict.fromkeys(sent.ids or (), 1))
    assert sent.queue in QUEUES


@pytest.mark.parametrize("path", sorted(set(python_files("jobs")) - PROCESSES))
def test_every_job_is_sent_by_somebody(path: str) -> None:
    module = path.removesuffix(".py").replace("/", ".")
    jobs = {node.name for node in parsed(path).body if isinstance(node, ast.FunctionDef) and node.name[0] != "_"}
    assert jobs == {sent.job.rpartition(".")[2] for sent in SENT if sent.job.rpartition(".")[0] == module}


@pytest.mark.parametrize("path", sorted(set(python_files("jobs")) - PROCESSES))
def test_a_job_calls_one_service_method(path: str) -> None:
    """About ten lines, and a sentence that says what it does."""
    for node in parsed(path).body:
        if isinstance(node, ast.FunctionDef):
            assert ast.get_docstring(node), node.name
            assert len(node.body) <= 10, node.name


def test_a_job_always_goes_to_the_same_queue() -> None:
    queues: dict[str, set[str]] = {}
    for sent in SENT:
        queues.setdefault(sent.job, set()).add(sent.queue)
    assert {job: names for job, names in queues.items() if len(names) > 1} == {}


def test_every_queue_has_a_timeout() -> None:
    named = {value for name, value in vars(queue).items() if name.isupper() and isinstance(value, str)}
    assert named == set(QUEUES)
    assert all(isinstance(seconds, int) and 0 < seconds <= 86_400 for seconds in QUEUES.values())


@pytest.mark.parametrize("path", ["app/local/parts.py", "compose.yaml"])
def test_every_queue_has_a_worker(path: str) -> None:
    """Both ways of starting the console name every queue (each in a worker of its own)."""
    content = (ROOT / path).read_text(encoding="utf-8")
    assert [name for name in QUEUES if f'"{name}"' not in content] == []
