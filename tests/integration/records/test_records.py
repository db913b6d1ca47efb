"""Records in the database: permissions, revisions, searchable documents, numbers, lists."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from app.container import Container
from app.core.contracts.actor import ANONYMOUS, SYSTEM, Actor
from app.core.crud.serialise import Record
from app.core.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from tests.fakes.clock import FakeClock

CONTENTS, TICKETS = "cms.contents", "sao.tickets"
READER = Actor(1, "reader", "Reader", permissions=frozenset({"cms.contents.select"}))
BOTH = {"en": {"title": "Holiday plan", "body": "Ask early."}, "it": {"title": "Piano ferie", "body": "Chiedi presto."}}


def create(container: Container, name: str = CONTENTS, **values: Any) -> Record:
    base = {"translations": BOTH, "status": "published"} if name == CONTENTS else {"subject": "Printer", "locale": "it"}
    with container.units() as unit:
        return container.records.create(unit, SYSTEM, name, {**base, **values})


def update(container: Container, record: Record, revision: int, **values: Any) -> Record:
    with container.units() as unit:
        return container.records.update(unit, SYSTEM, record.entity, record.id, values, revision)


def documents(container: Container) -> list[tuple[str, int, str, str, int]]:
    with container.units() as unit:
        found = unit.session.execute(
            text("select entity, record_id, locale, title, revision from search_documents order by 1, 2, 3")
        )
        return [tuple(row) for row in found]


def events(container: Container) -> int:
    with container.units() as unit:
        return int(unit.session.scalar(text("select count(*) from index_events")) or 0)


def test_a_content_is_searchable_in_each_of_its_locales(container: Container) -> None:
    record = create(container)
    assert documents(container) == [
        (CONTENTS, record.id, "en", "Holiday plan", 1),
        (CONTENTS, record.id, "it", "Piano ferie", 1),
    ]
    assert events(container) == 1


def test_a_draft_is_not_searchable_and_leaves_no_event(container: Container) -> None:
    create(container, status="draft")
    assert documents(container) == []
    assert events(container) == 0


def test_a_ticket_is_searchable_by_its_number_in_its_own_locale(container: Container) -> None:
    record = create(container, TICKETS)
    assert documents(container) == [(TICKETS, record.id, "it", f"{record.reference} Printer", 1)]


def test_each_change_raises_the_one_revision(container: Container) -> None:
    record = create(container)
    assert update(container, record, 1, category="hr").revision == 2
    changed = update(container, record, 2, translations={"it": {"title": "Ferie"}})
    assert (changed.revision, changed.translations["it"]) == (3, {"title": "Ferie", "body": "Chiedi presto."})
    assert {row[4] for row in documents(container)} == {3}


def test_what_changes_nothing_leaves_no_trace(container: Container) -> None:
    record = create(container)
    assert update(container, record, 1, translations=BOTH, status="published").revision == 1
    assert events(container) == 1


def test_an_old_revision_is_refused_with_both(container: Container) -> None:
    record = create(container)
    update(container, record, 1, category="hr")
    with pytest.raises(Stale) as refused:
        update(container, record, 1, category="it")
    assert refused.value.values == {"sent": 1, "current": 2}


def test_of_two_writers_one_wins(container: Container) -> None:
    record = create(container)

    def write(category: str) -> str:
        try:
            update(container, record, 1, category=category)
        except Stale:
            return "stale"
        return "won"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(write, ["a", "b"])) == ["stale", "won"]


def test_a_translation_can_go_but_not_the_last_one(container: Container) -> None:
    record = create(container)
    assert set(update(container, record, 1, translations={"it": None}).translations) == {"en"}
    assert [row[2] for row in documents(container)] == ["en"]
    with pytest.raises(Invalid):
        update(container, record, 2, translations={"en": None})


def test_a_refused_change_leaves_nothing_even_if_the_unit_commits(container: Container) -> None:
    record = create(container)
    with container.units() as unit, pytest.raises(Invalid):
        container.records.update(
            unit, SYSTEM, CONTENTS, record.id, {"category": "hr", "translations": {"en": None, "it": None}}, 1
        )
    with container.units() as unit:
        stored = container.records.get(unit, SYSTEM, CONTENTS, record.id)
    assert (stored.revision, stored.fields["category"], len(stored.translations)) == (1, "news", 2)


def test_deleting_hides_and_restoring_brings_back(container: Container) -> None:
    record = create(container)
    with container.units() as unit:
        container.records.delete(unit, SYSTEM, CONTENTS, record.id)
    assert documents(container) == []
    with container.units() as unit, pytest.raises(NotFound):
        container.records.get(unit, READER, CONTENTS, record.id)
    with pytest.raises(Conflict):
        update(container, record, 2, category="hr")
    with container.units() as unit:
        assert container.records.delete(unit, SYSTEM, CONTENTS, record.id).revision == 2
        assert container.records.restore(unit, SYSTEM, CONTENTS, record.id).revision == 3
    assert len(documents(container)) == 2


def test_who_may_not_is_refused_and_learns_nothing(container: Container) -> None:
    record = create(container)
    with container.units() as unit:
        records = container.records
        assert records.get(unit, READER, CONTENTS, record.id).title == "Holiday plan"
        with pytest.raises(Forbidden):
            records.update(unit, READER, CONTENTS, record.id, {"category": "x"}, 1)
        with pytest.raises(Forbidden):
            records.delete(unit, READER, CONTENTS, record.id)
        with pytest.raises(Forbidden):
            records.create(unit, READER, CONTENTS, {})
        with pytest.raises(Forbidden):
            records.page(unit, ANONYMOUS, CONTENTS, {})
        for record_id in (record.id, 999, 2**70):
            with pytest.raises(NotFound) as hidden:
                records.get(unit, ANONYMOUS, CONTENTS, record_id)
            assert hidden.value.code == "record.not_found"


def test_ticket_numbers_never_repeat(container: Container) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: create(container, TICKETS), range(12)))
    assert sorted(int(str(record.fields["number"])) for record in made) == list(range(1, 13))


def titles(container: Container, name: str = CONTENTS, actor: Actor = SYSTEM, **raw: Any) -> list[str]:
    with container.units() as unit:
        return [record.title for record in container.records.page(unit, actor, name, raw).records]


def test_lists_filter_and_find_in_any_locale(container: Container) -> None:
    create(container)
    create(container, translations={"en": {"title": "100% cotton", "body": ""}}, status="draft", category="hr")
    assert titles(container, q="piano") == ["Holiday plan"]
    assert titles(container, q="%") == ["100% cotton"]
    assert titles(container, q="_") == []
    assert titles(container, filter={"status": "draft"}) == ["100% cotton"]
    assert titles(container, filter={"valid_from": None, "category": "hr"}) == ["100% cotton"]
    ticket = create(container, TICKETS)
    assert titles(container, TICKETS, q=ticket.reference.lower()) == ["Printer"]


@pytest.mark.parametrize("sort", ["title", "-title", "category", "-valid_from", "valid_from", "-updated_at", "id"])
def test_cursors_walk_the_whole_list_once(container: Container, clock: FakeClock, sort: str) -> None:
    for number in range(7):
        clock.advance(1)
        validity = (clock.now() + timedelta(days=number // 2)).isoformat() if number % 3 else None
        create(
            container,
            translations={"en": {"title": f"T{number // 2}", "body": ""}},
            category=f"c{number % 2}",
            valid_from=validity,
        )
    seen: list[int] = []
    cursor: str | None = ""
    with container.units() as unit:
        while cursor is not None:
            page = container.records.page(unit, SYSTEM, CONTENTS, {"sort": sort, "size": 3, "cursor": cursor})
            assert page.total == (None if cursor else 7)
            seen += [record.id for record in page.records]
            cursor = page.next_cursor
        whole = container.records.page(unit, SYSTEM, CONTENTS, {"sort": sort})
    assert seen == [record.id for record in whole.records]
    assert len(set(seen)) == 7


def test_validity_that_begins_and_ends_is_followed(container: Container, clock: FakeClock) -> None:
    soon, later = clock.now() + timedelta(hours=1), clock.now() + timedelta(hours=2)
    create(container, valid_from=soon.isoformat(), valid_to=later.isoformat())
    create(container, translations={"en": {"title": "Draft", "body": ""}}, status="draft")

    def refresh() -> tuple[int, int]:
        with container.units() as unit:
            changed = container.contents.refresh_validity(unit)
        return changed, len(documents(container))

    assert refresh() == (0, 0)
    clock.advance(3600)
    assert refresh() == (1, 2)
    assert refresh() == (0, 2)
    clock.advance(3600)
    assert refresh() == (1, 0)
    assert refresh() == (0, 0)
