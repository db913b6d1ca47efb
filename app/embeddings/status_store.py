"""What the status of an open switch is made of, read in one statement: it is asked for every second.

Its cost grows with the number of chunks; nothing counts documents, vectors or events beyond a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.embeddings.indexes.pgvector import BuildProgress
from app.embeddings.leases import SECONDS
from app.embeddings.ledger_store import ChunkTally
from app.embeddings.models import Switch

LAG_LIMIT = 1001

_FACTS = text(
    f"""
    select
        (select json_agg(t) from (
            select phase, entity, count(*) filter (where status = 'pending') as pending,
                count(*) filter (where status = 'leased') as leased,
                count(*) filter (where status = 'done') as finished,
                sum(documents) as documents, sum(passages) as passages,
                sum(case when status = 'done' then greatest(documents, done) else least(documents, done) end) as done
            from switch_chunks where switch_id = s.id group by phase, entity order by phase, entity) t),
        (select json_object_agg(entity, count) from (
            select f.entity, count(*) from switch_failures f join search_documents d
                on (d.entity, d.record_id, d.locale, d.text_hash) = (f.entity, f.record_id, f.locale, f.text_hash)
            where f.space_id = s.to_space_id group by f.entity) f),
        extract(epoch from clock_timestamp() - greatest(s.progress_at, s.lease_until - interval '{SECONDS} seconds',
            (select max(greatest(progress_at, lease_until - interval '{SECONDS} seconds')) from switch_chunks
                where switch_id = s.id)))::float8,
        l.lag,
        array(select distinct queue from processes where queue is not null
            and seen_at >= clock_timestamp() - make_interval(secs => :alive)),
        case when l.lag > 0 then (
            select json_build_array(pid, extract(epoch from clock_timestamp() - xact_start)) from pg_stat_activity
            where backend_xid is not null and xact_start < clock_timestamp() - interval '5 seconds'
              and pid <> pg_backend_pid() order by backend_xid::text::bigint limit 1) end,
        case when s.phase = 'indexes' then (
            select json_agg(json_build_array(c.relname, p.pid, p.phase, p.tuples_done, p.tuples_total,
                nullif(p.current_locker_pid, 0)))
            from pg_stat_progress_create_index p join pg_class c on c.oid = p.index_relid
            where p.relid = 'embeddings'::regclass) end
    from switches s left join lateral (
        select (select count(*) from (select 1 from index_events i where (i.xid, i.id) > (c.xid, c.event_id)
            limit :lag) as sample) as lag
        from index_cursors c where c.consumer = :consumer) l on true
    where s.id = :switch
    """
)


@dataclass(frozen=True)
class Facts:
    """``lag`` is in events, up to `LAG_LIMIT`, None without a cursor; ``failed`` documents per entity; ``horizon`` is
    (pid, seconds) of a transaction older than five seconds that holds the cursor; ``queues`` have a living worker."""

    tallies: Sequence[ChunkTally]
    failed: dict[str, int]
    seconds_without_progress: float
    lag: int | None
    queues: frozenset[str]
    horizon: tuple[int, float] | None
    builds: Sequence[BuildProgress]


def facts(session: Session, switch: Switch, consumer: str, alive_seconds: float) -> Facts:
    """The facts of an open switch."""
    values = {"switch": switch.id, "consumer": consumer, "alive": alive_seconds, "lag": LAG_LIMIT}
    tallies, failed, seconds, lag, queues, horizon, builds = session.execute(_FACTS, values).one()
    return Facts(
        tallies=[_tally(row) for row in tallies or []],
        failed=failed or {},
        seconds_without_progress=float(seconds or 0),
        lag=lag,
        queues=frozenset(queues),
        horizon=None if horizon is None else (int(horizon[0]), float(horizon[1])),
        builds=[BuildProgress(*row) for row in builds or []],
    )


def _tally(row: dict[str, Any]) -> ChunkTally:
    return ChunkTally(progress_at=None, **row)
