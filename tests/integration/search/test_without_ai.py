"""The deletion test of search: without the AI packages words answer, and say what is missing."""

from __future__ import annotations

import sys

import pytest

from app.container import build_container
from app.core.config import Config
from app.core.contracts.actor import SYSTEM
from app.core.contracts.documents import Document
from app.search.answer import SearchRequest
from tests.fakes.queue import RecordingQueue


def test_words_answer(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("app.embeddings")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "app.embeddings", None)
    parts = build_container(config, queue=RecordingQueue())
    assert parts.vectors is None
    with parts.units() as unit:
        parts.outbox.put(unit, "cms.contents", 1, [Document("cms.contents", 1, "en", "Printer", "x", 1)])
    found = parts.search.search(SYSTEM, SearchRequest("printers"))
    assert [hit.id for hit in found.hits] == [1]
    assert (found.meta.degraded_reason, found.meta.mode_applied) == ("mode_unavailable", "fast")
    assert parts.search.search(SYSTEM, SearchRequest("printers", cost="fast")).meta.degraded_reason is None
    parts.engine.dispose()
