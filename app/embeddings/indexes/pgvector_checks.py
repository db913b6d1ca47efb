"""Checks of a space's stored vectors and index for one entity; counts the vectors themselves, not what was noted."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.embeddings.indexes.pgvector import index_name, is_valid, operator
from app.embeddings.spaces import Space

NORM_TOLERANCE = 0.01


def problem(session: Session, space: Space, entity: str) -> str | None:
    """The first thing that is wrong, as a short class with counts, or None.

    Checked: the index is there and valid; every vector has the space's length, is finite and (for a profile that
    normalises) of length 1; a nearest-neighbour query through the index answers when there is anything to find.
    """
    if not is_valid(session, index_name(space.id, entity)):
        return "index missing or invalid"
    row = session.execute(
        text(
            """
            select count(*), count(*) filter (where vector_dims(embedding) <> :dimensions),
                count(*) filter (where vector_norm(embedding) = 'NaN' or vector_norm(embedding) = 0),
                count(*) filter (where abs(vector_norm(embedding) - 1) > :tolerance)
            from embeddings where space_id = :space and entity = :entity
            """
        ),
        {"dimensions": space.dimensions, "tolerance": NORM_TOLERANCE, "space": space.id, "entity": entity},
    ).one()
    if row[1]:
        return f"{row[1]} vectors of another length"
    if row[2]:
        return f"{row[2]} vectors without a direction"
    if row[3] and space.profile.normalize:
        return f"{row[3]} vectors that are not of length 1"
    if row[0] and not _answers(session, space, entity):
        return "the index does not answer"
    return None


def _answers(session: Session, space: Space, entity: str) -> bool:
    dimensions = int(space.dimensions)
    cast = f"embedding\\:\\:vector({dimensions})"
    where = f"space_id = {int(space.id)} and entity = '{entity}'"
    session.execute(text("set local enable_seqscan = off"))
    found = session.execute(
        text(
            f"select record_id from embeddings where {where} "
            f"order by ({cast}) {operator(space.similarity)} "
            f"(select {cast} from embeddings where {where} limit 1) limit 1"
        )
    ).one_or_none()
    return found is not None
