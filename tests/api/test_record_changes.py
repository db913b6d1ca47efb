"""Changes on a revision: what a stale one is told, what a missing one, and what never happened."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from apiflask import APIFlask
from sqlalchemy import text

from app.container import Container
from app.core.contracts.actor import SYSTEM
from app.core.contracts.conditions import Condition
from app.core.errors import Forbidden
from tests.api.test_records import insert, paths
from tests.fixtures.clients import Api
from tests.fixtures.roles import restricted_api

ALL = [f"cms.contents.{ability}" for ability in ("select", "insert", "update", "delete", "forceDelete")]


def update(api: Api, record_id: int, values: dict[str, Any], **headers: str) -> Any:
    return api.patch(f"/api/v1/update/cms/contents/{record_id}", json=values, headers=headers)


def detail(api: Api, record_id: int, entity: str = "cms/contents") -> dict[str, Any]:
    return dict(api.get(f"/api/v1/detail/{entity}/{record_id}").json or {})


def test_a_stale_change_gets_both_versions_to_compare(api: Api) -> None:
    record_id = insert(api)["id"]
    assert update(api, record_id, {"revision": 1, "category": "a", "author": "anna"}).status_code == 200
    values = {"revision": 1, "category": "b", "author": "anna", "translations": {"en": {"title": "Other"}}}
    refused = update(api, record_id, values)
    found = refused.json or {}
    assert (refused.status_code, found["code"]) == (409, "record.stale")
    assert (found["sent"]["category"], found["sent"]["revision"]) == ("b", 1)
    assert (found["current"]["category"], found["current"]["revision"]) == ("a", 2)
    assert found["differing"] == ["category", "translations.en.title"]


def test_a_header_that_fails_is_412_and_none_at_all_428(api: Api) -> None:
    record_id = insert(api)["id"]
    failed = update(api, record_id, {"category": "b"}, **{"If-Match": '"7"'})
    assert (failed.status_code, (failed.json or {})["current"]["revision"]) == (412, 1)
    assert update(api, record_id, {"category": "b"}, **{"If-Match": '"other"'}).status_code == 412
    assert paths(update(api, record_id, {"category": "b"}, **{"If-Match": "1"})) == {"If-Match": "input.type"}
    assert paths(update(api, record_id, {"revision": 2}, **{"If-Match": '"1"'})) == {"revision": "input.wrong"}
    for send, path in (
        (api.patch, f"/api/v1/update/cms/contents/{record_id}"),
        (api.delete, f"/api/v1/delete/cms/contents/{record_id}"),
        (api.delete, f"/api/v1/delete/cms/contents/{record_id}?force=1"),
        (api.post, f"/api/v1/restore/cms/contents/{record_id}"),
    ):
        missing = send(path, json={"category": "x"})
        assert (missing.status_code, (missing.json or {})["code"]) == (428, "record.revision_needed"), path
    assert detail(api, record_id)["revision"] == 1
    assert update(api, record_id, {"category": "b"}, **{"If-Match": "*"}).status_code == 200


def test_deleting_and_restoring_heed_the_revision_too(api: Api) -> None:
    record_id = insert(api)["id"]
    address = f"/api/v1/delete/cms/contents/{record_id}"
    assert api.delete(f"{address}?revision=2").status_code == 409
    assert api.delete(address, headers={"If-Match": '"2"'}).status_code == 412
    assert paths(api.delete(f"{address}?revision=x")) == {"revision": "input.type"}
    assert paths(api.delete(f"{address}?force=maybe&revision=1")) == {"force": "input.choice"}
    assert detail(api, record_id)["deleted_at"] is None
    assert api.delete(f"{address}?revision=1").status_code == 200
    assert api.delete(f"{address}?revision=1").status_code == 200  # the same request again is no error
    assert api.post(f"/api/v1/restore/cms/contents/{record_id}?revision=1").status_code == 409
    assert (api.post(f"/api/v1/restore/cms/contents/{record_id}?revision=2").json or {})["revision"] == 3


def test_of_many_writers_on_one_revision_one_wins(api: Api) -> None:
    record_id = insert(api)["id"]

    def write(number: int) -> int:
        return int(update(api, record_id, {"revision": 1, "category": f"c{number}"}).status_code)

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(write, range(4))) == [200, 409, 409, 409]
    assert detail(api, record_id)["revision"] == 2


def test_force_delete_removes_for_good_and_needs_its_ability(app: APIFlask, container: Container, api: Api) -> None:
    record_id = insert(api)["id"]
    address = f"/api/v1/delete/cms/contents/{record_id}?force=true&revision=1"
    editor = restricted_api(app, container, "ed", ALL[:4])
    assert editor.delete(address).status_code == 403
    assert (api.delete(address).json or {})["title"] == "Plan"
    assert api.get(f"/api/v1/detail/cms/contents/{record_id}").status_code == 404
    assert api.post(f"/api/v1/restore/cms/contents/{record_id}?revision=1").status_code == 404
    with container.units() as unit:
        assert container.records.is_empty(unit, "cms.contents")


def test_a_record_that_has_not_changed_is_not_sent_again(api: Api) -> None:
    address = f"/api/v1/detail/cms/contents/{insert(api)['id']}"
    unchanged = api.get(address, headers={"If-None-Match": '"1"'})
    assert (unchanged.status_code, unchanged.data, unchanged.headers["ETag"]) == (304, b"", '"1"')
    assert api.get(address, headers={"If-None-Match": '"2"'}).status_code == 200


def test_the_language_is_negotiated_and_falls_back_as_declared(api: Api) -> None:
    both = insert(api, translations={"en": {"title": "Plan", "body": ""}, "it": {"title": "Piano", "body": ""}})
    only = insert(api, translations={"en": {"title": "English", "body": ""}})

    def shown(record_id: int, query: str = "", **headers: str) -> tuple[str, str, str]:
        response = api.get(f"/api/v1/detail/cms/contents/{record_id}{query}", headers=headers)
        found = response.json or {}
        return found["title"], found["locale"], response.headers["Content-Language"]

    assert shown(both["id"], "?locale=it") == ("Piano", "it", "it")
    assert shown(both["id"], **{"Accept-Language": "it-IT,it;q=0.9"}) == ("Piano", "it", "it")
    assert shown(only["id"], "?locale=it") == ("English", "en", "en")
    listed = api.get("/api/v1/select/cms/contents?locale=it&sort=id")
    assert [(item["title"], item["locale"]) for item in (listed.json or {})["items"]] == [
        ("Piano", "it"),
        ("English", "en"),
    ]
    assert listed.headers["Content-Language"] == "en, it"
    for path in (f"detail/cms/contents/{both['id']}", "select/cms/contents", "export/cms/contents"):
        assert paths(api.get(f"/api/v1/{path}?locale=xx")) == {"locale": "input.choice"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('filter={"property":"nothing","operator":"=","value":1}', {"filter.property": "input.unknown_field"}),
        ('filter={"property":"status","operator":"~","value":1}', {"filter.operator": "input.choice"}),
        ('filter={"operator":"and","filters":[{"property":"title","operator":"=","value":"x"}]}',
         {"filter.filters.0.property": "input.unknown_field"}),
        ("cursor=abc", {"cursor": "input.cursor"}),
        ("sort=body", {"sort": "input.unknown_field"}),
        ("sort=status,category,author,id&q=", {"sort": "input.too_many"}),
        ("sort=status,category,author,updated_at", {"sort": "input.too_many"}),
        ("fields=title,nothing", {"fields": "input.unknown_field"}),
        ("deleted=perhaps", {"deleted": "input.choice"}),
    ],
)  # fmt: skip
def test_what_a_list_can_not_answer_is_named(api: Api, query: str, expected: dict[str, str]) -> None:
    assert paths(api.get(f"/api/v1/select/cms/contents?{query}")) == expected


def test_a_cursor_belongs_to_its_list(api: Api) -> None:
    for _ in range(3):
        insert(api)
    first = api.get("/api/v1/select/cms/contents?size=1&sort=category,-id").json or {}
    cursor = first["next_cursor"]
    again = api.get(f"/api/v1/select/cms/contents?size=1&sort=category,-id&cursor={cursor}").json or {}
    assert ([item["id"] for item in again["items"]], again["total"], again["total_relation"]) == ([2], None, None)
    assert paths(api.get(f"/api/v1/select/cms/contents?size=1&cursor={cursor}")) == {"cursor": "input.cursor"}
    other = f'/api/v1/select/cms/contents?sort=category,-id&filter={{"status":"draft"}}&cursor={cursor}'
    assert paths(api.get(other)) == {"cursor": "input.cursor"}


def test_chosen_fields_only_are_answered(api: Api) -> None:
    insert(api)
    item = (api.get("/api/v1/select/cms/contents?fields=status").json or {})["items"][0]
    assert (item["status"], item["title"]) == ("published", "Plan")
    assert item.keys() & {"category", "author", "translations"} == set()


def test_fields_that_may_not_be_read_are_nowhere(app: APIFlask, container: Container, api: Api) -> None:
    record_id = insert(api, category="secret")["id"]
    some = restricted_api(app, container, "some", ALL, fields={("cms.contents", "read"): ["title", "status"]})
    shown = detail(some, record_id)
    assert (shown["title"], shown["status"], shown["translations"]) == ("Plan", "published", {"en": {"title": "Plan"}})
    assert "category" not in shown
    assert "secret" not in some.get("/api/v1/export/cms/contents").text
    for query, path in (
        ('select/cms/contents?filter={"category":"secret"}', "filter.category"),
        ("select/cms/contents?sort=category", "sort"),
        ("select/cms/contents?fields=category", "fields"),
        ("summarize/cms/contents?group_by=category", "group_by"),
        ("export/cms/contents?fields=body", "fields"),
    ):
        assert paths(some.get(f"/api/v1/{query}")) == {path: "input.unknown_field"}
    stale = update(some, record_id, {"revision": 9, "category": "x", "status": "draft"})
    assert "secret" not in stale.text
    assert (stale.json or {})["differing"] == ["status"]
    nameless = restricted_api(app, container, "nameless", ALL, fields={("cms.contents", "read"): ["status"]})
    assert "title" not in detail(nameless, record_id)
    assert paths(nameless.get("/api/v1/select/cms/contents?q=Plan")) == {"q": "input.unknown_field"}


def test_fields_that_may_not_be_written_are_named(app: APIFlask, container: Container, api: Api) -> None:
    record_id = insert(api, translations={"en": {"title": "A", "body": ""}, "it": {"title": "B", "body": ""}})["id"]
    some = restricted_api(app, container, "some", ALL, fields={("cms.contents", "write"): ["title", "status"]})
    refused = update(some, record_id, {"revision": 1, "category": "x", "translations": {"en": {"body": "y"}}})
    assert paths(refused) == {"category": "input.read_only", "translations.en.body": "input.read_only"}
    removed = update(some, record_id, {"revision": 1, "translations": {"it": None}})
    assert paths(removed) == {"translations.it": "input.read_only"}
    assert update(some, record_id, {"revision": 1, "translations": {"en": {"title": "C"}}}).status_code == 200


OWN = {"property": "author", "operator": "=", "value": {"actor": "id"}}


def test_a_change_must_leave_a_record_within_reach(app: APIFlask, container: Container, api: Api) -> None:
    rows = {f"cms.contents.{ability}": OWN for ability in ("insert", "update", "delete")}
    anna = restricted_api(app, container, "anna", ALL, rows=rows)
    made = insert(anna, author="anna")["id"]
    theirs = insert(api, author="bob")["id"]
    refused = anna.post("/api/v1/insert/cms/contents", json={"title": "x", "status": "draft", "category": "a"})
    assert (refused.status_code, (refused.json or {})["code"]) == (403, "record.out_of_reach")
    given = update(anna, made, {"revision": 1, "author": "bob"})
    assert (given.status_code, (given.json or {})["code"]) == (403, "record.out_of_reach")
    assert update(anna, theirs, {"revision": 1, "category": "x"}).status_code == 404
    assert anna.delete(f"/api/v1/delete/cms/contents/{theirs}?revision=1").status_code == 404
    assert detail(anna, theirs)["author"] == "bob"  # it may be seen
    assert (detail(anna, made)["author"], detail(anna, made)["revision"]) == ("anna", 1)
    with container.units() as unit:
        assert container.records.page(unit, SYSTEM, "cms.contents", {}).total == 2
    assert update(anna, made, {"revision": 1, "category": "x"}).status_code == 200


def test_a_refused_change_leaves_nothing_even_if_its_unit_commits(container: Container, api: Api) -> None:
    record_id = insert(api, author="anna")["id"]
    anna = replace(SYSTEM, login="anna", rows={"cms.contents.update": Condition("author", "=", "anna")})
    with container.units() as unit, pytest.raises(Forbidden):
        container.records.update(unit, anna, "cms.contents", record_id, {"author": "bob"}, 1)
    guarded = replace(anna, rows={"cms.contents.insert": Condition("author", "=", "anna")})
    with container.units() as unit, pytest.raises(Forbidden):
        container.records.create(unit, guarded, "cms.contents", {"title": "x", "status": "draft", "category": "a"})
    with container.units() as unit:
        page = container.records.page(unit, SYSTEM, "cms.contents", {})
    assert [(record.fields["author"], record.revision) for record in page.records] == [("anna", 1)]


def test_what_is_hidden_looks_as_if_it_were_missing(app: APIFlask, container: Container, api: Api) -> None:
    hidden = insert(api, category="hr")["id"]
    rule = {"property": "category", "operator": "!=", "value": "hr"}
    some = restricted_api(app, container, "some", ALL, rows={"cms.contents.select": rule})
    missing = some.get("/api/v1/detail/cms/contents/999")
    for response in (
        some.get(f"/api/v1/detail/cms/contents/{hidden}"),
        update(some, hidden, {"revision": 1, "category": "x"}),
        some.delete(f"/api/v1/delete/cms/contents/{hidden}?force=1&revision=1"),
        some.post(f"/api/v1/restore/cms/contents/{hidden}?revision=1"),
    ):
        assert (response.status_code, (response.json or {})["detail"]) == (404, (missing.json or {})["detail"])
    assert (some.get("/api/v1/select/cms/contents").json or {})["total"] == 0


def test_changes_are_audited_without_protected_values(container: Container, api: Api) -> None:
    ticket = insert(api, "sao/tickets", subject="Printer", description="private words")
    address = f"/api/v1/update/sao/tickets/{ticket['id']}"
    assert api.patch(address, json={"revision": 1, "description": "other words", "priority": "high"}).status_code == 200
    assert api.delete(f"/api/v1/delete/sao/tickets/{ticket['id']}?revision=2").status_code == 200
    with container.units() as unit:
        found = unit.session.execute(
            text(
                "select action, revision, changes, actor_login from audit_entries "
                "where entity = 'sao.tickets' order by id"
            )
        ).all()
    assert [(row.action, row.revision, row.actor_login) for row in found] == [
        ("insert", 1, "admin"),
        ("update", 2, "admin"),
        ("delete", 3, "admin"),
    ]
    assert found[1].changes == {"description": None, "priority": ["normal", "high"]}
    assert "private" not in str(found)
