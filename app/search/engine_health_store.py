"""What PostgreSQL's catalogue says of the indexes that search reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.orm import Session


@dataclass(frozen=True)
class Built:
    """An index on the searchable texts (``entity`` None), or on the vectors of one entity in one space."""

    name: str
    entity: str | None
    space_id: int | None
    dimensions: int | None
    serves: bool
    valid: bool
    ready: bool
    size: int


def version(session: Session) -> str:
    """The server's version, such as ``18.1``."""
    return str(session.scalar(text("select current_setting('server_version')"))).split(" ", 1)[0]


def documents(session: Session) -> Mapping[str, int]:
    """Entity to the number of its searchable records."""
    rows = session.execute(
        text("select entity, count(distinct record_id) from search_documents group by entity order by entity")
    )
    return {row[0]: row[1] for row in rows}


def records_with_vectors(session: Session) -> Mapping[tuple[str, int], int]:
    """(entity, space) to the number of records that have a vector in it, of spaces that an index stands for."""
    rows = session.execute(
        text("select entity, space_id, count(distinct record_id) from embeddings group by entity, space_id")
    )
    return {(row[0], row[1]): row[2] for row in rows}


def indexes(session: Session) -> Sequence[Built]:
    """The indexes of words, then those of vectors by name."""
    rows = session.execute(
        text(
            """
            select c.relname, i.indisvalid, i.indisready, pg_relation_size(c.oid),
                (regexp_match(pg_get_expr(i.indpred, i.indrelid), 'entity = ''([^'']+)'''))[1],
                (regexp_match(pg_get_expr(i.indpred, i.indrelid), 'space_id = (\\d+)'))[1]\\:\\:int
            from pg_index i
            join pg_class c on c.oid = i.indexrelid
            join pg_am a on a.oid = c.relam
            where i.indrelid in ('search_documents'\\:\\:regclass, 'embeddings'\\:\\:regclass)
              and a.amname in ('gin', 'hnsw')
            order by i.indrelid = 'embeddings'\\:\\:regclass, c.relname
            """
        )
    ).all()
    spaces = {row[0]: row[1] for row in session.execute(text("select id, dimensions from vector_spaces"))}
    serving = session.scalar(text("select space_id from serving"))
    return [
        Built(name, entity, space, spaces.get(space), space is None or space == serving, valid, ready, size)
        for name, valid, ready, size, entity, space in rows
    ]
