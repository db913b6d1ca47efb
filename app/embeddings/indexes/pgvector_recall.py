"""How much of the exact answer a space's index finds, measured with vectors that stand in it."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.embeddings.indexes.pgvector import operator
from app.embeddings.spaces import Space

SAMPLES = 20
NEAREST = 10


def recall(session: Session, space: Space, entity: str) -> float | None:
    """The share of the 10 exactly nearest passages that the index returns, over 20 stored vectors; None without any.

    A passage as near as the tenth counts as found: equal texts stand at equal distances.
    """
    dimensions = int(space.dimensions)
    cast = f"embedding\\:\\:vector({dimensions})"
    where = f"space_id = {int(space.id)} and entity = '{entity}'"
    chosen = f"select cast(embedding as text) from embeddings where {where} order by passage_hash limit {SAMPLES}"
    samples = session.scalars(text(chosen)).all()
    distance = f"({cast}) {operator(space.similarity)} cast(:sample as vector({dimensions}))"
    nearest = text(f"select {distance} from embeddings where {where} order by {distance} limit {NEAREST}")
    shares = []
    for sample in samples:
        found = {}
        for how in ("enable_seqscan", "enable_indexscan"):
            session.execute(text(f"set local {how} = off"))
            found[how] = list(session.scalars(nearest, {"sample": sample}))
            session.execute(text(f"set local {how} = on"))
        exact, by_index = found["enable_indexscan"], found["enable_seqscan"]
        shares.append(sum(value <= exact[-1] + 1e-6 for value in by_index) / len(exact))
    return round(sum(shares) / len(shares), 3) if shares else None
