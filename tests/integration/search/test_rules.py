"""Row and field rules in search: what is found, what is told of a hit, and what an engine that is behind can't leak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import inspect

from app.container import Container
from app.core.contracts.actor import SYSTEM, Actor
from app.core.contracts.conditions import Condition
from app.core.errors import Forbidden, NotFound
from app.core.registry import Entity
from app.documentation.models import DocumentationPage, DocumentationText
from app.search.answer import COSTS
from app.search.engines.ports import FoundDocument, Key, KeywordHit, KeywordLeg, Scope
from app.search.options import Options
from app.search.resolver import LexicalResolver
from app.search.service import Search, texts_of
from app.search.work import Defaults
from tests.fakes.clock import START, FakeClock

CONTENTS, USER = "cms.contents", "documentation.user"
READER = Actor(7, "anna", "", permissions=frozenset({f"{CONTENTS}.select", f"{USER}.select"}))
NEWS = replace(READER, rows={f"{CONTENTS}.select": Condition("category", "=", "news")})
ALL_FIELDS = frozenset({"title", "body", "category", "author", "status"})


@pytest.fixture
def made(container: Container) -> dict[str, int]:
    """Two published contents by category."""
    found = {}
    for category in ("news", "policy"):
        values = {
            "category": category,
            "status": "published",
            "translations": {"en": {"title": f"Printer {category}", "body": "x"}},
        }
        with container.units() as unit:
            record: Any = container.records.create(unit, SYSTEM, CONTENTS, values)
            found[category] = record.id
    return found


def ask(container: Container, actor: Actor, q: str = "printer", **options: Any) -> Any:
    return container.search.search(actor, container.search.request(q=q, **options))


def test_hits_and_totals_follow_the_rows(container: Container, made: dict[str, int]) -> None:
    assert {hit.id for hit in ask(container, READER).hits} == set(made.values())
    found = ask(container, NEWS)
    assert [hit.id for hit in found.hits] == [made["news"]]
    assert (found.total, found.pages, found.meta.words) == (1, 1, 1)


@pytest.mark.parametrize("hidden", ["title", "body"])
def test_an_entity_whose_texts_are_hidden_is_not_searched(
    container: Container, made: dict[str, int], hidden: str
) -> None:
    actor = replace(READER, readable={CONTENTS: ALL_FIELDS - {hidden}})
    assert container.search.entities(actor) == (USER,)
    assert ask(container, actor).hits == ()
    with pytest.raises(Forbidden) as caught:
        ask(container, actor, entities=[CONTENTS])
    assert caught.value.code == "search.fields_hidden"


def test_a_hit_tells_readable_fields_only(container: Container, made: dict[str, int]) -> None:
    (hit,) = ask(container, NEWS).hits
    assert hit.status == "published"
    (hit,) = ask(container, replace(NEWS, readable={CONTENTS: ALL_FIELDS - {"status"}})).hits
    assert hit.status is None


class Behind:
    """An engine that knows nothing of rows: it answers with all it ever had."""

    def __init__(self, hits: Sequence[Key], engine: Any) -> None:
        self.words = engine.words
        self.matching = engine.matching
        self.satisfying = engine.satisfying
        self.corrections = engine.corrections
        self.coverage = engine.coverage
        self.facets = engine.facets
        self.found = hits

    def keyword(
        self, session: Any, query: Any, scope: Scope, locale: str | None, window: int, seconds: float | None = None
    ) -> KeywordLeg:
        return KeywordLeg([KeywordHit(entity, record, "en", 1.0) for entity, record in self.found], 9, 1.0)

    def documents(self, session: Any, keys: Sequence[Key], scope: Scope) -> Sequence[FoundDocument]:
        return [FoundDocument(entity, record, "en", "secret", "secret") for entity, record in keys]


def test_what_an_engine_should_not_have_found_is_dropped_when_it_is_loaded(
    container: Container, made: dict[str, int]
) -> None:
    keys = [(CONTENTS, made["news"]), (CONTENTS, made["policy"]), (CONTENTS, 99)]
    engine = Behind(keys, container.word_engine)
    defaults = Defaults(lambda session: Options(budgets=dict.fromkeys(COSTS, 60_000)))
    search = Search(container.units, container.registry, engine, LexicalResolver(), FakeClock(), defaults)
    found = search.search(NEWS, search.request(q="secret"))
    assert [hit.id for hit in found.hits] == [made["news"]]


@pytest.fixture
def pages(container: Container) -> None:
    with container.units() as unit:
        for source in ("guide/open", "guide/closed"):
            text = DocumentationText(
                locale="en", title=f"Scanner {source}", body="x", front_matter={}, content_hash=b"0"
            )
            page = DocumentationPage(corpus="user", source=source, texts=[text])
            unit.session.add(page)
            unit.session.flush()
            documents = container.registry.get(USER).documents(page, START)
            container.outbox.put(unit, USER, page.id, documents)


@pytest.mark.usefixtures("pages")
def test_pages_of_the_documentation_have_rows_and_fields_like_records(container: Container) -> None:
    documentation = container.documentation
    assert documentation is not None
    opened = replace(READER, rows={f"{USER}.select": Condition("source", "like", "%/open")})
    assert [hit.source for hit in ask(container, opened, "scanner").hits] == ["guide/open"]
    with container.units() as unit:
        assert [line.source for line in documentation.pages(unit, opened, "user")] == ["guide/open"]
        assert documentation.page(unit, opened, "user", "guide/open").source == "guide/open"
        with pytest.raises(NotFound):
            documentation.page(unit, opened, "user", "guide/closed")
        untold = replace(READER, readable={USER: frozenset({"title"})})
        assert documentation.corpora(untold) == []
        with pytest.raises(NotFound):
            documentation.pages(unit, untold, "user")


def test_documents_are_made_of_the_fields_that_search_asks_for(container: Container) -> None:
    """A field that leaks into a document must be one of `texts_of`: each other one is filled with a telltale."""
    for entity in container.registry:
        row = _telltale(entity)
        texts = [f"{one.title}\n{one.body}" for one in entity.documents(row, START)]
        assert texts, entity.name
        assert not [text for text in texts if "telltale" in text], entity.name


def _telltale(entity: Entity) -> Any:
    values: dict[str, Any] = {}
    for name, column in inspect(entity.model).columns.items():
        kind = column.type.python_type
        if name in texts_of(entity) or kind in (int, datetime) or name in ("locale", "status", "corpus"):
            continue
        values[name] = "telltale" if kind is str else None
    row = entity.model(**values, id=1, revision=1, **entity.visible)
    if hasattr(row, "status"):
        row.status = "published"
    if hasattr(row, "locale"):
        row.locale = "en"
    for name in texts_of(entity):
        item = next(item for item in entity.fields if item.name == name)
        if not item.translated:
            setattr(row, name, 1 if item.kind == "integer" else "words")
    if entity.translation_model is not None:
        words = {item.name: "words" for item in entity.translated_fields}
        setattr(row, entity.translations_field, [entity.translation_model(locale="en", **words)])
    return row
