"""Where things may live: SQL, commits, refusals, work at import, imports of migrations and contracts."""

from __future__ import annotations

import ast
import sys
from fnmatch import fnmatch

import pytest

from tests.architecture.tree import ROOT, called, imports, nodes, parsed, python_files

OURS = python_files("app", "jobs")

SQL_PLACES = (
    "app/*/models.py",
    "app/*store.py",
    "app/search/engines/*.py",
    "app/embeddings/indexes/*.py",
    "app/core/access/policy.py",
)
SQL_EXCEPTIONS = {
    "app/core/db.py": "builds the engine and the base of the mapped classes",
    "app/core/unit.py": "opens sessions",
    "app/embeddings/leases.py": "renews on a connection of its own, beside the unit that it guards",
}
NO_SQL = {"Engine", "Connection", "Session", "ColumnElement"}
"""What a module without SQL may name: the types that it hands on. Drivers' errors are free everywhere."""
RUNS_SQL = {"execute", "scalar", "scalars", "exec_driver_sql", "query"}
HOLDS_SESSION = {"session", "connection", "conn", "cursor"}

FILLED_PACKAGES = {"app/web/__init__.py", "app/api/__init__.py", "app/api/v1/__init__.py", "app/cli/__init__.py"}


def _is_sql_place(path: str) -> bool:
    return path in SQL_EXCEPTIONS or any(fnmatch(path, pattern) for pattern in SQL_PLACES)


@pytest.mark.parametrize("path", [path for path in OURS if not _is_sql_place(path)])
def test_sql_lives_in_models_stores_engines_and_indexes(path: str) -> None:
    named = [
        f"{module}.{name}"
        for module, name in imports(path)
        if module.split(".")[0] in ("sqlalchemy", "pgvector") and module != "sqlalchemy.exc" and name not in NO_SQL
    ]
    assert named == []
    run = [
        node.lineno
        for node in nodes(path, ast.Call)
        if called(node) in RUNS_SQL and isinstance(node.func, ast.Attribute) and _holder(node.func) in HOLDS_SESSION
    ]
    assert run == []


def _holder(function: ast.Attribute) -> str:
    """What a method is called on: ``session`` for ``unit.session.execute``."""
    owner = function.value
    if isinstance(owner, ast.Attribute):
        return owner.attr
    return owner.id if isinstance(owner, ast.Name) else ""


def test_exceptions_of_sql_are_still_needed() -> None:
    for path in SQL_EXCEPTIONS:
        assert any(module.startswith("sqlalchemy") and name not in NO_SQL for module, name in imports(path)) or any(
            called(node) == "Session" for node in nodes(path, ast.Call)
        ), path


def test_only_the_unit_commits() -> None:
    """Opening a unit is the right to commit. `begin` would commit too, `begin_nested` is a savepoint."""
    found = {path for path in OURS for node in nodes(path, ast.Call) if called(node) in ("commit", "begin")}
    assert found == {"app/core/unit.py"}


def test_errors_are_raised_and_never_aborted() -> None:
    found = {path for path in OURS for node in nodes(path, ast.Call) if called(node) == "abort"}
    found |= {path for path in OURS for _, name in imports(path) if name == "abort"}
    assert found == set()


def test_packages_are_empty_except_where_they_register() -> None:
    filled = {
        path for path in OURS if path.endswith("__init__.py") and (ROOT / path).read_text(encoding="utf-8").strip()
    }
    assert filled == FILLED_PACKAGES


@pytest.mark.parametrize("path", python_files("migrations"))
def test_migrations_import_nothing_of_ours(path: str) -> None:
    assert [module for module, _ in imports(path) if module.split(".")[0] in ("app", "jobs", "tests")] == []


@pytest.mark.parametrize("path", python_files("app/core/contracts"))
def test_contracts_import_the_standard_library_only(path: str) -> None:
    others = [
        module
        for module, _ in imports(path)
        if module.split(".")[0] not in sys.stdlib_module_names and not module.startswith("app.core.contracts")
    ]
    assert others == []


@pytest.mark.parametrize("path", python_files("app/core/contracts"))
def test_contracts_stay_small(path: str) -> None:
    """A Protocol under six methods, a file under 150 lines."""
    assert len((ROOT / path).read_text(encoding="utf-8").splitlines()) <= 150
    for node in nodes(path, ast.ClassDef):
        methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
        assert len(methods) < 6, node.name


def test_no_module_is_named_after_nothing() -> None:
    nameless = {"utils", "util", "helpers", "helper", "common", "base", "misc"}
    assert [path for path in OURS if nameless & set(path.removesuffix(".py").split("/"))] == []


@pytest.mark.parametrize("path", OURS)
def test_nothing_works_at_import(path: str) -> None:
    """At the top of a module stand definitions; a loop, a `with` or a bare call would be work."""
    work = [
        node.lineno
        for node in parsed(path).body
        if isinstance(node, ast.For | ast.While | ast.With)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
    ]
    assert work == []
