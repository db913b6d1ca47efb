"""The invariants I1 to I9 of the switch as observations of the database, run after every fault (`faults.md`, B3)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from app.core.contracts.actor import SYSTEM
from app.embeddings.passages import split
from app.search.answer import SearchRequest
from tests.faults.history import UNCOVERED
from tests.fixtures.bench import DIMENSIONS

if TYPE_CHECKING:
    from tests.faults.harness import FaultBench

ALWAYS = {
    "I1 the serving row is not its space": """select s.model_key from serving s
        join vector_spaces v on v.id = s.space_id
        where (s.model_key, s.dimensions, s.similarity) <> (v.model_key, v.dimensions, v.similarity)""",
    "I1 a vector of another length": """select e.space_id || ':' || e.record_id from embeddings e
        join vector_spaces v on v.id = e.space_id where vector_dims(e.embedding) <> v.dimensions""",
    "I1 a vector without length one": """select e.space_id || ':' || e.record_id from embeddings e
        where not abs(vector_norm(e.embedding) - 1) <= 0.01""",
    "I2 the serving model lacks, and no event brings": UNCOVERED,
    "I4 vectors of what is deleted": """select e.record_id from embeddings e where not exists (select 1
        from search_documents d where (d.entity, d.record_id, d.locale) = (e.entity, e.record_id, e.locale))""",
    "I5 more than one open switch": """select id from switches where status in ('running', 'failed')
        offset 1""",
    "I5 a target's cursor without a switch": """select consumer from index_cursors where consumer = 'target'
        and not exists (select 1 from switches where status in ('running', 'failed') and kind = 'switch')""",
    "I5 suspended without a reason, or not although in place": """select coalesce(suspended_reason, 'not') from serving
        where (suspended_reason is not null) <> exists (select 1 from switches where mode = 'in_place'
            and status in ('running', 'failed') and to_space_id is not null)""",
    "I6 failed without a reason": "select id from switches where status = 'failed' and error_code is null",
    "I9 a passage that its text does not have": 'select record_id from embeddings where n >= "of"',
    "I9 an activated switch does not serve, nor did it": """select w.id from switches w where w.status = 'activated'
        and w.id = (select max(id) from switches where status = 'activated')
        and not exists (select 1 from serving s where s.space_id = w.to_space_id)""",
}
"""Name → offenders; true in every committed state."""

PENDING = """select consumer from index_cursors c where exists (select 1 from index_events i
        where (i.xid, i.id) > (c.xid, c.event_id))"""
"""Consumers with events before them."""
UNAPPLIED = PENDING.removesuffix(")") + " and i.xid < pg_snapshot_xmin(pg_current_snapshot()))"
"""Consumers with events before them that nothing can precede any more."""

AT_REST = {
    "I3 stale vectors of the serving model": """select e.record_id from embeddings e
        join search_documents d using (entity, record_id, locale) join serving s on s.space_id = e.space_id
        where e.text_hash <> d.text_hash""",
    "I5 a lease that outlives its holder": """select 'step' from switches where status = 'running'
        and lease_until > clock_timestamp()""",
    "I6 events that nobody applied": UNAPPLIED,
    "I6 still running": "select phase from switches where status = 'running'",
    "I7 an index of ours is invalid": """select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid
        where i.indrelid = 'embeddings'::regclass and not (i.indisvalid and i.indisready)""",
    "I7 the serving model has no index": """select distinct e.entity from embeddings e
        join serving s on s.space_id = e.space_id where not exists (select 1 from pg_indexes p where p.indexname =
            'emb_' || s.space_id || '_' || replace(e.entity, '.', '_'))""",
    "I7 an index that nobody reads": """select p.indexname from pg_indexes p where p.indexname like 'emb\\_%'
        and not exists (select 1 from serving s where p.indexname like 'emb\\_' || s.space_id || '\\_%')
        and not exists (select 1 from switches where status in ('running', 'failed'))""",
}
"""True once nothing is due any more."""


class Checker:
    """States what is wrong with a bench's database now. An empty list is right."""

    def __init__(self, bench: FaultBench) -> None:
        self.bench = bench

    def violations(self) -> list[str]:
        """What must hold in every state, whatever happens just now."""
        return [*self._sql(ALWAYS), *self._foreign_vectors(), *self._words(), *self.bench.history.violations()]

    def violations_at_rest(self) -> list[str]:
        """And what must hold once nothing is due any more.

        A transaction in any other database of the cluster, a neighbouring test's, holds back events: its end is waited
        for.
        """
        for _ in range(1500):
            if not self.bench.observe(PENDING):
                break
            time.sleep(0.02)
            self.bench.go_on()
        return [*self.violations(), *self._sql(AT_REST)]

    def _sql(self, named: dict[str, str]) -> Iterator[str]:
        for name, sql in named.items():
            for row in self.bench.observe(sql):
                yield f"{name}: {row[0]}"

    def _foreign_vectors(self) -> Iterator[str]:
        """I1, by the vectors themselves: each is what its own model answers for the passage it stands for."""
        rows = self.bench.observe(
            """select v.model_key, d.record_id, d.title, d.body, d.parts, v.declaration ->> 'window', e.n,
                cast(e.embedding as real[]) from embeddings e join vector_spaces v on v.id = e.space_id
            join search_documents d using (entity, record_id, locale) where e.text_hash = d.text_hash"""
        )
        for key, record, title, body, parts, window, n, stored in rows:
            name = key.split(":")[1]
            passage = split(title, body, int(window), parts)[n]
            expected = self.bench.servers[name].vector(passage.text, model=name)
            if len(stored) == DIMENSIONS[name] and float(np.asarray(stored) @ expected) < 0.99:
                yield f"I1 a vector of another model: {key} {record}"

    def _words(self) -> Iterator[str]:
        """I8: the words are found in every state, and an answer says when meaning is off."""
        search = self.bench.container.search
        answer = search.search(SYSTEM, SearchRequest(q="record"))
        wanted = self.bench.observe(
            "select count(distinct (entity, record_id)) from search_documents "
            "where words @@ to_tsquery('simple', 'record')"
        )[0][0]
        if answer.total != wanted:
            yield f"I8 {answer.total} of {wanted} found by words"
        suspended = self.bench.observe("select suspended_reason from serving")[0][0]
        stored = self.bench.observe("select 1 from embeddings e join serving s on s.space_id = e.space_id limit 1")
        reason = "switching" if suspended else None if stored else "no_vectors"
        if answer.meta.vector_disabled != reason:
            yield f"I8 vector search is off because of {answer.meta.vector_disabled}, not {reason}"
