"""The one assembler: builds the parts and is the only module that sees two subsystems.

Each part gets what it needs as constructor arguments typed by a contract. A part that is switched off or missing is a
lesser strategy or None here, never a test for it elsewhere. The AI packages are imported inside `_ai_parts` only: with
them blocked the console starts and searches by words (`architecture.md`, deletion test).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from app.core.contracts.chat import ChatModel
from app.core.contracts.copies import EngineCopies
from app.core.contracts.passages import PassageSearch
from app.core.contracts.strategy import SearchStrategyResolver
from app.core.contracts.vectors import VectorSearch
from app.core.crud.approving import RecordApplier
from app.core.crud.bulk import BulkRecords
from app.core.crud.export import Exports
from app.core.crud.many import ManyRecords
from app.core.crud.service import Records
from app.core.crud.summary import Summaries
from app.core.db import make_engine
from app.core.elasticsearch.client import Cluster
from app.core.elasticsearch.reading import Reader
from app.core.errors import Unavailable
from app.core.idempotency.service import Idempotency
from app.core.outbox import Outbox
from app.core.processes.health import Health
from app.core.queue import JobQueue, RedisQueue
from app.core.registry import Registry
from app.core.settings.schema import (
    DOCS_MIN_SIMILARITY,
    DOCS_MOST,
    SEARCH_ENGINE,
    VECTOR_DIMENSIONS,
    VECTOR_ENABLED,
    VECTOR_MODEL,
    VECTOR_SIMILARITY,
    VECTOR_SUSPENDED,
    Value,
    declared,
)
from app.core.settings.service import Settings
from app.core.settings.switch import SwitchSettings
from app.core.unit import Unit, Units
from app.sao.entities import TICKETS
from app.search.engine_report import EngineReport
from app.search.engines.chosen import ChosenEngine
from app.search.engines.elasticsearch import ElasticsearchEngine
from app.search.engines.elasticsearch_follow import Elasticsearch
from app.search.engines.elasticsearch_switch import ElasticsearchCopies
from app.search.engines.ports import SearchEngine
from app.search.engines.postgres import PostgresEngine
from app.search.engines.postgres_statistics import WordStatistics
from app.search.engines.schema import RowFilters
from app.search.intent import ModelIntent
from app.search.options import NAMES, Options, read_options
from app.search.plan import ModelPlanner
from app.search.rates import DeepRate
from app.search.resolver import LexicalResolver
from app.search.service import Search
from app.search.suggestions import Suggestions
from app.search.work import Defaults

if TYPE_CHECKING:
    from app.documentation.answering import Answering
    from app.documentation.evaluations import Evaluations
    from app.documentation.ingest import Ingest
    from app.documentation.service import Documentation
    from app.embeddings.client import ModelServers
    from app.embeddings.indexes.ports import PassageIndex
    from app.embeddings.models import SwitchFailure
    from app.embeddings.parts import EmbeddingParts
    from app.embeddings.passage_search import PassageQueries
    from app.embeddings.profiles import Profiles


SEARCH_SETTINGS = "search.settings"
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
    word_statistics: WordStatistics
    search: Search
    suggestions: Suggestions
    engine_report: EngineReport
    elasticsearch: Elasticsearch | None = None
    vectors: VectorSearch | None = None
    answering: Answering | None = None
    evaluations: Evaluations | None = None
    ingest: Ingest | None = None
    ai: EmbeddingParts | None = None
    strip: Callable[[Actor], object] | None = None
    switch_failures: Callable[[int], Sequence[SwitchFailure]] | None = None

    @property
    def profiles(self) -> Profiles | None:
        return self.ai.profiles if self.ai else None

    @property
    def model_servers(self) -> ModelServers | None:
        return self.ai.servers if self.ai else None

    def embedding_parts(self) -> EmbeddingParts:
        """The part that runs the vectors. Raises :class:`Unavailable` where it is not installed."""
        if self.ai is None:
            raise Unavailable("ai.absent")
        return self.ai


def build_container(config: Config, *, clock: Clock | None = None, queue: JobQueue | None = None) -> Container:
    """Assemble the parts; nothing is connected to before it is used. Tests may hand in a clock and a queue."""
    clock = clock or SystemClock()
    queue = queue or RedisQueue(config.redis_url)
    units = Units(make_engine(config.database_url), queue)
    registry = Registry([CONTENTS, TICKETS])
    row_filters = RowFilters(registry)
    word_engine: SearchEngine = PostgresEngine(row_filters, clock)
    outbox = Outbox(word_engine.words)
    passages, window = _passages(row_filters)
    documentation = _documentation(config, registry, outbox, clock, passages, window)
    audit = Audit(clock)
    settings = Settings(declared(), clock, audit=audit)
    approvals, appliers = _approvals(clock, audit, registry, settings)
    elasticsearch = _elasticsearch(config, units, registry, clock)
    reader = None if elasticsearch is None else Reader(units, elasticsearch.cluster, elasticsearch.serving)
    if reader is not None:
        word_engine = _chosen(word_engine, ElasticsearchEngine(reader, word_engine, row_filters, registry), settings)
    ai = _ai_parts(config, units, queue, clock, settings, ElasticsearchCopies(elasticsearch) if elasticsearch else None)
    vectors = _vectors(units, settings, row_filters, ai, _passage_index(reader, registry, settings, clock, passages))
    records = Records(registry, outbox, clock, audit, approvals)
    appliers[RECORD] = RecordApplier(records, Records(registry, outbox, clock, audit, Planning()))
    answering = _answers(config, units, word_engine, clock, vectors, settings, passages, ai) if documentation else None
    evaluations, ingest = _evaluations(config, units, documentation, answering, vectors, ai)
    return Container(
        config=config,
        clock=clock,
        engine=units.engine,
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
        word_statistics=WordStatistics(units, registry, clock),
        search=_search(units, registry, word_engine, DeepRate(config.redis_url, clock), settings, vectors, ai),
        suggestions=Suggestions(units, registry, word_engine),
        engine_report=EngineReport(units, _engine_name(settings), elasticsearch),
        elasticsearch=elasticsearch,
        vectors=vectors,
        answering=answering,
        evaluations=evaluations,
        ingest=ingest,
        ai=ai,
        switch_failures=_switch_failures(units) if ai else None,
    )


def _audit_log(registry: Registry, clock: Clock) -> AuditLog:
    def rows_seen(actor: Actor, entity: ColumnElement[Any], record_id: ColumnElement[Any]) -> ColumnElement[bool]:
        return records_of_many(actor, registry, entity, record_id)

    return AuditLog(registry, clock, rows_seen, readable)


def _approvals(
    clock: Clock, audit: Audit, registry: Registry, settings: Settings
) -> tuple[Approvals, dict[str, Applier]]:
    """Approvals, and who applies what is approved, by kind; records' applier is added when there are records."""
    appliers: dict[str, Applier] = {SETTING: SettingApplier(settings)}
    approvals = Approvals(ApprovalParts(clock, audit, registry, settings, _authors(registry), appliers))
    settings.moderation = approvals
    return approvals, appliers


