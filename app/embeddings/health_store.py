"""Queries of vector health: one statement counts a space, others delete what can't be right or name what is missing.

Everything is counted from the rows themselves (`product.md`, decision 6). Whoever deletes here takes the same locks as
those who write (`store.lock_documents`), and tests its condition again under them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session
from sqlalchemy.sql import bindparam

from app.core.documents import store as documents_store
from app.embeddings import store
from app.embeddings.identity import NORM_TOLERANCE
from app.embeddings.models import SwitchFailure, VectorSpace
from app.embeddings.spaces import Space
from app.embeddings.store import Key

Document = tuple[str, int, str]
Record = tuple[str, int]

FINITE = "vector_norm(e.embedding) > 0 and vector_norm(e.embedding) < 'Infinity'"
"""NaN sorts above everything in PostgreSQL, so it is caught by the second half."""
CONDITIONS: Mapping[str, str] = {
    "orphaned": """not exists (select 1 from search_documents d
        where d.entity = e.entity and d.record_id = e.record_id and d.locale = e.locale)""",
    "surplus": """(e.n < 0 or e.n >= e."of" or exists (select 1 from search_documents d
        where d.entity = e.entity and d.record_id = e.record_id and d.locale = e.locale
          and d.text_hash <> e.text_hash
          and (select count(*) = max(o."of") from embeddings o where o.entity = e.entity
            and o.record_id = e.record_id and o.locale = e.locale and o.space_id = e.space_id
            and o.text_hash = d.text_hash)))""",
    "wrong_length": "vector_dims(e.embedding) <> :dimensions",
    "not_finite": f"not ({FINITE})",
    "norm_off": f"{FINITE} and abs(vector_norm(e.embedding) - 1) > :tolerance",
}
"""Which rows each repair by deletion takes."""

_COUNT = """
with pending as (
    select distinct i.entity, i.record_id from index_events i join index_cursors c on c.space_id = :space
    where (i.xid, i.id) > (c.xid, c.event_id)
), r as (
    select e.entity, e.record_id, e.locale, e.n, e."of", e.text_hash, vector_dims(e.embedding) as length,
        vector_norm(e.embedding) as norm
    from embeddings e where e.space_id = :space
), g as (
    select r.entity, r.record_id, r.locale, count(*) as passages,
        count(*) filter (where r.text_hash = d.text_hash) as present,
        max(r."of") filter (where r.text_hash = d.text_hash) as wanted,
        count(*) filter (where r.n < 0 or r.n >= r."of") as outside,
        count(*) filter (where r.length <> :dimensions) as wrong_length,
        count(*) filter (where not (r.norm > 0 and r.norm < 'Infinity')) as not_finite,
        count(*) filter (where r.norm > 0 and r.norm < 'Infinity' and abs(r.norm - 1) > :tolerance) as norm_off
    from r left join search_documents d on d.entity = r.entity and d.record_id = r.record_id and d.locale = r.locale
    group by r.entity, r.record_id, r.locale
), s as (
    select coalesce(d.entity, g.entity) as entity, d.entity is null as orphaned, coalesce(d.embeddable, false) as wants,
        coalesce(d.embeddable and g.present = g.wanted, false) as done,
        d.entity is not null and (d.embeddable or g.passages > 0) as counts,
        f.id is not null and f.resolution is null as undecided, coalesce(f.resolution = 'set_aside', false) as aside,
        p.entity is not null as pending, coalesce(g.passages > g.present, false) as old, g.passages, g.present,
        g.outside, g.wrong_length, g.not_finite, g.norm_off
    from search_documents d
    full join g on g.entity = d.entity and g.record_id = d.record_id and g.locale = d.locale
    left join switch_failures f on f.space_id = :space and f.entity = d.entity and f.record_id = d.record_id
        and f.locale = d.locale and f.text_hash = d.text_hash
    left join pending p on p.entity = d.entity and p.record_id = d.record_id
)
select s.entity, count(*) filter (where wants) as documents, count(*) filter (where done) as done,
    count(*) filter (where counts and not done and undecided) as failed,
    count(*) filter (where counts and not done and aside) as set_aside,
    count(*) filter (where counts and not done and not undecided and not aside and pending) as under_way,
    count(*) filter (where counts and not done and not undecided and not aside and not pending and old) as stale,
    count(*) filter (where counts and not done and not undecided and not aside and not pending and not old) as missing,
    count(*) filter (where orphaned) as orphaned,
    coalesce(sum(passages), 0)::bigint as passages,
    coalesce(sum(outside + case when done then passages - present else 0 end), 0)::bigint as surplus,
    coalesce(sum(wrong_length), 0)::bigint as wrong_length, coalesce(sum(not_finite), 0)::bigint as not_finite,
    coalesce(sum(norm_off), 0)::bigint as norm_off
