"""The one assembler: builds the parts and is the only module that sees two subsystems.

Each part gets what it needs as constructor arguments typed by a contract. A part that is switched off or missing is a
lesser strategy or None here, never a test for it elsewhere. The AI packages are imported inside `_ai_parts` only: with
them blocked the console starts and searches by words (`architecture.md`, deletion test).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Engine
from sqlalchemy.orm import Session

from app.cms.entities import CONTENTS
from app.cms.service import Contents
from app.core.access.actor import actor_of
from app.core.access.policy import readable, records_of_many
from app.core.access.preferences import Preferences
from app.core.access.service import Access
from app.core.access.tokens import Tokens
from app.core.approvals import store as approvals_store
from app.core.approvals.parts import RECORD, SETTING
from app.core.approvals.parts import Parts as ApprovalParts
from app.core.approvals.planning import Planning
from app.core.approvals.ports import Applier
from app.core.approvals.service import Approvals
from app.core.approvals.settings import SettingApplier
from app.core.audit.log import AuditLog
from app.core.audit.service import Audit
from app.core.clock import Clock, SystemClock
from app.core.config import Config
from app.core.contracts.actor import Actor
from app.core.contracts.strategy import SearchStrategyResolver
from app.core.contracts.vectors import VectorSearch
from app.core.crud.approving import RecordApplier
from app.core.crud.bulk import BulkRecords
from app.core.crud.export import Exports
from app.core.crud.many import ManyRecords
from app.core.crud.service import Records
from app.core.crud.summary import Summaries
from app.core.db import make_engine
from app.core.errors import Unavailable
from app.core.idempotency.service import Idempotency
from app.core.outbox import Outbox
from app.core.processes.health import Health
from app.core.queue import JobQueue, RedisQueue
from app.core.registry import Registry
from app.core.settings.schema import (
    BUDGET_BALANCED,
    DEEP_PER_MINUTE,
    EMBEDDING_MODEL,
    PAGE_SIZE,
    RETAIN_PREVIOUS_DAYS,
    SEARCH_ENGINE,
    SYNONYMS_EN,
    SYNONYMS_IT,
    VECTOR_DIMENSIONS,
    VECTOR_ENABLED,
    VECTOR_MODEL,
    VECTOR_SIMILARITY,
    VECTOR_SUSPENDED,
    Value,
    declared,
)
from app.core.settings.service import Settings
from app.core.unit import Unit, Units
from app.sao.entities import TICKETS
from app.search.engines.chosen import ChosenEngine
from app.search.engines.elasticsearch import ElasticsearchEngine
from app.search.engines.elasticsearch_client import Cluster
from app.search.engines.elasticsearch_follow import Elasticsearch
from app.search.engines.ports import SearchEngine
from app.search.engines.postgres import PostgresEngine
from app.search.engines.schema import RowFilters
from app.search.rates import DeepRate
from app.search.resolver import LexicalResolver
from app.search.service import Search
from app.search.spelling import read_groups
from app.search.work import Defaults

if TYPE_CHECKING:
    from app.documentation.answering import Answering
    from app.documentation.service import Documentation
    from app.embeddings.client import ModelServers
    from app.embeddings.models import SwitchFailure
    from app.embeddings.parts import EmbeddingParts
    from app.embeddings.profiles import Profiles


SERVING_COLUMNS = {
    VECTOR_MODEL: "model_key",
    VECTOR_DIMENSIONS: "dimensions",
    VECTOR_SIMILARITY: "similarity",
    VECTOR_SUSPENDED: "suspended_reason",
}
"""Managed settings and the column of the serving row that each shows."""


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
    audit: Audit
    audit_log: AuditLog
    approvals: Approvals
    idempotency: Idempotency
    access: Access
    preferences: Preferences
    tokens: Tokens
    settings: Settings
    health: Health
    records: Records
    many: ManyRecords
    summaries: Summaries
    exports: Exports
    bulk: BulkRecords
    contents: Contents
    documentation: Documentation | None
    word_engine: SearchEngine
    search: Search
    elasticsearch: Elasticsearch | None = None
    vectors: VectorSearch | None = None
    answering: Answering | None = None
    ai: EmbeddingParts | None = None
    profiles: Profiles | None = None
    model_servers: ModelServers | None = None
    strip: Callable[[Actor], object] | None = None
    switch_failures: Callable[[int], Sequence[SwitchFailure]] | None = None

    def embedding_parts(self) -> EmbeddingParts:
        """The part that runs the vectors. Raises :class:`Unavailable` where it is not installed."""
        if self.ai is None:
            raise Unavailable("ai.absent")
        return self.ai


def build_container(config: Config, *, clock: Clock | None = None, queue: JobQueue | None = None) -> Container:
    """Assemble the parts; nothing is connected to before it is used. Tests may hand in a clock and a queue."""
    clock = clock or SystemClock()
    queue = queue or RedisQueue(config.redis_url)
    engine = make_engine(config.database_url)
    units = Units(engine, queue)
    registry = Registry([CONTENTS, TICKETS])
    row_filters = RowFilters(registry)
    word_engine: SearchEngine = PostgresEngine(row_filters, clock)
    outbox = Outbox(word_engine.words)
    documentation = _documentation(config, registry, outbox, clock)
    audit = Audit(clock)
    settings = Settings(declared(), clock, audit=audit)
    appliers: dict[str, Applier] = {SETTING: SettingApplier(settings)}
    approvals = Approvals(ApprovalParts(clock, audit, registry, settings, _authors(registry), appliers))
    settings.moderation = approvals
    elasticsearch: Elasticsearch | None = None
    if config.elasticsearch_url:
        cluster = Cluster(config.elasticsearch_url, config.elasticsearch_prefix, clock, config.elasticsearch_timeout)
        elasticsearch = Elasticsearch(units, cluster, registry)
        word_engine = _chosen(word_engine, ElasticsearchEngine(cluster, word_engine, row_filters, registry), settings)
    ai = _ai_parts(config, units, queue, clock, settings)
    if ai is not None:
        _serving_settings(settings, ai.profiles)
    vectors = _vectors(units, settings, row_filters, ai)
    records = Records(registry, outbox, clock, audit, approvals)
    appliers[RECORD] = RecordApplier(records, Records(registry, outbox, clock, audit, Planning()))
    return Container(
        config=config,
        clock=clock,
        engine=engine,
        queue=queue,
        units=units,
        registry=registry,
        outbox=outbox,
        audit=audit,
        audit_log=_audit_log(registry, clock),
        approvals=approvals,
        idempotency=Idempotency(clock, config.secret_key.get_secret_value()),
        access=Access(clock, registry, config.secret_key.get_secret_value(), audit),
        preferences=Preferences(clock),
        tokens=Tokens(clock, registry, audit),
        settings=settings,
        health=Health(units, queue, config.embeddings_workers),
        records=records,
        many=ManyRecords(records, config.secret_key.get_secret_value()),
        summaries=Summaries(records),
        exports=Exports(records, units),
        bulk=BulkRecords(registry, outbox, clock, audit),
        contents=Contents(outbox, clock),
        documentation=documentation,
        word_engine=word_engine,
        search=_search(units, registry, word_engine, DeepRate(config.redis_url, clock), settings, vectors),
        elasticsearch=elasticsearch,
        vectors=vectors,
        answering=_answering(units, word_engine, clock, vectors) if documentation else None,
        ai=ai,
        profiles=ai.profiles if ai else None,
        model_servers=ai.servers if ai else None,
        switch_failures=_switch_failures(units) if ai else None,
    )


def _audit_log(registry: Registry, clock: Clock) -> AuditLog:
    def rows_seen(actor: Actor, entity: ColumnElement[Any], record_id: ColumnElement[Any]) -> ColumnElement[bool]:
        return records_of_many(actor, registry, entity, record_id)

    return AuditLog(registry, clock, rows_seen, readable)


def _authors(registry: Registry) -> Callable[[Unit, int], Actor | None]:
    """The author of a captured change as they are now; None when the account is disabled or gone."""

    def author(unit: Unit, user_id: int) -> Actor | None:
        user = approvals_store.author(unit.session, user_id)
        return actor_of(user, registry=registry) if user is not None and user.is_active else None

    return author


class SwitchSettings:
    """What the switch reads and writes of the settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def retain_days(self, unit: Unit) -> int:
        return int(self.settings.value(unit, RETAIN_PREVIOUS_DAYS) or 0)

    def model_chosen(self, unit: Unit, key: str, by: Actor) -> None:
        if key:
            self.settings.write_system(unit, EMBEDDING_MODEL, key, by.id)