def _authors(registry: Registry) -> Callable[[Unit, int], Actor | None]:
    """The author of a captured change as they are now; None when the account is disabled or gone."""

    def author(unit: Unit, user_id: int) -> Actor | None:
        user = approvals_store.author(unit.session, user_id)
        return actor_of(user, registry=registry) if user is not None and user.is_active else None

    return author


def _elasticsearch(config: Config, units: Units, registry: Registry, clock: Clock) -> Elasticsearch | None:
    """What writes to Elasticsearch, with the vectors where there are any; None without an address."""
    cluster = _cluster(config, clock)
    if cluster is None:
        return None
    try:
        from app.embeddings.indexes.stored import ServingGeneration, StoredVectors
    except ModuleNotFoundError as error:
        if not _is_ours(error):
            raise
        return Elasticsearch(units, cluster, registry, clock)
    return Elasticsearch(units, cluster, registry, clock, StoredVectors(), ServingGeneration())


def _cluster(config: Config, clock: Clock) -> Cluster | None:
    """A client of its own for each use: one that finds the cluster away does not speak for the others."""
    if not config.elasticsearch_url:
        return None
    return Cluster(config.elasticsearch_url, config.elasticsearch_prefix, clock, config.elasticsearch_timeout)


def _passage_index(
    reader: Reader | None, registry: Registry, settings: Settings, clock: Clock, single: PassageQueries | None
) -> PassageIndex | None:
    """The index of vectors that the setting names (for ``single`` passages, too); None where there is one only."""
    if reader is None:
        return None
    try:
        from app.embeddings.indexes.chosen import ChosenIndex
        from app.embeddings.indexes.elasticsearch import ElasticsearchPassages
        from app.embeddings.indexes.pgvector_nearest import PgvectorIndex
    except ModuleNotFoundError as error:
        if not _is_ours(error):
            raise
        return None
    is_chosen = _uses_elasticsearch(settings)
    if single is not None:
        single.also_from(reader, registry, is_chosen)
    return ChosenIndex(PgvectorIndex(), ElasticsearchPassages(reader, registry), is_chosen, clock)


def _ai_parts(
    config: Config, units: Units, queue: JobQueue, clock: Clock, settings: Settings, copies: EngineCopies | None
) -> EmbeddingParts | None:
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
    servers = ModelServers(profiles, config.servers, clock, config.rerank)
    _serving_settings(settings, profiles)
    return build_parts(config, units, queue, clock, profiles, servers, SwitchSettings(settings), copies)


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
    units: Units,
    settings: Settings,
    row_filters: RowFilters,
    ai: EmbeddingParts | None,
    index: PassageIndex | None,
) -> VectorSearch | None:
    """The vector half of search; None when the package is not there."""
    if ai is None:
        return None
    from app.embeddings.query import VectorQueries

    return VectorQueries(
        units, ai.servers, row_filters, lambda session: bool(_search_setting(settings, session, VECTOR_ENABLED)), index
    )


