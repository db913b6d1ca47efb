"""Queries of vectors: what is missing, what is there, and the one way in which vectors are written.

*Done* means: all ``of`` rows of a document stand in the space with its current text hash (`switch.md`). One anti-join
answers it everywhere: estimate, dispatch, progress, verification, health.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.embeddings.models import Serving, VectorSpace
from app.embeddings.passages import Passage
from app.embeddings.profiles import Profile
from app.embeddings.spaces import Space, as_space

_STATE = """
from search_documents d
left join lateral (
    select count(*) as present, max(e."of") as wanted from embeddings e
    where e.entity = d.entity and e.record_id = d.record_id and e.locale = d.locale
      and e.space_id = :space and e.text_hash = d.text_hash) v on true
left join switch_failures f on f.space_id = :space and f.entity = d.entity and f.record_id = d.record_id
    and f.locale = d.locale and f.text_hash = d.text_hash
where d.embeddable
"""
_MISSING = " and v.present is distinct from v.wanted"
_OPEN = " and (f.id is null or f.resolution = 'retry')"
_LATER = """ and not exists (select 1 from index_events i, index_cursors c
    where c.consumer = :consumer and i.entity = d.entity and i.record_id = d.record_id
      and (i.xid, i.id) > (c.xid, c.event_id))"""


_TEXT = "where d.embeddable"
_TEXT_OR_ROWS = """where (d.embeddable or (select true from embeddings e
    where e.entity = d.entity and e.record_id = d.record_id and e.locale = d.locale and e.space_id = :space limit 1))"""
"""A document without a text any more is done once the vectors of its former text are gone. No ``exists``: the planner
would hash every row of the space for it."""
OPEN_MISSING = _STATE.replace(_TEXT, _TEXT_OR_ROWS) + _MISSING + _OPEN
"""From and where of the documents ``d`` that can be embedded now into ``:space``."""


@dataclass(frozen=True)
class Key:
    """A document: one record in one locale, at one text."""

    entity: str
    record_id: int
    locale: str
    text_hash: bytes


@dataclass(frozen=True)
class Text:
    """A document's text as it was read, and the passages that already stand in the space for exactly this text."""

    key: Key
    title: str
    body: str
    parts: Sequence[tuple[int, str]]
    present: frozenset[int]


@dataclass(frozen=True)
class Missing:
    """Documents of a space that lack vectors of their current text. ``open`` ones can be embedded now."""

    open: int
    undecided: int
    set_aside: int


@dataclass(frozen=True)
class RecordState:
    """One document of a record in a space: passages that stand for its current text, and why there are none."""

    locale: str
    passages: int
    done: bool
    embeddable: bool
    reason: str | None
    set_aside: bool


@dataclass(frozen=True)
class NewRow:
    """A vector ready to be stored."""

    key: Key
    passage: Passage
    passage_hash: bytes
    vector: NDArray[np.float32]


# --- spaces and serving ------------------------------------------------------------------------------------------


def serving(session: Session) -> Serving | None:
    """The serving row, or None before the first model was set up."""
    return session.get(Serving, 1, populate_existing=True)


def space(session: Session, space_id: int) -> Space:
    """A space by id."""
    row = session.get(VectorSpace, space_id, populate_existing=True)
    if row is None:
        raise LookupError(f"vector space {space_id}")
    return as_space(row)


def space_by_fingerprint(session: Session, fingerprint: str) -> Space | None:
    """The space of a declaration, if it was ever made."""
    row = session.scalar(select(VectorSpace).where(VectorSpace.fingerprint == fingerprint))
    return None if row is None else as_space(row)


def spaces_of(session: Session, model_key: str) -> Sequence[VectorSpace]:
    """Every space that a model has had."""
    return session.scalars(select(VectorSpace).where(VectorSpace.model_key == model_key)).all()


def local_data_directory(session: Session) -> str | None:
    """Where the database keeps its files, if it says so and is on this machine."""
    local = session.scalar(text("select inet_server_addr() is null or inet_server_addr() <<= '127.0.0.0/8'"))
    place = session.scalar(text("select current_setting('data_directory')"))
    return str(place) if local and place else None


