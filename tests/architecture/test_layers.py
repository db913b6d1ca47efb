"""The layers that import-linter keeps: that they hold, and that a subsystem has its place in each of them."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from typing import Any

from tests.architecture.tree import ROOT

RUN = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def _contracts() -> dict[str, dict[str, Any]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    return {contract["id"]: contract for contract in settings["contracts"]}


def test_layers_hold() -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_subsystem_is_kept_apart() -> None:
    contracts = _contracts()
    (row,) = [layer for layer in contracts["layers"]["layers"] if "search" in layer]
    subsystems = {f"app.{name.strip()}" for name in row.split("|")}
    assert subsystems - {"app.local"} == set(contracts["entry-points"]["forbidden_modules"])
    assert subsystems <= set(contracts["flask"]["source_modules"])


def test_jobs_and_application_have_the_same_doors() -> None:
    contracts = _contracts()
    assert contracts["flask"]["forbidden_modules"] == contracts["flask-jobs"]["forbidden_modules"]