def _search(
    units: Units,
    registry: Registry,
    engine: SearchEngine,
    rate: DeepRate,
    settings: Settings,
    vectors: VectorSearch | None,
    ai: EmbeddingParts | None,
    chat: ChatModel | None = None,
) -> Search:
    """Search by words, and by vectors too where there are any: exactly one resolver is wired.

    ``chat`` makes deep search possible; no chat model is wired yet.
    """
    resolver: SearchStrategyResolver = LexicalResolver()
    defaults = Defaults(options=lambda session: _search_options(settings, session), deep_allowed=rate.allowed)
    if vectors is not None and ai is not None:
        from app.embeddings.strategy import VectorResolver

        intent = ModelIntent(chat, rate.clock) if chat is not None else None
        planner = ModelPlanner(chat, rate.clock) if chat is not None else None
        resolver = VectorResolver(resolver, vectors, intent, planner, ai.servers.reranker())
        defaults = replace(defaults, calibration=ai.profiles.calibration)
    return Search(units, registry, engine, resolver, rate.clock, defaults)


def _chosen(postgres: SearchEngine, elasticsearch: ElasticsearchEngine, settings: Settings) -> SearchEngine:
    """Both engines: the setting is read with each search, so that a change holds at once."""
    return ChosenEngine(postgres, elasticsearch, _uses_elasticsearch(settings))


def _engine_name(settings: Settings) -> Callable[[Session], str]:
    return lambda session: str(settings.value(Unit(session), SEARCH_ENGINE))


def _uses_elasticsearch(settings: Settings) -> Callable[[Session], bool]:
    return lambda session: _search_setting(settings, session, SEARCH_ENGINE) == "elasticsearch"


def _search_options(settings: Settings, session: Session) -> Options:
    """Reads for the whole search: what else asks for a setting in this session finds it."""
    found = session.info[SEARCH_SETTINGS] = settings.values(Unit(session), (*NAMES, VECTOR_ENABLED, SEARCH_ENGINE))
    return read_options(found)


def _search_setting(settings: Settings, session: Session, name: str) -> Value:
    read: Mapping[str, Value] = session.info.get(SEARCH_SETTINGS) or settings.values(Unit(session), (name,))
    return read[name]


def _passages(row_filters: RowFilters) -> tuple[PassageQueries | None, Callable[[Unit], int | None]]:
    """Single passages by their vectors, and the serving model's window; nothing when the package is not there."""
    try:
        from app.embeddings.passage_search import PassageQueries, serving_window
    except ModuleNotFoundError as error:
        if not _is_ours(error):
            raise
        return None, lambda unit: None
    return PassageQueries(row_filters), lambda unit: serving_window(unit.session)


def _documentation(
    config: Config,
    registry: Registry,
    outbox: Outbox,
    clock: Clock,
    passages: PassageSearch | None,
    window: Callable[[Unit], int | None],
) -> Documentation | None:
    """The documentation corpora and their entities; None when the package is not there."""
    try:
        from app.documentation.entities import ENTITIES
        from app.documentation.indexer import Indexer
        from app.documentation.pgvector_store import PgvectorPassages
        from app.documentation.service import Documentation
    except ModuleNotFoundError as error:
        if not _is_ours(error):
            raise
        return None
    for entity in ENTITIES:
        registry.add(entity)
    indexer = Indexer(PgvectorPassages(outbox, clock, passages), window)
    return Documentation(indexer, config.changeover_docs_root, config.docs_extra_roots)


def _answers(
    config: Config,
    units: Units,
    engine: SearchEngine,
    clock: Clock,
    vectors: VectorSearch | None,
    settings: Settings,
    passages: PassageSearch | None,
    ai: EmbeddingParts | None,
) -> Answering:
    """Answers from the documentation; no chat model is wired yet, so passages answer."""
    from app.documentation.analytics.parts import build
    from app.documentation.answering import Answering
    from app.documentation.retrieval import Limits, Retrieval
    from app.search.engines.postgres_coverage import PostgresWordSearch

    def limits(session: Session) -> Limits:
        values = settings.values(Unit(session), (DOCS_MOST, DOCS_MIN_SIMILARITY))
        most, least = int(values[DOCS_MOST] or 5), values[DOCS_MIN_SIMILARITY]
        calibration = None
        if ai is not None:
            from app.embeddings.query import serving_model

            calibration = ai.profiles.calibration(serving_model(session) or "")
        return Limits(most, None if least is None else int(least) / 1000, calibration=calibration)

    questions = build(units, clock, settings, config.secret_keys, _cluster(config, clock))
    return Answering(
        Retrieval(units, PostgresWordSearch(engine, clock), vectors, limits, passages), None, questions, clock
    )


def _evaluations(
    config: Config,
    units: Units,
    documentation: Documentation | None,
    answering: Answering | None,
    vectors: VectorSearch | None,
    ai: EmbeddingParts | None,
) -> tuple[Evaluations | None, Ingest | None]:
    """Suites of golden questions, and files and uploads into collections; nothing without documentation."""
    if documentation is None or answering is None:
        return None, None
    from app.documentation.evaluation_parts import build

    return build(units, documentation.indexer, answering, vectors, ai.catch_up if ai else None, config.commits)
