"""What the Elasticsearch engine reads and writes in PostgreSQL: records to index, rows that pass, and its cursor.

Its place in the index events is the row ``elasticsearch`` of `index_cursors`, moved by the same rules as those of the
vectors (`core/documents/events_store.py`): in the order (xid, id), and only through events below the oldest transaction
still running. Space 0 is nobody's: this consumer works for no model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, func, select, text, tuple_
from sqlalchemy.orm import Session

from app.core.documents.events_store import CursorClaim, Position
from app.core.documents.models import SearchDocument
from app.core.elasticsearch.fields import filter_fields
from app.core.elasticsearch.reading import CONSUMER
from app.core.registry import Entity, Registry
from app.search.engines.elasticsearch_mapping import Indexed, Text
from app.search.engines.ports import Key

LEASE_SECONDS = 60
"""Renewed with each page; a page is one bulk, which takes less."""
GONE = 2**62
"""The version at which a record that is no more is removed: nothing older comes back."""
READS = 2**32
"""So many readings of one revision have versions of their own; revisions may grow to a quarter of it."""


def next_read(session: Session) -> int:
    """A number for a reading that begins after this transaction; a later reading has a greater one."""
    return int(session.scalar(text("select nextval('engine_versions')")) or 0)


def version_of(revision: int, read: int) -> int:
    """The external version of what was read: the newer revision wins, and of one revision the later reading.

    Vectors of a record change while its revision stays. Whoever writes draws ``read`` before they read, so the greater
    version never lacks what the lesser one has but for changes whose event is yet to be applied.
    """
    return GONE if revision >= GONE else min(revision, READS // 4 - 1) * READS + read % READS


def passing(session: Session, keys: Sequence[Key], condition: ColumnElement[bool]) -> set[tuple[str, int, str]]:
    """(entity, record id, locale) of the searchable texts of ``keys`` that pass, in the session's snapshot."""
    if not keys:
        return set()
    columns = (SearchDocument.entity, SearchDocument.record_id, SearchDocument.locale)
    rows = session.execute(select(*columns).where(tuple_(*columns[:2]).in_(list(keys)), condition))
    return {(entity, record, locale) for entity, record, locale in rows}


def record_ids(session: Session, entity: str, after: int, limit: int) -> Sequence[int]:
    """The next ids of searchable records, in order."""
    key = SearchDocument.record_id
    statement = select(key).where(SearchDocument.entity == entity, key > after).distinct().order_by(key).limit(limit)
    return list(session.scalars(statement))


def searchable(session: Session) -> Mapping[str, int]:
    """Entity to the number of its searchable records."""
    key = SearchDocument.record_id
    rows = session.execute(select(SearchDocument.entity, func.count(key.distinct())).group_by(SearchDocument.entity))
    return {row[0]: row[1] for row in rows}


def read_records(session: Session, registry: Registry, keys: Iterable[Key], read: int) -> list[Indexed]:
    """The records as they are now; those that are not searchable any more have no texts. ``read``: `next_read`."""
    by_entity: dict[str, list[int]] = {}
    for entity, record_id in sorted(set(keys)):
        if entity in registry:
            by_entity.setdefault(entity, []).append(record_id)
    return [one for entity, ids in by_entity.items() for one in _read(session, registry.get(entity), ids, read)]


def _read(session: Session, entity: Entity, ids: Sequence[int], read: int) -> list[Indexed]:
    names = ["revision", *(name for name in filter_fields(entity) if name != "revision")]
    columns = [getattr(entity.model, name) for name in names if hasattr(entity.model, name)]
    kept = [column.key for column in columns]
    rows = session.execute(select(entity.model.id, *columns).where(entity.model.id.in_(ids)))
    values = {row[0]: dict(zip(kept, row[1:], strict=True)) for row in rows}
    texts: dict[int, list[Any]] = {}
    documents = session.execute(
        select(
            SearchDocument.record_id,
            SearchDocument.locale,
            SearchDocument.title,
            SearchDocument.body,
            SearchDocument.revision,
        )
        .where(SearchDocument.entity == entity.name, SearchDocument.record_id.in_(ids))
        .order_by(SearchDocument.record_id, SearchDocument.locale)
    )
    for row in documents:
        texts.setdefault(row.record_id, []).append(row)
    indexed = filter_fields(entity)
    found = []
    for record_id in ids:
        own, mine = values.get(record_id, {}), texts.get(record_id, [])
        newest = max((row.revision for row in mine), default=GONE)
        version = version_of(int(own.get("revision") or newest), read)
        shown = {name: own[name] for name in indexed if name in own}
        found.append(Indexed(entity.name, record_id, version, [Text(r.locale, r.title, r.body) for r in mine], shown))
    return found


def begin_cursor(session: Session) -> None:
    """Follow events from now on, unless they are followed already in this database."""
    session.execute(
        text(
            """
            insert into index_cursors (consumer, space_id, xid, event_id, system_identifier)
            select :consumer, 0, pg_snapshot_xmin(pg_current_snapshot()), 0, system_identifier from pg_control_system()
            on conflict (consumer) do update set xid = excluded.xid, event_id = 0,
                system_identifier = excluded.system_identifier, lease_token = null, lease_until = null
                where index_cursors.system_identifier <> excluded.system_identifier
            """
        ),
        {"consumer": CONSUMER},
    )


def keep_cursor(session: Session, claim: CursorClaim, position: Position | None) -> bool:
    """Renew the lease and move forward, never back; False when the lease is no longer ours."""
    result: Any = session.execute(
        text(
            f"""
            update index_cursors set lease_until = clock_timestamp() + interval '{LEASE_SECONDS} seconds',
                xid = greatest(xid, coalesce(cast(:xid as xid8), xid)),
                event_id = case when (cast(:xid as xid8), cast(:event as bigint)) > (xid, event_id)
                    then cast(:event as bigint) else event_id end, moved_at = clock_timestamp()
            where consumer = :consumer and lease_token = :token
            """
        ),
        {
            "consumer": claim.consumer,
            "token": claim.token,
            "xid": None if position is None else str(position.xid),
            "event": None if position is None else position.event_id,
        },
    )
    return bool(result.rowcount)