def _ai_parts(config: Config, units: Units, queue: JobQueue, clock: Clock, settings: Settings) -> EmbeddingParts | None:
    """The vectors and all that runs them; None when the package is not there."""
    try:
        from app.embeddings.client import ModelServers
        from app.embeddings.parts import build_parts
        from app.embeddings.profiles import load_profiles
    except ModuleNotFoundError as error:
        if not _is_ours(error):
            raise
        return None
    profiles = load_profiles(config)
    servers = ModelServers(profiles, config.servers, clock)
    return build_parts(config, units, queue, clock, profiles, servers, SwitchSettings(settings))


def _is_ours(error: ModuleNotFoundError) -> bool:
    """A package of ours that is not there is a choice; a library that is missing is a broken installation."""
    return (error.name or "").startswith("app.")


def _serving_settings(settings: Settings, profiles: Profiles) -> None:
    """``features.embeddings.model`` offers the configured models; ``search.vector.*`` show the serving row."""
    from app.embeddings import store

    choices = declared(lambda: [key for key in profiles.keys() if profiles.configured(key)])  # noqa: SIM118
    settings.definitions = {definition.name: definition for definition in choices}

    def shows(column: str) -> Callable[[Unit], Value]:
        def provide(unit: Unit) -> Value:
            row = store.serving(unit.session)
            return None if row is None else getattr(row, column)

        return provide

    for name, column in SERVING_COLUMNS.items():
        settings.providers[name] = shows(column)