def ensure_space(session: Session, profile: Profile, identity: str, canary: NDArray[np.float32]) -> Space:
    """The space of ``profile`` as its server answers now; made when it is new."""
    fingerprint = profile.fingerprint(identity)
    session.execute(
        insert(VectorSpace)
        .values(
            model_key=profile.key,
            fingerprint=fingerprint,
            dimensions=profile.dimensions,
            similarity=profile.similarity,
            declaration=profile.declaration(),
            server_identity=identity,
            canary=canary,
        )
        .on_conflict_do_nothing(index_elements=["fingerprint"])
    )
    found = space_by_fingerprint(session, fingerprint)
    assert found is not None
    return found


# --- what is missing ---------------------------------------------------------------------------------------------


def count_missing(session: Session, space_id: int, entity: str | None = None, consumer: str | None = None) -> Missing:
    """Count what is missing; with ``consumer``, documents that an event it has not passed will bring don't count."""
    sql = (
        "select count(*) filter (where f.id is null or f.resolution = 'retry'), "
        "count(*) filter (where f.id is not null and f.resolution is null), "
        "count(*) filter (where f.resolution = 'set_aside')" + _STATE + _MISSING
    )
    values: dict[str, Any] = {"space": space_id}
    if entity is not None:
        sql += " and d.entity = :entity"
        values["entity"] = entity
    if consumer is not None:
        sql += _LATER
        values["consumer"] = consumer
    row = session.execute(text(sql), values).one()
    return Missing(*row)


def missing_examples(session: Session, space_id: int, consumer: str, limit: int = 10) -> list[str]:
    """Names of some documents that are still missing, ``entity:id:locale``."""
    sql = "select d.entity || ':' || d.record_id || ':' || d.locale" + _STATE + _MISSING + _OPEN + _LATER
    rows = session.scalars(
        text(sql + " order by d.entity, d.record_id, d.locale limit :limit"),
        {"space": space_id, "consumer": consumer, "limit": limit},
    )
    return list(rows)


def count_embeddable(session: Session) -> dict[str, int]:
    """Documents with a text, per entity."""
    rows = session.execute(
        text("select entity, count(*) from search_documents where embeddable group by entity order by entity")
    )
    return {row[0]: row[1] for row in rows}


def searchable_entities(session: Session) -> list[str]:
    """Entities with anything to find, embeddable or not."""
    return list(session.scalars(text("select distinct entity from search_documents order by entity")))


def count_blank(session: Session) -> int:
    """Documents without a text to embed."""
    return int(session.scalar(text("select count(*) from search_documents where not embeddable")) or 0)


def sample_texts(session: Session) -> list[str]:
    """The beginnings of a few texts of middling length, for measuring only; never logged or shown."""
    rows = session.scalars(
        text(
            """
            select left(title || E'\\n\\n' || body, 600) from search_documents where embeddable
            order by text_hash limit 4
            """
        )
    )
    return [row for row in rows if row.strip()]


def count_done(session: Session, space_id: int) -> dict[str, int]:
    """Documents whose vectors stand in the space at their current text, per entity."""
    rows = session.execute(
        text("select d.entity, count(*)" + _STATE + " and v.present = v.wanted group by d.entity order by d.entity"),
        {"space": space_id},
    )
    return {row[0]: row[1] for row in rows}


def loaded(session: Session, space_id: int) -> list[str]:
    """Entities whose vectors stand in the space, but for a tenth of their documents at most."""
    rows = session.scalars(
        text(
            "select s.entity from (select d.entity, count(*) filter (where v.present = v.wanted) as done, "
            f"count(*) filter (where true{_MISSING}{_OPEN}) as open {_STATE} group by d.entity) s "
            "where s.done > 0 and s.open * 10 <= s.done order by s.entity"
        ),
        {"space": space_id},
    )
    return list(rows)


def record_states(session: Session, space_id: int, entity: str, record_id: int) -> list[RecordState]:
    """The documents of one record in a space, by locale; none when the record is not searchable."""
    rows = session.execute(
        text(
            "select d.locale, v.present, v.present is not distinct from v.wanted, d.embeddable, f.reason, "
            "coalesce(f.resolution = 'set_aside', false)"
            + _STATE.replace("where d.embeddable", "where d.entity = :entity and d.record_id = :record")
            + " order by d.locale"
        ),
        {"space": space_id, "entity": entity, "record": record_id},
    )
    return [RecordState(*row) for row in rows]


