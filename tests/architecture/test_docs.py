"""The documentation names what the code has: variables, their defaults, commands, API addresses and files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from pydantic_core import PydanticUndefined

from app.api.v1 import BLUEPRINTS
from app.cli import GROUPS
from app.core.config import Config

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = ROOT / "docs/reference/configuration.md"
README = ROOT / "README.md"
SUPERVISOR_ONLY = {"PORT", "HOST"}
"""Read by `make run` before the application, see `app/local/parts.py`."""
OURS = [README, ROOT / "jobs/README.md", ROOT / "evaluations/README.md", *(ROOT / "docs").glob("*.md")]
OURS += [page for folder in ("adr", "reference", "runbooks") for page in (ROOT / "docs" / folder).glob("*.md")]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
COMMAND = re.compile(r"\bflask (?:--app wsgi )?([a-z]+)(?: ([a-z]+(?:-[a-z]+)*))?((?:[^\n`|]|\\\n)*)")


def documented_variables() -> dict[str, str]:
    """Variable to the default as it is written; "required" where there is none."""
    rows = re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \|", CONFIGURATION.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: default.strip().strip("`") for name, default in rows}


def shown(name: str) -> str:
    """A field's default as the table shows it."""
    default = Config.model_fields[name].get_default(call_default_factory=True, validated_data={})
    if default is PydanticUndefined:
        return "required"
    if default is None or default == {}:
        return "none"
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, float) else str(default)


def commands() -> dict[str, click.Command]:
    """Every command of ours as ``group command``."""
    return {f"{group.name} {name}": command for group in GROUPS for name, command in group.commands.items()}


def mentioned(page: Path) -> Iterator[tuple[str, list[str]]]:
    """(``group command``, options) of every `flask …` of ours that a page mentions."""
    for group, name, rest in COMMAND.findall(page.read_text(encoding="utf-8")):
        if group in {one.name for one in GROUPS}:
            yield f"{group} {name}", re.findall(r"(?<!\S)--[a-z-]+", rest.split("#")[0])


def test_every_variable_is_documented_with_its_default() -> None:
    expected = {name.upper(): shown(name) for name in Config.model_fields}
    documented = documented_variables()
    assert set(documented) - SUPERVISOR_ONLY == set(expected)
    assert {name: documented[name] for name in expected} == expected


def test_the_readme_lists_every_command() -> None:
    rows = re.findall(r"^\| `flask ([a-z]+ [a-z]+(?:-[a-z]+)*)", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(rows) == set(commands())


@pytest.mark.parametrize("page", OURS, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_exist(page: Path) -> None:
    known = commands()
    for name, options in mentioned(page):
        assert name in known, f"flask {name}"
        allowed = {option for parameter in known[name].params for option in parameter.opts} | {"--help"}
        assert set(options) <= allowed, f"flask {name}"


def test_the_readme_lists_every_option() -> None:
    """A row's last column and its command together name all options of the command."""
    text = README.read_text(encoding="utf-8")
    for name, command in commands().items():
        rows = "\n".join(re.findall(rf"^\| `flask {name}[ `].*$", text, re.MULTILINE))
        options = {option for one in command.params if isinstance(one, click.Option) for option in one.opts}
        assert options - {"--password"} <= set(re.findall(r"--[a-z-]+", rows)), f"flask {name}"


def test_the_settled_addresses_exist() -> None:
    """The addresses of the README's table are those of the embedding and health resources and of search."""
    text = README.read_text(encoding="utf-8")
    written = set(re.findall(r"`(?:GET|POST) (/[a-z0-9/-]+)", text))
    written |= {f"/api/v1/embedding-switches/current/{verb}" for verb in re.findall(r"`…/([a-z]+)`", text)}
    from flask import Flask

    app = Flask("addresses")
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    real = {rule.rule for rule in app.url_map.iter_rules()}
    assert written <= real
    settled = {
        rule for rule in real if rule.startswith(("/healthz", "/readyz", "/api/v1/embedding-", "/api/v1/search"))
    }
    assert settled <= written


@pytest.mark.parametrize("page", OURS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_index_lists_every_decision_and_runbook() -> None:
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    for folder in ("adr", "runbooks"):
        for page in (ROOT / "docs" / folder).glob("*.md"):
            assert f"({folder}/{page.name})" in index, page.name
