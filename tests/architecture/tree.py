"""The source as the architecture tests read it: files, parsed once, and what stands in them."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[2]
Node = TypeVar("Node", bound=ast.AST)

NOT_OURS = {"__pycache__", "node_modules", "build", "dist", "test-results", "reports"}


@cache
def python_files(*folders: str) -> tuple[str, ...]:
    """The Python files below ``folders``, as paths from the root with slashes."""
    found = [path for folder in folders for path in (ROOT / folder).rglob("*.py") if "__pycache__" not in path.parts]
    assert found, folders
    return tuple(sorted(path.relative_to(ROOT).as_posix() for path in found))


@cache
def parsed(path: str) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse((ROOT / path).read_text(encoding="utf-8"), path)


def nodes(path: str, kind: type[Node]) -> Iterator[Node]:
    """Every node of one kind in a file."""
    return (node for node in ast.walk(parsed(path)) if isinstance(node, kind))


def imports(path: str) -> Iterator[tuple[str, str]]:
    """(module, name) of every import in a file, wherever it stands; the name is empty for ``import module``."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


def called(node: ast.Call) -> str:
    """The last part of what is called: ``commit`` for ``unit.session.commit()``."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def text(node: ast.AST | None) -> str | None:
    """The value of a string literal."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def texts(node: ast.AST) -> Iterator[str]:
    """Every string literal inside a node."""
    return (found for part in ast.walk(node) if (found := text(part)) is not None)


def constants(path: str) -> dict[str, str]:
    """The string constants that a module gives a name."""
    return {
        target.id: value
        for node in parsed(path).body
        if isinstance(node, ast.Assign) and (value := text(node.value)) is not None
        for target in node.targets
        if isinstance(target, ast.Name)
    }


@cache
def kept_files() -> tuple[str, ...]:
    """Every file that is kept in the repository or soon will be; without git, all but what a build leaves behind."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if done.returncode == 0 and done.stdout:
        names = done.stdout.decode("utf-8").split("\0")
        return tuple(name for name in names if name and (ROOT / name).is_file())
    return tuple(
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*")
        if path.is_file() and not _left_behind(path.relative_to(ROOT).parts)
    )


def _left_behind(parts: tuple[str, ...]) -> bool:
    return any(part in NOT_OURS or (part.startswith(".") and part != ".ci") for part in parts[:-1])
