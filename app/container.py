"""The one assembler: builds the parts and is the only module that sees two subsystems.

Each part gets what it needs as constructor arguments typed by a contract. A part that is switched off or missing is a
lesser strategy or None here, never a test for it elsewhere. The AI packages are imported inside `_ai_parts` only: with
them blocked the console starts and searches by words (`architecture.md`, deletion test).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from app.cms.entities import CONTENTS
from app.cms.service import Contents
from app.core.access.service import Access
from app.core.access.tokens import Tokens
from app.core.clock import Clock, SystemClock
from app.core.config import Config
from app.core.contracts.actor import Actor
from app.core.crud.bulk import BulkRecords
from app.core.crud.service import Records
from app.core.db import make_engine
from app.core.outbox import NoWords, Outbox
from app.core.processes.health import Health
from app.core.queue import JobQueue, RedisQueue
from app.core.registry import Registry
from app.core.settings.schema import EMBEDDING_MODEL, RETAIN_PREVIOUS_DAYS, declared
from app.core.settings.service import Settings
from app.core.unit import Unit, Units
from app.sao.entities import TICKETS

if TYPE_CHECKING:
    from app.documentation.service import Documentation
    from app.embeddings.client import ModelServers
    from app.embeddings.parts import EmbeddingParts
    from app.embeddings.profiles import Profiles


@dataclass
class Container:
    """Every part of the running console."""

    config: Config
    clock: Clock
    engine: Engine
    queue: JobQueue
    units: Units
    registry: Registry
    outbox: Outbox
    access: Access
    tokens: Tokens
    settings: Settings
    health: Health
    records: Records
    bulk: BulkRecords
    contents: Contents
    documentation: Documentation | None
    ai: EmbeddingParts | None = None
    profiles: Profiles | None = None
    model_servers: ModelServers | None = None
    strip: Callable[[Actor], object] | None = None


def build_container(config: Config, *, clock: Clock | None = None, queue: JobQueue | None = None) -> Container:
    """Assemble the parts; nothing is connected to before it is used. Tests may hand in a clock and a queue."""
    clock = clock or SystemClock()
    queue = queue or RedisQueue(config.redis_url)
    engine = make_engine(config.database_url)
    units = Units(engine, queue)
    registry = Registry([CONTENTS, TICKETS])
    outbox = Outbox(NoWords())
    documentation = _documentation(config, registry, outbox, clock)
    settings = Settings(declared(), clock)
    ai = _ai_parts(config, units, queue, clock, settings)
    return Container(
        config=config,
        clock=clock,
        engine=engine,
        queue=queue,
        units=units,
        registry=registry,
        outbox=outbox,
        access=Access(clock, registry, config.secret_key.get_secret_value()),
        tokens=Tokens(clock),
        settings=settings,
        health=Health(units, queue),
        records=Records(registry, outbox, clock),
        bulk=BulkRecords(registry, outbox, clock),
        contents=Contents(outbox, clock),
        documentation=documentation,
        ai=ai,
        profiles=ai.profiles if ai else None,
        model_servers=ai.servers if ai else None,
    )


class SwitchSettings:
    """What the switch reads and writes of the settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def retain_days(self, unit: Unit) -> int:
        return int(self.settings.value(unit, RETAIN_PREVIOUS_DAYS) or 0)

    def model_chosen(self, unit: Unit, key: str, by: Actor) -> None:
        if key:
            self.settings.write_system(unit, EMBEDDING_MODEL, key, by.id)


def _ai_parts(
    config: Config, units: Units, queue: JobQueue, clock: Clock, settings: Settings
) -> EmbeddingParts | None:
    """The vectors and all that runs them; None when the package is not there."""
    try:
        from app.embeddings.client import ModelServers
        from app.embeddings.parts import build_parts
        from app.embeddings.profiles import load_profiles
    except ImportError:
        return None
    profiles = load_profiles(config)
    servers = ModelServers(profiles, config.servers, clock)
    return build_parts(config, units, queue, clock, profiles, servers, SwitchSettings(settings))


def _documentation(config: Config, registry: Registry, outbox: Outbox, clock: Clock) -> Documentation | None:
    """The documentation corpora and their entities; None when the package is not there."""
    try:
        from app.documentation.entities import ENTITIES
        from app.documentation.service import Documentation
    except ImportError:
        return None
    for entity in ENTITIES:
        registry.add(entity)
    return Documentation(outbox, clock, config.changeover_docs_root)
