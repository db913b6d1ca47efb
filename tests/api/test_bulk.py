"""One change of many records: previewed, then done exactly as previewed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from apiflask import APIFlask
from sqlalchemy import text

from app.container import Container
from tests.api.test_records import insert, paths
from tests.fakes.clock import FakeClock
from tests.fixtures.clients import Api
from tests.fixtures.roles import restricted_api

BULK = "/api/v1/bulk/cms/contents"


def fill(api: Api, count: int = 4) -> list[int]:
    return [insert(api, category="old" if number % 2 else "new")["id"] for number in range(count)]


def preview(api: Api, **values: Any) -> dict[str, Any]:
    response = api.post(f"{BULK}/preview", json=values)
    assert response.status_code == 200, response.json
    return dict(response.json or {})


def categories(api: Api) -> list[tuple[str, int]]:
    items = (api.get("/api/v1/select/cms/contents?sort=id").json or {})["items"]
    return [(item["category"], item["revision"]) for item in items]


def count(container: Container, table: str, where: str = "true") -> int:
    with container.units() as unit:
        return int(unit.session.scalar(text(f"select count(*) from {table} where {where}")) or 0)


def test_what_was_previewed_is_done_in_one_go(container: Container, api: Api) -> None:
    ids = fill(api)
    wish = {"operation": "update", "values": {"category": "done"}}
    shown = preview(api, **wish, filter={"category": "old"})
    assert (shown["count"], [record["id"] for record in shown["records"]]) == (2, [ids[1], ids[3]])
    assert categories(api) == [("new", 1), ("old", 1), ("new", 1), ("old", 1)]
    events = count(container, "index_events")
    done = api.post(BULK, json={**wish, "token": shown["token"]})
    assert (done.status_code, (done.json or {})["records"]) == (
        200,
        [{"id": ids[1], "revision": 2}, {"id": ids[3], "revision": 2}],
    )
    assert categories(api) == [("new", 1), ("done", 2), ("new", 1), ("done", 2)]
    assert count(container, "index_events") == events + 2
    assert count(container, "audit_entries", "action = 'update'") == 2


def test_one_record_that_moved_on_stops_all_and_is_named(api: Api) -> None:
    ids = fill(api)
    wish = {"operation": "update", "values": {"category": "done"}}
    token = preview(api, **wish, ids=ids)["token"]
    api.patch(f"/api/v1/update/cms/contents/{ids[0]}", json={"revision": 1, "author": "anna"})
    api.delete(f"/api/v1/delete/cms/contents/{ids[1]}?revision=1")
    refused = api.post(BULK, json={**wish, "token": token})
    assert (refused.status_code, (refused.json or {})["code"]) == (409, "bulk.conflict")
    assert (refused.json or {})["conflicts"] == [
        {"id": ids[0], "reason": "record.stale", "previewed": 1, "current": 2},
        {"id": ids[1], "reason": "record.not_found", "previewed": 1},
    ]
    assert {category for category, _ in categories(api)} == {"new", "old"}


def test_the_same_token_again_changes_nothing_more(api: Api) -> None:
    ids = fill(api)
    wish = {"operation": "delete", "ids": ids[:2]}
    token = preview(api, **wish)["token"]
    assert api.post(BULK, json={"operation": "delete", "token": token}).status_code == 200
    assert api.post(BULK, json={"operation": "delete", "token": token}).status_code == 409
    back = preview(api, operation="restore", ids=[*ids[:2], 999])
    assert (back["count"], back["missing"]) == (2, [999])
    done = api.post(BULK, json={"operation": "restore", "token": back["token"]})
    assert [record["revision"] for record in (done.json or {})["records"]] == [3, 3]


def test_a_token_is_good_for_its_own_change_only(
    app: APIFlask, container: Container, api: Api, clock: FakeClock
) -> None:
    ids = fill(api)
    wish = {"operation": "update", "values": {"category": "done"}}
    token = preview(api, **wish, ids=ids)["token"]
    other = restricted_api(app, container, "other", ["cms.contents.select", "cms.contents.update"])
    wrong: list[tuple[Api, dict[str, Any]]] = [
        (api, {"operation": "update", "values": {"category": "else"}, "token": token}),
        (api, {"operation": "delete", "token": token}),
        (other, {**wish, "token": token}),
        (api, {**wish, "token": token[:-4] + "AAAA"}),
        (api, {**wish, "token": "x"}),
        (api, wish),
    ]
    for who, sent in wrong:
        assert paths(who.post(BULK, json=sent)) == {"token": "bulk.other_preview"}
    clock.advance(601)
    late = api.post(BULK, json={**wish, "token": token})
    assert (late.status_code, (late.json or {})["code"]) == (409, "bulk.expired")
    assert {category for category, _ in categories(api)} == {"new", "old"}


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"operation": "explode", "ids": [1]}, {"operation": "input.choice"}),
        ({"operation": "delete"}, {"filter": "bulk.unrestricted"}),
        ({"operation": "delete", "filter": {"operator": "and", "filters": []}}, {"filter": "bulk.unrestricted"}),
        ({"operation": "delete", "ids": []}, {"ids": "input.type"}),
        ({"operation": "delete", "ids": [1, "2", True]}, {"ids.1": "input.type", "ids.2": "input.type"}),
        ({"operation": "delete", "ids": list(range(1, 203))}, {"ids": "bulk.too_many"}),
        ({"operation": "delete", "ids": [1], "filter": {"status": "draft"}}, {"ids": "bulk.ids_or_filter"}),
        ({"operation": "delete", "filter": {"nothing": 1}}, {"filter.nothing": "input.unknown_field"}),
        ({"operation": "delete", "ids": [1], "values": {"category": "x"}}, {"values": "input.wrong"}),
        ({"operation": "update", "ids": [1]}, {"values": "input.required"}),
        ({"operation": "update", "ids": [1], "values": {"colour": 1}}, {"values.colour": "input.unknown_field"}),
        ({"operation": "delete", "ids": [1], "colour": 1}, {"colour": "input.unknown_field"}),
    ],
)
def test_a_preview_that_makes_no_sense_is_named(api: Api, sent: dict[str, Any], expected: dict[str, str]) -> None:
    assert paths(api.post(f"{BULK}/preview", json=sent)) == expected


def test_more_than_the_cap_is_refused(container: Container, api: Api) -> None:
    with container.units() as unit:
        unit.session.execute(
            text("insert into cms_contents (category, status) select 'many', 'draft' from generate_series(1, 201)")
        )
    wish = {"operation": "delete", "filter": {"category": "many"}}
    assert paths(api.post(f"{BULK}/preview", json=wish)) == {"filter": "bulk.too_many"}


def test_rules_hold_for_many_as_for_one(app: APIFlask, container: Container, api: Api) -> None:
    mine = [insert(api, author="anna")["id"] for _ in range(2)]
    theirs = insert(api, author="bob")["id"]
    rule = {"property": "author", "operator": "=", "value": {"actor": "id"}}
    anna = restricted_api(
        app, container, "anna", ["cms.contents.select", "cms.contents.update"], rows={"cms.contents.update": rule}
    )
    wish: dict[str, Any] = {"operation": "update", "values": {"category": "x"}}
    shown = preview(anna, **wish, ids=[*mine, theirs])
    assert (shown["count"], shown["missing"]) == (2, [theirs])
    away: dict[str, Any] = {"operation": "update", "values": {"author": "bob"}}
    token = preview(anna, **away, ids=mine)["token"]
    refused = anna.post(BULK, json={**away, "token": token})
    assert (refused.status_code, (refused.json or {})["code"]) == (403, "record.out_of_reach")
    assert anna.post(BULK, json={**wish, "token": shown["token"]}).status_code == 200
    assert anna.post(f"{BULK}/preview", json={"operation": "delete", "ids": mine}).status_code == 403


def test_a_value_that_one_record_can_not_take_is_named_with_it(api: Api) -> None:
    made = insert(api, translations={"en": {"title": "A", "body": ""}, "it": {"title": "B", "body": ""}})["id"]
    only = insert(api, translations={"it": {"title": "C", "body": ""}})["id"]
    wish = {"operation": "update", "values": {"translations": {"it": None}}}
    token = preview(api, **wish, ids=[made, only])["token"]
    refused = api.post(BULK, json={**wish, "token": token})
    assert paths(refused) == {f"records.{only}.translations": "input.required"}
    assert set((api.get(f"/api/v1/detail/cms/contents/{made}").json or {})["translations"]) == {"en", "it"}


def test_changes_of_who_needs_approval_wait_for_votes(
    app: APIFlask, container: Container, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    moderated = replace(container.registry.get("cms.contents"), votes=1)
    monkeypatch.setitem(container.registry._entities, "cms.contents", moderated)
    ids = fill(api, 2)
    abilities = [f"cms.contents.{ability}" for ability in ("select", "insert", "update", "delete")]
    writer = restricted_api(app, container, "writer", abilities, needs_approval=True)
    one = writer.patch(f"/api/v1/update/cms/contents/{ids[0]}", json={"revision": 1, "category": "x"})
    assert one.status_code == 202, one.json
    assert (one.status_code, (one.json or {})["captured"]["status"]) == (202, "pending")
    assert writer.get(one.headers["Location"]).status_code == 200
    wish = {"operation": "delete"}
    token = preview(writer, **wish, ids=ids)["token"]
    many = writer.post(BULK, json={**wish, "token": token})
    assert (many.status_code, (many.json or {})["count"]) == (202, 0)
    assert [found["record_id"] for found in (many.json or {})["modifications"]] == ids
    assert categories(api) == [("new", 1), ("old", 1)]
