"""For random row rules, people and records, every way to rows shows the same ones: those of the plain evaluation."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from sqlalchemy import select, text

from app.cms.models import Content, ContentTranslation
from app.container import Container
from app.core.access.models import Role, RowRule, User
from app.core.access.policy import visible
from app.core.contracts.actor import Actor
from app.core.errors import Forbidden, NotFound
from app.core.unit import Origin, Unit
from app.sao.models import Ticket
from tests.fakes.clock import START
from tests.integration.access.plain_rules import (
    Json,
    PlainRole,
    Who,
    conditions,
    dates,
    numbers,
    passes,
    pools,
    rarely_empty,
    reaches,
    spelt_dates,
)
from tests.integration.search.conftest import Stage

CONTENTS, TICKETS = "cms.contents", "sao.tickets"
TEXT_FIELDS = {CONTENTS: "category", TICKETS: "subject"}
STATUSES = st.sampled_from(["open", "closed"])
LOCALES = st.sampled_from(["en", "it"])
PERMISSIONS = [f"{entity}.{ability}" for entity in (CONTENTS, TICKETS) for ability in ("select", "update")]
EMPTIED = (
    *("embeddings", "search_documents", "index_events", "cms_content_translations", "cms_contents", "sao_tickets"),
    *("row_rules", "user_roles", "roles", "users"),
)


@pytest.fixture
def stage(container: Container) -> Stage:
    return Stage(container)


@dataclass(frozen=True)
class World:
    """What one example is about. ``filters`` are what the person asks a list for."""

    rows: Mapping[str, list[dict[str, Any]]]
    roles: Mapping[str, PlainRole]
    who: Who
    filters: Mapping[str, Json]


def fields_of(pool: list[str]) -> Mapping[str, Mapping[str, st.SearchStrategy[Json]]]:
    """What conditions name, and values of its type as JSON."""
    some = st.sampled_from(pool)
    return {
        CONTENTS: {"author": some, "category": some, "key": some, "id": numbers, "valid_from": spelt_dates},
        TICKETS: {
            "subject": some,
            "requester": some,
            "assignee": some,
            "number": numbers,
            "status": STATUSES,
            "locale": LOCALES,
            "created_at": spelt_dates,
        },
    }


def rows_of(entity: str, pool: list[str]) -> st.SearchStrategy[list[dict[str, Any]]]:
    some = st.sampled_from(pool)
    if entity == CONTENTS:
        keys: st.SearchStrategy[list[Any]] = st.permutations([*pool, None, None, None])
        one = st.fixed_dictionaries({"author": some, "category": some, "valid_from": st.none() | dates})
        unique = "key"
    else:
        keys = st.permutations(list[Any](range(1, 9)))
        one = st.fixed_dictionaries(
            {
                "subject": some,
                "requester": some,
                "assignee": st.none() | some,
                "status": STATUSES,
                "locale": LOCALES,
                "created_at": dates,
            }
        )
        unique = "number"
    return st.builds(
        lambda rows, keys: [{"id": place, unique: keys[place - 1], **row} for place, row in enumerate(rows, 1)],
        st.lists(one, min_size=4, max_size=7),
        keys,
    )


@st.composite
def worlds(draw: st.DrawFn) -> World:
    pool = draw(pools)
    fields = fields_of(pool)
    rules = {
        permission: rarely_empty(conditions(fields[permission.rpartition(".")[0]], pool, placeholders=True), 2)
        for permission in PERMISSIONS
    }
    granted = st.frozensets(st.sampled_from(PERMISSIONS), min_size=3)
    role = st.builds(PlainRole, permissions=granted, rules=st.fixed_dictionaries(rules))
    roles = draw(st.dictionaries(st.sampled_from([name for name in pool if name]), role, min_size=1, max_size=3))
    return World(
        rows={entity: draw(rows_of(entity, pool)) for entity in fields},
        roles=roles,
        who=Who(
            id=7,
            login=draw(st.sampled_from([name for name in pool if name])),
            tenant=draw(st.none() | numbers),
            locale=draw(LOCALES),
            roles=tuple(roles),
        ),
        filters={entity: draw(conditions(one, pool, placeholders=False)) for entity, one in fields.items()},
    )


def build(stage: Stage, world: World) -> Actor:
    """Put the world into the database, with a vector for every text, and come in as its person."""
    parts = stage.container
    with parts.units() as unit:
        for table in EMPTIED:
            unit.session.execute(text(f"delete from {table}"))
        put_records(parts, unit, world)
        unit.session.execute(
            text(
                """insert into embeddings (entity, record_id, locale, space_id, n, "of", start, "end", text_hash,
                passage_hash, embedding) select entity, record_id, locale, :space, 0, 1, 0, 9, text_hash, text_hash,
                cast('[1,0,0,0]' as vector) from search_documents"""
            ),
            {"space": stage.space},
        )
        user = put_person(unit, world)
    with parts.units() as unit:
        actor = parts.access.actor_by_session(unit, user, 1)
        assert actor is not None
        return actor


def put_records(parts: Container, unit: Unit, world: World) -> None:
    made: Mapping[str, list[Any]] = {
        CONTENTS: [
            Content(
                status="published",
                translations=[
                    ContentTranslation(locale=code, title="gathering", body="x") for code in ("en", "it")[: row["id"]]
                ],
                **row,
            )
            for row in world.rows[CONTENTS]
        ],
        TICKETS: [Ticket(description="gathering", **row) for row in world.rows[TICKETS]],
    }
    for entity, rows in made.items():
        unit.session.add_all(rows)
        unit.session.flush()
        documents = parts.registry.get(entity).documents
        parts.outbox.put_many(unit, entity, {row.id: documents(row, START) for row in rows})


def put_person(unit: Unit, world: World) -> int:
    roles = [
        Role(
            name=name,
            permissions=sorted(role.permissions),
            row_rules=[
                RowRule(permission=permission, condition=condition)
                for permission, rules in role.rules.items()
                for condition in rules
            ],
        )
        for name, role in world.roles.items()
    ]
    who = world.who
    user = User(
        id=who.id, login=who.login, display_name="x", tenant_id=who.tenant, locale=who.locale, session_version=1
    )
    user.roles = roles
    unit.session.add(user)
    unit.session.flush()
    return user.id


class Ways:
    """Every way to the rows of one entity, as ids. What is refused as a whole shows nothing."""

    def __init__(self, stage: Stage, actor: Actor, entity: str, wanted: Json) -> None:
        self.stage = stage
        self.parts = stage.container
        self.actor = actor
        self.entity = entity
        self.wanted = wanted

    def predicate(self, ability: Any = "select") -> set[int]:
        entity = self.parts.registry.get(self.entity)
        with self.parts.units() as unit:
            return set(unit.session.scalars(select(entity.model.id).where(visible(entity, self.actor, ability))))

    def listed(self, **raw: Any) -> set[int]:
        with self.parts.units() as unit:
            page = self.parts.records.page(unit, self.actor, self.entity, {"size": 100, **raw})
        assert page.total == len(page.records)
        return {record.id for record in page.records}

    def filtered(self) -> set[int]:
        return self.listed(filter=self.wanted)

    def by_cursor(self) -> set[int]:
        seen: list[int] = []
        cursor = None
        with self.parts.units() as unit:
            while True:
                raw = {"size": 2, "sort": "-id", "filter": self.wanted, "cursor": cursor}
                page = self.parts.records.page(unit, self.actor, self.entity, raw)
                seen += [record.id for record in page.records]
                cursor = page.next_cursor
                if cursor is None:
                    assert len(seen) == len(set(seen))
                    return set(seen)

    def details(self) -> set[int]:
        found = set()
        with self.parts.units() as unit:
            for record_id in range(1, 10):
                try:
                    found.add(self.parts.records.get(unit, self.actor, self.entity, record_id).id)
                except NotFound:
                    continue
        return found

    def summarized(self) -> set[int]:
        raw = {"group_by": "id", "filter": self.wanted}
        with self.parts.units() as unit:
            summary = self.parts.summaries.summarize(unit, self.actor, self.entity, raw)
        assert summary.total == len(summary.buckets) == sum(bucket.count for bucket in summary.buckets)
        return {int(str(bucket.group["id"])) for bucket in summary.buckets}

    def exported(self) -> set[int]:
        raw = {"filter": self.wanted}
        lines = "".join(self.parts.exports.csv(self.actor, self.entity, raw, Origin()))
        return {int(row["id"]) for row in csv.DictReader(io.StringIO(lines, newline=""))}

    def previewed(self) -> set[int]:
        """Of a change of many by filter; one that restricts nothing is refused, hence the condition in front."""
        some = {"operator": "and", "filters": [{"property": "id", "operator": ">", "value": 0}, self.wanted]}
        return self._preview(filter=some)

    def previewed_by_ids(self) -> set[int]:
        return self._preview(ids=list(range(1, 10)))

    def _preview(self, **raw: Any) -> set[int]:
        asked = {"operation": "update", "values": {TEXT_FIELDS[self.entity]: "new"}, **raw}
        with self.parts.units() as unit:
            preview = self.parts.many.preview(unit, self.actor, self.entity, asked)
        found = {record.id for record in preview.records}
        assert preview.count == len(found)
        assert not found & set(preview.missing)
        return found

    def by_words(self) -> set[int]:
        found = self.stage.search().search(self.actor, self._request("gathering", mode="basic"))
        assert found.total == len(found.hits)
        return {hit.id for hit in found.hits}

    def by_vectors(self) -> set[int]:
        found = self.stage.search().search(self.actor, self._request("wombat"))
        assert found.meta.strategies == ("keyword", "vector")
        assert found.meta.vector == len(found.hits)
        return {hit.id for hit in found.hits}

    def _request(self, q: str, **options: Any) -> Any:
        return self.parts.search.request(q=q, entities=[self.entity], size="100", **options)


def shown(way: Callable[[], set[int]]) -> set[int]:
    try:
        return way()
    except (Forbidden, NotFound):
        return set()


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(world=worlds())
def test_every_way_shows_the_same_rows(stage: Stage, world: World) -> None:
    actor = build(stage, world)
    roles = list(world.roles.values())
    for entity, rows in world.rows.items():
        seen = {row["id"] for row in rows if reaches(row, entity, "select", roles, world.who)}
        changed = {row["id"] for row in rows if reaches(row, entity, "update", roles, world.who)}
        wanted = {row["id"] for row in rows if row["id"] in seen and passes(row, world.filters[entity])}
        note(f"{entity}: sees {seen}, may change {changed}, asks for {wanted}")
        ways = Ways(stage, actor, entity, world.filters[entity])
        for way in (ways.predicate, ways.listed, ways.details, ways.by_words, ways.by_vectors):
            assert shown(way) == seen, way.__name__
        for way in (ways.filtered, ways.by_cursor, ways.summarized, ways.exported):
            assert shown(way) == wanted, way.__name__
        assert ways.predicate("update") == changed
        assert shown(ways.previewed_by_ids) == changed
        assert shown(ways.previewed) == {
            row["id"] for row in rows if row["id"] in changed and passes(row, world.filters[entity])
        }
