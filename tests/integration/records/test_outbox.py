"""Many documents at once are the same as one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import cast, func, text
from sqlalchemy.dialects.postgresql import REGCONFIG

from app.container import Container
from app.core.contracts.documents import Document, WordColumns
from app.core.outbox import NoWords, Outbox

STATE = "select entity, record_id, locale, title, body, words::text, identifiers, revision from search_documents"
EVENTS = "select entity, record_id, revision from index_events order by id"


class Words:
    """An engine whose expressions have two shapes."""

    def values(self, document: Document) -> Mapping[str, Any]:
        config = cast("english" if document.locale == "en" else "italian", REGCONFIG)
        words = func.to_tsvector(config, document.body)
        return {"words": words if document.record_id % 2 else func.strip(words), "identifiers": [document.title]}


def items(version: int) -> dict[int, list[Document]]:
    def document(key: int, locale: str) -> Document:
        return Document("x.y", key, locale, f"T{key}", f"running {locale} {key} {version}", version)

    kept = {key: [document(key, "it"), document(key, "en")] for key in range(6, 0, -1)}
    if version == 1:
        return kept
    return {**kept, 2: [document(2, "it")], 3: [], 4: [Document("x.y", 4, "en", " ", "\x00", 2)]}


@pytest.mark.parametrize("words", [NoWords(), Words()])
def test_put_many_is_put_for_each(container: Container, words: WordColumns) -> None:
    outbox = Outbox(words)
    found = []
    for together in (True, False):
        with container.units() as unit:
            for version in (1, 2):
                if together:
                    outbox.put_many(unit, "x.y", items(version))
                    continue
                for key, documents in sorted(items(version).items()):
                    outbox.put(unit, "x.y", key, documents)
            rows = unit.session.execute(text(f"{STATE} order by 1, 2, 3")).all()
            keys = [row[1] for row in unit.session.execute(text(EVENTS))]
            found.append((rows, keys))
            assert len(unit.wakes) == 1
            unit.session.execute(text("truncate search_documents, index_events cascade"))
    assert found[0] == found[1]
    assert len(found[0][0]) == 7


def test_a_record_that_was_never_searchable_leaves_no_event(container: Container) -> None:
    with container.units() as unit:
        Outbox(NoWords()).put_many(unit, "x.y", {1: [], 2: []})
        assert unit.session.execute(text(EVENTS)).all() == []
        assert unit.wakes == []
