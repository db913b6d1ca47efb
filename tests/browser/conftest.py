"""A real Chromium on a console of real processes: packaged models, some 60 records of the demo's data."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Error, Playwright, expect, sync_playwright
from pydantic import SecretStr

from app.container import build_container
from app.core.access.actor import ADMINISTRATOR
from app.core.config import Config, ServerSettings
from app.core.contracts.actor import SYSTEM
from app.core.crud.importing import Importer
from app.core.crud.lines import Source
from app.core.settings.schema import BUDGET_BALANCED, BUDGET_FAST
from app.local.demo import seed_files
from tests.browser.desk import PASSWORD, Desk
from tests.fixtures.bench import OneOfEach, pass_events
from tests.fixtures.forked import ForkedConsole
from tests.fixtures.servers import TestServers, create_database, drop_database, e5_server

MISSING = "Chromium is not installed, so the pages were not tried in a browser. On Debian: apt-get install chromium."
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
LIMIT_MS = 30_000
RECORDS_OF_EACH = 30
PROFILE = """
[profiles."openai_compatible:{name}"]
label = "{name}"
description = "A test model."
dimensions = {dimensions}
server = "{name}"
prefixes = "{prefixes}"
"""
MODELS = {
    "wordllama-64": (64, "client"),
    "wordllama-256": (256, "client"),
    "multilingual-e5-small-q4": (384, "server"),
}

MakeDesk = Callable[..., Desk]


@pytest.fixture(scope="session")
def _playwright() -> Iterator[Playwright]:
    expect.set_options(timeout=LIMIT_MS)
    with sync_playwright() as library:
        yield library


@pytest.fixture(scope="session")
def chromium(_playwright: Playwright) -> Iterator[Browser]:
    """The machine's Chromium. Without one the test is skipped; in CI it fails."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), _playwright.chromium.executable_path)
    if not Path(found).exists():
        if os.environ.get("CI") == "true":
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    try:
        browser = _playwright.chromium.launch(executable_path=found, args=list(FLAGS))
    except Error as error:
        pytest.fail(f"{found} did not start: {error.message.splitlines()[0]}")
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def seeded(servers: TestServers, template_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a database with the administrator and some 60 records, embedded with the small model."""
    name = f"browser_{uuid4().hex[:12]}"
    url = create_database(servers.database_url, name, template_database)
    config = _config(url, servers.redis_url, tmp_path_factory.mktemp("seeded"), _small_models(servers))
    container = build_container(config, queue=OneOfEach())
    with container.units() as unit:
        container.access.ensure_roles(unit)
        container.access.create_user(unit, "admin", PASSWORD, [ADMINISTRATOR], "Ada Admin")
        for limit in (BUDGET_FAST, BUDGET_BALANCED):  # no test depends on how busy the machine is
            container.settings.write_system(unit, limit, 30_000)
    importer = Importer(container.registry, container.bulk, container.units)
    for entity, path in seed_files().items():
        with path.open("rb") as stream:
            tally = importer.run(stream, SYSTEM, entity, Source("demo", "en"), limit=RECORDS_OF_EACH)
        assert tally.counts["created"] == RECORDS_OF_EACH
    assert container.ai is not None
    container.ai.upkeep.set_up()
    pass_events(container)
    container.ai.upkeep.build_missing_indexes()
    container.engine.dispose()
    yield name
    drop_database(servers.database_url, name)


@pytest.fixture(scope="session")
def e5() -> Iterator[str]:
    """The address of the real multilingual-e5-small."""
    with e5_server() as address:
        yield address


@pytest.fixture
def make_desk(
    chromium: Browser, servers: TestServers, seeded: str, redis_url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[MakeDesk]:
    """Makes a desk: a console whose search stands on the small model already, and a browser before its sign-in page."""
    with ExitStack() as stack:

        def make(locale: str = "en", *, javascript: bool = True, e5: bool = False) -> Desk:
            name = f"desk_{uuid4().hex[:12]}"
            url = create_database(servers.database_url, name, seeded)
            stack.callback(drop_database, servers.database_url, name)
            models = _small_models(servers)
            if e5:
                models["multilingual-e5-small-q4"] = request.getfixturevalue("e5")
            config = _config(url, redis_url, tmp_path, models)
            container = build_container(config)
            stack.callback(container.engine.dispose)
            console = ForkedConsole(url, redis_url, _environment(config), tmp_path / "logs")
            stack.callback(console.stop)
            console.start()
            context = stack.enter_context(
                chromium.new_context(
                    base_url=console.url,
                    locale={"en": "en-GB", "it": "it-IT"}[locale],
                    java_script_enabled=javascript,
                    viewport={"width": 1280, "height": 900},
                )
            )
            context.set_default_timeout(LIMIT_MS)
            desk = Desk(console, container, context.new_page(), locale)
            desk.wait_until_all_is_there()
            return desk

        yield make


def _small_models(servers: TestServers) -> dict[str, str]:
    return {model: servers.embeddings[model] for model in ("wordllama-64", "wordllama-256")}


def _config(url: str, redis_url: str, folder: Path | None = None, models: dict[str, str] | None = None) -> Config:
    values: dict[str, Any] = {}
    if folder is not None and models is not None:
        profiles = folder / "profiles.toml"
        profiles.write_text(
            "".join(PROFILE.format(name=name, dimensions=MODELS[name][0], prefixes=MODELS[name][1]) for name in models)
        )
        values = {
            "ai_embeddings_profiles": profiles,
            "ai_embeddings_servers": {name: ServerSettings(url=address) for name, address in models.items()},
            "ai_embeddings_initial": "openai_compatible:wordllama-64",
            "ai_embeddings_index_memory_mb": 16,
        }
    return Config(
        database_url=url,
        redis_url=redis_url,
        secret_key=SecretStr("a secret key of the tests only"),
        changeover_env="test",
        **values,
    )


def _environment(config: Config) -> dict[str, str]:
    return {
        "AI_EMBEDDINGS_PROFILES": str(config.ai_embeddings_profiles),
        "AI_EMBEDDINGS_SERVERS": json.dumps({name: {"url": one.url} for name, one in config.servers.items()}),
        "AI_EMBEDDINGS_INITIAL": str(config.ai_embeddings_initial),
        "AI_EMBEDDINGS_INDEX_MEMORY_MB": str(config.ai_embeddings_index_memory_mb),
    }