from s group by s.entity order by s.entity
"""


_SPACES = """
select s.id from vector_spaces s
left join serving v on v.space_id = s.id
left join switches w on w.status in ('running', 'failed') and w.to_space_id = s.id
where v.id is not null or w.id is not null {more}
order by v.id is null, w.id is null, s.id desc
"""


@dataclass(frozen=True)
class Counts:
    """One entity of a space. ``documents`` to ``orphaned`` count documents, the rest passages.

    ``documents`` have a text; each of them is exactly one of done, failed (awaits a decision), set_aside, under_way
    (an event will bring it), stale (vectors of an older text) or missing. A document that lost its text is stale while
    it has vectors.
    """

    entity: str
    documents: int
    done: int
    failed: int
    set_aside: int
    under_way: int
    stale: int
    missing: int
    orphaned: int
    passages: int
    surplus: int
    wrong_length: int
    not_finite: int
    norm_off: int


@dataclass(frozen=True)
class Checked:
    """What is noted of a space: its last check of the server and its last sample, each with its time."""

    checked_at: datetime | None
    check_result: str | None
    sampled_at: datetime | None
    sample: Mapping[str, Any] | None


@dataclass(frozen=True)
class Sampled:
    """A stored passage and the text of its document as it is now; ``vector`` are the numbers that stand."""

    key: Key
    n: int
    passage_hash: bytes
    vector: Sequence[float]
    title: str
    body: str
    parts: Sequence[tuple[int, str]] = ()


def limit_time(session: Session, seconds: float) -> None:
    """No statement of this transaction takes longer; PostgreSQL cancels it with the state 57014."""
    session.execute(
        text("select set_config('statement_timeout', :limit, true)"), {"limit": str(max(int(seconds * 1000), 1))}
    )


def named_spaces(session: Session) -> list[int]:
    """Spaces that serve or that an open switch goes to, the serving one first."""
    return list(session.scalars(text(_SPACES.format(more=""))))


def held_spaces(session: Session) -> list[int]:
    """Those of :func:`named_spaces`, then any other that holds rows, the newest first."""
    more = "or exists (select 1 from embeddings e where e.space_id = s.id)"
    return list(session.scalars(text(_SPACES.format(more=more))))


def is_space(session: Session, space_id: int) -> bool:
    """Whether there is such a space."""
    return session.get(VectorSpace, space_id) is not None


def checked(session: Session, space_id: int) -> Checked:
    """What is noted of the space."""
    row = session.execute(
        select(VectorSpace.checked_at, VectorSpace.check_result, VectorSpace.sampled_at, VectorSpace.sample).where(
            VectorSpace.id == space_id
        )
    ).one()
    return Checked(*row)


def count(session: Session, space: Space) -> list[Counts]:
    """Everything of a space, by entity, in one statement."""
    return [Counts(*row) for row in session.execute(text(_COUNT), _values(space))]


def tolerance(space: Space) -> float:
    """How far a norm may be from 1; without end for a model that does not normalise."""
    return NORM_TOLERANCE if space.profile.normalize else float("inf")


def wrong_documents(session: Session, space: Space, kind: str, limit: int) -> list[Document]:
    """Some documents with rows that ``kind`` of :data:`CONDITIONS` names; none when there are no more."""
    rows = session.execute(
        text(
            "select distinct e.entity, e.record_id, e.locale from embeddings e "
            f"where e.space_id = :space and {CONDITIONS[kind]} limit :limit"
        ),
        {**_values(space), "limit": limit},
    )
    return [(entity, record_id, locale) for entity, record_id, locale in rows]


def delete_rows_of(
    session: Session, space: Space, documents: Sequence[Document], where: str
) -> tuple[int, set[Record]]:
    """Delete rows of ``documents`` for which ``where`` still holds once nobody else can write them.

    Returns how many, and the records that they belonged to.
    """
    store.lock_documents(session, space.id, [Key(*document, b"") for document in documents])
    rows = session.execute(
        text(
            f"""
            delete from embeddings e
            using unnest(cast(:entities as text[]), cast(:ids as bigint[]), cast(:locales as text[]))
                as k (entity, record_id, locale)
            where e.entity = k.entity and e.record_id = k.record_id and e.locale = k.locale
              and e.space_id = :space and {where}
            returning e.entity, e.record_id
            """
        ),
        {
            **_values(space),
            "entities": [entity for entity, _, _ in documents],
            "ids": [record_id for _, record_id, _ in documents],
            "locales": [locale for _, _, locale in documents],
        },
    ).all()
    return len(rows), {(row[0], row[1]) for row in rows}


def add_events(session: Session, records: Iterable[Record]) -> None:
    """One index event for each record: its consumer reads it again."""
    for entity, record_id in sorted(records):
        documents_store.add_event(session, entity, record_id, 0)


def _values(space: Space) -> dict[str, Any]:
    return {"space": space.id, "dimensions": space.dimensions, "tolerance": tolerance(space)}


def ask_for(session: Session, space_id: int, limit: int) -> int:
    """Leave an index event for up to ``limit`` records whose documents can be embedded now; returns how many.

    A record that has an event its consumer has not passed gets no second one, so asking twice is free.
    """
    result: Any = session.execute(
        text(
            f"""
            insert into index_events (entity, record_id, revision)
            select m.entity, m.record_id, 0 from (
                select distinct d.entity, d.record_id {store.OPEN_MISSING} and not exists (
                    select 1 from index_events i join index_cursors c on c.space_id = :space
                    where i.entity = d.entity and i.record_id = d.record_id and (i.xid, i.id) > (c.xid, c.event_id))
                order by 1, 2 limit :limit) m
            """
        ),
        {"space": space_id, "limit": limit},
    )
    return int(result.rowcount)


def undecided(session: Session, space_id: int) -> Sequence[int]:
    """Ids of the failures that await a decision."""
    statement = select(SwitchFailure.id).where(SwitchFailure.space_id == space_id, SwitchFailure.resolution.is_(None))
    return session.scalars(statement).all()


def sample(session: Session, space_id: int, size: int) -> list[Sampled]:
    """Some passages that were made from their document's current text, chosen at random."""
    rows = session.execute(
        text(
            """
            select e.entity, e.record_id, e.locale, e.text_hash, e.n, e.passage_hash, cast(e.embedding as real[]),
                d.title, d.body, d.parts
            from embeddings e join search_documents d on d.entity = e.entity and d.record_id = e.record_id
                and d.locale = e.locale and d.text_hash = e.text_hash
            where e.ctid = any(array(select o.ctid from embeddings o where o.space_id = :space
                order by random() limit :size))
            """
        ),
        {"space": space_id, "size": size},
    )
    return [Sampled(Key(*row[:4]), *row[4:]) for row in rows]


def note_sample(session: Session, space_id: int, found: Mapping[str, Any]) -> None:
    """Note what comparing stored vectors with fresh ones came to."""
    session.execute(
        text("update vector_spaces set sampled_at = clock_timestamp(), sample = :found where id = :id").bindparams(
            bindparam("found", type_=JSONB)
        ),
        {"id": space_id, "found": dict(found)},
    )