def entities_with_rows(session: Session, space_id: int) -> list[str]:
    """Entities that have at least one vector in the space."""
    rows = session.scalars(
        text(
            """
            select k.entity from (select distinct entity from search_documents) k
            where exists (select 1 from embeddings e where e.entity = k.entity and e.space_id = :space)
            order by k.entity
            """
        ),
        {"space": space_id},
    )
    return list(rows)


def missing_in_range(session: Session, space_id: int, entity: str, from_id: int | None, to_id: int | None) -> list[Key]:
    """Documents of the half-open range that can be embedded now, in key order."""
    sql = "select d.entity, d.record_id, d.locale, d.text_hash" + _STATE.replace(_TEXT, _TEXT_OR_ROWS)
    sql += _MISSING + _OPEN
    sql += " and d.entity = :entity"
    sql += " and d.record_id >= :from_id" if from_id is not None else ""
    sql += " and d.record_id < :to_id" if to_id is not None else ""
    rows = session.execute(
        text(sql + " order by d.record_id, d.locale"),
        {"space": space_id, "entity": entity, "from_id": from_id, "to_id": to_id},
    )
    return [Key(*row) for row in rows]


def missing_of_records(session: Session, space_id: int, records: Sequence[tuple[str, int]]) -> list[Key]:
    """Documents of the given records that can be embedded now."""
    sql = "select d.entity, d.record_id, d.locale, d.text_hash" + _STATE.replace(_TEXT, _TEXT_OR_ROWS)
    sql += _MISSING + _OPEN
    sql += " and (d.entity, d.record_id) in (select * from unnest(cast(:entities as text[]), cast(:ids as bigint[])))"
    rows = session.execute(
        text(sql + " order by d.entity, d.record_id, d.locale"),
        {"space": space_id, "entities": [entity for entity, _ in records], "ids": [key for _, key in records]},
    )
    return [Key(*row) for row in rows]


def texts(session: Session, space_id: int, keys: Sequence[Key]) -> list[Text]:
    """The texts of ``keys`` that are still at the same hash, with the passage numbers already stored for it."""
    rows = session.execute(
        text(
            """
            select d.entity, d.record_id, d.locale, d.text_hash, d.title, d.body, d.parts,
                array(select e.n from embeddings e where e.entity = d.entity and e.record_id = d.record_id
                    and e.locale = d.locale and e.space_id = :space and e.text_hash = d.text_hash)
            from search_documents d
            join unnest(cast(:entities as text[]), cast(:ids as bigint[]), cast(:locales as text[]),
                cast(:hashes as bytea[])) as k (entity, record_id, locale, text_hash)
                on (d.entity, d.record_id, d.locale, d.text_hash) = (k.entity, k.record_id, k.locale, k.text_hash)
            order by d.entity, d.record_id, d.locale
            """
        ),
        {"space": space_id, **_arrays(keys)},
    )
    return [
        Text(Key(entity, record_id, locale, digest), title, body, parts, frozenset(present))
        for entity, record_id, locale, digest, title, body, parts, present in rows
    ]


def _arrays(keys: Sequence[Key]) -> dict[str, list[Any]]:
    return {
        "entities": [key.entity for key in keys],
        "ids": [key.record_id for key in keys],
        "locales": [key.locale for key in keys],
        "hashes": [key.text_hash for key in keys],
    }


# --- writing -----------------------------------------------------------------------------------------------------