def _switch_failures(units: Units) -> Callable[[int], Sequence[SwitchFailure]]:
    """Documents without a vector in a space, also when its switch has ended (for the summary)."""
    from app.embeddings import failures_store

    def failures(space_id: int) -> Sequence[SwitchFailure]:
        with units() as unit:
            return failures_store.failures(unit.session, space_id)

    return failures


def _vectors(
    units: Units, settings: Settings, row_filters: RowFilters, ai: EmbeddingParts | None
) -> VectorSearch | None:
    """The vector half of search; None when the package is not there."""
    if ai is None:
        return None
    from app.embeddings.query import VectorQueries

    return VectorQueries(
        units, ai.servers, row_filters, lambda session: bool(settings.value(Unit(session), VECTOR_ENABLED))
    )


def _search(
    units: Units,
    registry: Registry,
    engine: SearchEngine,
    rate: DeepRate,
    settings: Settings,
    vectors: VectorSearch | None,
) -> Search:
    """Search by words, and by vectors too where there are any: exactly one resolver is wired."""
    resolver: SearchStrategyResolver = LexicalResolver()
    model: Callable[[Session], str | None] = _no_model
    if vectors is not None:
        from app.embeddings.query import serving_model
        from app.embeddings.strategy import VectorResolver

        resolver, model = VectorResolver(resolver, vectors), serving_model

    def deep_allowed(session: Session, actor: Actor) -> bool:
        return rate.allowed(actor, int(settings.value(Unit(session), DEEP_PER_MINUTE) or 0))

    defaults = Defaults(
        lambda session: int(settings.value(Unit(session), PAGE_SIZE) or 20),
        model,
        lambda session: int(settings.value(Unit(session), BUDGET_BALANCED) or 0),
        _synonyms(settings),
        deep_allowed,
    )
    return Search(units, registry, engine, resolver, rate.clock, defaults)


def _chosen(postgres: SearchEngine, elasticsearch: ElasticsearchEngine, settings: Settings) -> SearchEngine:
    """Both engines: the setting is read with each search, so that a change holds at once."""
    return ChosenEngine(
        postgres, elasticsearch, lambda session: settings.value(Unit(session), SEARCH_ENGINE) == "elasticsearch"
    )


def _synonyms(settings: Settings) -> Callable[[Session], Mapping[str, Sequence[Sequence[str]]]]:
    names = {"en": SYNONYMS_EN, "it": SYNONYMS_IT}

    def synonyms(session: Session) -> Mapping[str, Sequence[Sequence[str]]]:
        values = settings.values(Unit(session), tuple(names.values()))
        return {locale: read_groups(str(values[name] or "")) for locale, name in names.items()}

    return synonyms


def _no_model(session: Session) -> None:
    return None


def _documentation(config: Config, registry: Registry, outbox: Outbox, clock: Clock) -> Documentation | None:
    """The documentation corpora and their entities; None when the package is not there."""
    try:
        from app.documentation.entities import ENTITIES
        from app.documentation.service import Documentation
    except ModuleNotFoundError as error:
        if not _is_ours(error):
            raise
        return None
    for entity in ENTITIES:
        registry.add(entity)
    return Documentation(outbox, clock, config.changeover_docs_root)


def _answering(units: Units, engine: SearchEngine, clock: Clock, vectors: VectorSearch | None) -> Answering:
    """Answers from the documentation; no chat model is wired yet, so passages answer."""
    from app.documentation.answering import Answering
    from app.documentation.confidence import MEASURED
    from app.documentation.retrieval import Limits, Retrieval
    from app.search.engines.postgres_coverage import PostgresWordSearch

    model: Callable[[Session], str | None] = _no_model
    if vectors is not None:
        from app.embeddings.query import serving_model as model

    def limits(session: Session) -> Limits:
        return Limits(calibration=MEASURED.get(model(session) or ""))

    return Answering(Retrieval(units, PostgresWordSearch(engine, clock), vectors, limits))
