"""Whether a corpus holds vectors of a model that nothing accounts for (`known-bugs.md` 15)."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text
from sqlalchemy.orm import Session

_OTHER = text(
    """
    select v.model_key from vector_spaces v
    where v.id <> :serving and v.retained_until is null
      and not exists (select 1 from switches w where w.status in ('running', 'failed')
        and v.id in (w.from_space_id, w.to_space_id))
      and exists (select 1 from search_documents d
        join embeddings e on e.entity = d.entity and e.record_id = d.record_id and e.locale = d.locale
            and e.space_id = v.id and e.text_hash = d.text_hash
        where d.entity = any (cast(:entities as text[]))
          and not exists (select 1 from embeddings s where s.entity = d.entity and s.record_id = d.record_id
            and s.locale = d.locale and s.space_id = :serving and s.text_hash = d.text_hash))
    order by v.id limit 1
    """
)


def other_model(session: Session, serving_id: int, entities: Sequence[str]) -> str | None:
    """The model of a space that neither serves, nor is part of an open switch, nor is kept, and that alone has
    embedded a current text of these entities."""
    found = session.scalar(_OTHER, {"serving": serving_id, "entities": list(entities)})
    return None if found is None else str(found)
