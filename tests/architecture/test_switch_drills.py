"""Checkpoints of the switch: each one that is passed is listed, each one listed is passed, and each phase has some."""

from __future__ import annotations

import ast

import pytest

from app.embeddings.checkpoints import NAMES
from app.embeddings.phases.ports import PHASES
from tests.architecture.tree import called, imports, nodes, python_files, text, texts

EMBEDDINGS = python_files("app/embeddings")

WHO_WORKS = {
    "preflight": ("app/embeddings/phases/preflight.py",),
    "embeddings": ("app/embeddings/chunks.py", "app/embeddings/synchroniser.py"),
    "indexes": ("app/embeddings/phases/indexes.py", "app/embeddings/index_chunks.py"),
    "verify": ("app/embeddings/index_chunks.py", "app/embeddings/consumers.py"),
    "activate": ("app/embeddings/phases/activate.py",),
}
"""The files that do a phase's work. The steps themselves are committed by the machine, between `step.claimed` and
`step.committed`; a phase that waits for chunks passes its own checkpoints in the workers that take them."""
POINTS = {
    "preflight": ("preflight.",),
    "embeddings": ("chunk.",),
    "indexes": ("indexes.",),
    "verify": ("verify.",),
    "activate": ("activate.",),
}


def _passed(path: str) -> set[str]:
    return {
        name
        for node in nodes(path, ast.Call)
        if called(node) == "checkpoint" and node.args
        for name in texts(node.args[0])
        if "." in name
    }


def test_names_are_listed_once() -> None:
    assert len(NAMES) == len(set(NAMES))


def test_every_checkpoint_is_listed_and_every_name_is_passed() -> None:
    assert {name for path in EMBEDDINGS for name in _passed(path)} == set(NAMES)


def test_every_phase_has_a_file_and_every_file_is_a_phase() -> None:
    steps = {path.split("/")[-1].removesuffix(".py") for path in EMBEDDINGS if "/phases/" in path}
    assert steps - {"__init__", "ports"} == set(PHASES) == set(WHO_WORKS)


@pytest.mark.parametrize("phase", PHASES)
def test_a_phase_can_be_killed_in_its_work(phase: str) -> None:
    """A phase without a checkpoint of its own could not be drilled: the fault table would not cover it."""
    passed = {name for path in WHO_WORKS[phase] for name in _passed(path)}
    assert [name for name in passed if name.startswith(POINTS[phase])]


def test_the_machine_can_be_killed_around_every_step() -> None:
    assert {"step.claimed", "step.before_commit", "step.committed"} <= _passed("app/embeddings/machine.py")


@pytest.mark.parametrize("path", [path for path in EMBEDDINGS if "/phases/" in path])
def test_phases_do_not_know_who_drives_them(path: str) -> None:
    drivers = ("app.embeddings.machine", "app.embeddings.switch", "app.embeddings.watchdog", "app.embeddings.parts")
    assert [module for module, _ in imports(path) if module.startswith(drivers)] == []


def test_literal_phases_are_known() -> None:
    """``enter("…")`` leads to a phase that exists."""
    entered = {
        text(node.args[0])
        for path in EMBEDDINGS
        for node in nodes(path, ast.Call)
        if called(node) in ("enter", "NotYet") and node.args
    }
    assert entered <= set(PHASES)
