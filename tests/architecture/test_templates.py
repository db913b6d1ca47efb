"""Templates: all compile, name only what exists, and hold no script, style or markup that skips escaping."""

from __future__ import annotations

import re

import pytest
from apiflask import APIFlask
from jinja2 import nodes

from tests.architecture.tree import ROOT

TEMPLATES = sorted(path.relative_to(ROOT / "templates").as_posix() for path in (ROOT / "templates").rglob("*.html"))

INLINE = {
    "a filter that skips escaping": re.compile(r"\|\s*safe\b"),
    "a block that skips escaping": re.compile(r"{%-?\s*autoescape\s+false"),
    "an inline style": re.compile(r"<style\b|\sstyle\s*=", re.IGNORECASE),
    "an inline handler": re.compile(r"<[^>]*\son[a-z]+\s*=", re.IGNORECASE),
    "an address that is a script": re.compile(r"javascript:", re.IGNORECASE),
    "an inline script": re.compile(r"<script\b(?![^>]*\ssrc=)", re.IGNORECASE),
    "a file of another host": re.compile(r"(?:src|href)\s*=\s*[\"'](?:https?:)?//", re.IGNORECASE),
}


def _source(name: str) -> str:
    return (ROOT / "templates" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TEMPLATES)
def test_compiles(app: APIFlask, name: str) -> None:
    app.jinja_env.get_template(name)


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("kind", INLINE)
def test_holds_nothing_inline(name: str, kind: str) -> None:
    assert INLINE[kind].findall(_source(name)) == []


@pytest.mark.parametrize("name", TEMPLATES)
def test_names_only_what_exists(app: APIFlask, name: str) -> None:
    """Parts that are included, pages that are linked to, files that are loaded."""
    tree = app.jinja_env.parse(_source(name))
    for kind in (nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport):
        for node in tree.find_all(kind):
            if isinstance(node.template, nodes.Const):
                assert node.template.value in TEMPLATES
    endpoints = {rule.endpoint for rule in app.url_map.iter_rules()}
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name == "url_for" and call.args:
            target = call.args[0]
            if isinstance(target, nodes.Const):
                assert target.value in endpoints
                _check_file(target.value, call)


def _check_file(endpoint: str, call: nodes.Call) -> None:
    for keyword in call.kwargs:
        if endpoint == "static" and keyword.key == "filename" and isinstance(keyword.value, nodes.Const):
            assert (ROOT / "static" / keyword.value.value).is_file()


@pytest.mark.parametrize("name", TEMPLATES)
def test_is_used(name: str) -> None:
    """By a view or by another template; what nobody shows is removed."""
    users = [path for folder in ("app", "templates") for path in (ROOT / folder).rglob("*") if path.is_file()]
    quoted = (f'"{name}"', f"'{name}'")
    assert any(
        quote in path.read_text(encoding="utf-8")
        for path in users
        if path.suffix in (".py", ".html")
        for quote in quoted
    )
