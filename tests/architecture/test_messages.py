"""Error codes: each one that is raised has a sentence, whose placeholders are values that it is raised with."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

import pytest

from app.core import errors
from app.core.messages import SENTENCES
from tests.architecture.tree import called, nodes, python_files, text, texts

OURS = python_files("app", "jobs")
CLASSES = {
    name
    for name, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.ChangeoverError) and kind not in (errors.ConfigurationError, errors.ModelServerFailed)
}
PHASES = python_files("app/embeddings")
"""Here `failed("code", …)` is the end of a switch with a reason."""
NAMES_OF_MORE = {"ai", "documentation", "health", "search"}
"""Name spaces of codes that also hold other names (pages, entities)."""
ALWAYS = {"retry_after", "path"}
_PLACEHOLDER = re.compile(r"%\((\w+)\)s")
_PERCENT = re.compile(r"%(?!\(\w+\)s|%)")


def _raised(path: str) -> Iterator[tuple[ast.Call, str]]:
    """Calls that make an error, with the code where it stands there literally."""
    for node in nodes(path, ast.Call):
        failed = called(node) == "failed" and path in PHASES
        if (called(node) in CLASSES or failed) and node.args and (code := text(node.args[0])) is not None:
            if failed and "." not in code:
                continue  # the client's own `failed(reason)`, below
            yield node, code


RAISED = [(f"{path}:{node.lineno}", node, code) for path in OURS for node, code in _raised(path)]


def test_errors_were_found() -> None:
    assert len(RAISED) > 100


@pytest.mark.parametrize(("place", "node", "code"), RAISED, ids=[f"{place}-{code}" for place, _, code in RAISED])
def test_every_error_has_a_sentence_and_its_values(place: str, node: ast.Call, code: str) -> None:
    assert code in SENTENCES
    given = {keyword.arg for keyword in node.keywords}
    if None not in given:  # ** hides the names
        assert set(_PLACEHOLDER.findall(SENTENCES[code])) <= given | ALWAYS


def test_every_sentence_is_used() -> None:
    literals = {literal for path in OURS if path != "app/core/messages.py" for literal in _literals(path)}
    assert {code for code in SENTENCES if code not in literals and not code.startswith("server.")} == set()


def _literals(path: str) -> Iterator[str]:
    return (literal for node in nodes(path, ast.Constant) for literal in texts(node))


def test_every_literal_that_looks_like_a_code_is_one() -> None:
    """Codes also travel without an error class: to the ledger, and to the edge's own refusals."""
    spaces = {code.split(".")[0] for code in SENTENCES} - NAMES_OF_MORE
    looks_like_one = re.compile(rf"({'|'.join(sorted(spaces))})(\.[a-z_]+)+")
    found = {literal for path in OURS for literal in _literals(path) if looks_like_one.fullmatch(literal)}
    assert found - set(SENTENCES) == set()


def test_every_failure_of_a_server_has_a_sentence() -> None:
    """The reasons are those that the docstring of the class lists, and all of them can happen."""
    listed = set(re.findall(r"``(\w+)``", (errors.ModelServerFailed.__doc__ or "").split("is a short class:")[1]))
    listed -= {"retry_after"}
    assert {f"server.{reason}" for reason in listed} == {code for code in SENTENCES if code.startswith("server.")}
    literals = {literal for path in PHASES for literal in _literals(path)}
    assert listed <= literals


@pytest.mark.parametrize("code", SENTENCES)
def test_sentences_are_sentences(code: str) -> None:
    sentence = SENTENCES[code]
    assert _PERCENT.search(sentence) is None
    assert sentence[0].isupper() or sentence.startswith("%(")
    assert sentence.endswith((".", "?", "%(problems)s", "%(reason)s", "%(detail)s", "%(examples)s", "%(allowed)s."))
    assert "!" not in sentence
    assert "please" not in sentence.lower()