_LOCK = text(
    """
    select pg_advisory_xact_lock(hashtextextended(entity || ':' || record_id || ':' || locale, :space))
    from (select * from unnest(cast(:entities as text[]), cast(:ids as bigint[]), cast(:locales as text[]))
        as k (entity, record_id, locale) order by 1, 2, 3) as ordered
    """
)
_CURRENT = text(
    """
    select d.entity, d.record_id, d.locale, d.text_hash from search_documents d
    where (d.entity, d.record_id, d.locale, d.text_hash) in (
        select * from unnest(cast(:entities as text[]), cast(:ids as bigint[]), cast(:locales as text[]),
            cast(:hashes as bytea[])))
    for key share
    """
)
# `offset 0` keeps the planner from turning the joins round: a space that is being filled is younger than its
# statistics, which promise a single row of it, and a plan that begins there reads the whole space with every batch.
_CLEAR = text(
    """
    with solved as (
        delete from switch_failures f using unnest(cast(:entities_done as text[]), cast(:ids_done as bigint[]),
            cast(:locales_done as text[])) as k (entity, record_id, locale)
        where (f.entity, f.record_id, f.locale) = (k.entity, k.record_id, k.locale) and f.space_id = :space)
    delete from embeddings where ctid = any (array(
        select e.ctid from unnest(cast(:entities as text[]), cast(:ids as bigint[]), cast(:locales as text[]),
            cast(:ns as integer[])) as k (entity, record_id, locale, n)
        cross join lateral (select ctid from embeddings where entity = k.entity and record_id = k.record_id
            and locale = k.locale and space_id = :space and n = k.n offset 0) e
        union all
        select e.ctid from unnest(cast(:entities_done as text[]), cast(:ids_done as bigint[]),
            cast(:locales_done as text[]), cast(:hashes_done as bytea[])) as k (entity, record_id, locale, text_hash)
        cross join lateral (select ctid from embeddings where entity = k.entity and record_id = k.record_id
            and locale = k.locale and space_id = :space and text_hash <> k.text_hash offset 0) e))
    """
)


def lock_documents(session: Session, space_id: int, keys: Sequence[Key]) -> set[Key]:
    """Lock documents for writing their vectors; returns those that still hold the text that was embedded.

    Writers of one document and space exclude each other by an advisory lock, and read the text's hash after they have
    it: a slow answer can neither overwrite newer vectors nor bring a deleted record back. The lock on the row is
    `FOR KEY SHARE`: it holds off deletion only, so an editor's open transaction delays no writer (ADR 0003).
    """
    wanted = _arrays(sorted(set(keys), key=lambda key: (key.entity, key.record_id, key.locale)))
    session.execute(_LOCK, {"space": space_id, **{name: values for name, values in wanted.items() if name != "hashes"}})
    return {Key(*row) for row in session.execute(_CURRENT, wanted)}


def write_rows(session: Session, space_id: int, rows: Sequence[NewRow], complete: Sequence[Key]) -> None:
    """Replace the given passages by binary COPY; ``complete`` documents also lose what is left of an older text, and
    the failures on record.

    The caller holds :func:`lock_documents` on every document. A stale passage stays findable until its document is
    complete, so that an edited record never vanishes from vector search.
    """
    keys = _arrays([row.key for row in rows])
    del keys["hashes"]
    done = {f"{name}_done": values for name, values in _arrays(complete).items()}
    session.execute(_CLEAR, {"space": space_id, "ns": [row.passage.n for row in rows], **keys, **done})
    if rows:
        copy_rows(session, space_id, rows)


def copy_rows(session: Session, space_id: int, rows: Sequence[NewRow]) -> None:
    """COPY binary: some thirty times the speed of vectors as text (`performance.md` C2)."""
    driver: Any = session.connection().connection.driver_connection
    statement = (
        'copy embeddings (entity, record_id, locale, space_id, n, "of", start, "end", text_hash, passage_hash, '
        "embedding) from stdin (format binary)"
    )
    with driver.cursor().copy(statement) as copy:
        head, end = b"PGCOPY\n\xff\r\n\x00" + struct.pack("!ii", 0, 0), struct.pack("!h", -1)
        # In one piece: the driver takes a turn on the socket for each that it is given.
        copy.write(b"".join([head, *(_tuple(space_id, row) for row in rows), end]))


def _tuple(space_id: int, row: NewRow) -> bytes:
    vector = np.ascontiguousarray(row.vector, dtype=">f4")
    passage = row.passage
    fields = (
        row.key.entity.encode(),
        struct.pack("!q", row.key.record_id),
        row.key.locale.encode(),
        struct.pack("!i", space_id),
        struct.pack("!i", passage.n),
        struct.pack("!i", passage.of),
        struct.pack("!i", passage.start),
        struct.pack("!i", passage.end),
        row.key.text_hash,
        row.passage_hash,
        struct.pack("!HH", vector.shape[0], 0) + vector.tobytes(),
    )
    return struct.pack("!h", len(fields)) + b"".join(struct.pack("!i", len(field)) + field for field in fields)
