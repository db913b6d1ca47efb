"""The JSON twins of the record pages."""

from __future__ import annotations

from typing import Any

import pytest
from apiflask import APIFlask
from werkzeug.test import TestResponse

from tests.fixtures.clients import Api, People

CONTENT = {"translations": {"en": {"title": "Plan", "body": "x"}}, "status": "published"}


def insert(api: Api, entity: str = "cms/contents", **values: Any) -> dict[str, Any]:
    response = api.post(f"/api/v1/insert/{entity}", json={**CONTENT, **values} if entity == "cms/contents" else values)
    assert response.status_code == 201, response.json
    return dict(response.json or {})


def paths(response: TestResponse) -> dict[str, str]:
    assert response.status_code == 422
    assert response.mimetype == "application/problem+json"
    return {item["path"]: item["code"] for item in (response.json or {})["errors"]}


def test_a_record_lives_through_all_verbs(api: Api) -> None:
    made = api.post("/api/v1/insert/cms/contents", json=CONTENT)
    assert (made.status_code, made.headers["ETag"]) == (201, '"1"')
    record_id = (made.json or {})["id"]
    assert made.headers["Location"] == f"/api/v1/detail/cms/contents/{record_id}"
    shown = api.get(made.headers["Location"])
    assert (shown.json, shown.headers["ETag"]) == (made.json, '"1"')
    changed = api.patch(f"/api/v1/update/cms/contents/{record_id}", json={"revision": 1, "category": "hr"})
    assert ((changed.json or {})["category"], changed.headers["ETag"]) == ("hr", '"2"')
    again = api.patch(f"/api/v1/update/cms/contents/{record_id}", json={"category": "it"}, headers={"If-Match": '"2"'})
    assert (again.json or {})["revision"] == 3
    gone = api.delete(f"/api/v1/delete/cms/contents/{record_id}?revision=3")
    assert (gone.status_code, (gone.json or {})["deleted_at"] is not None) == (200, True)
    assert (api.get("/api/v1/select/cms/contents").json or {})["total"] == 0
    back = api.post(f"/api/v1/restore/cms/contents/{record_id}", headers={"If-Match": gone.headers["ETag"]})
    assert (back.status_code, back.headers["ETag"]) == (200, '"5"')
    assert (api.get("/api/v1/select/cms/contents").json or {})["total"] == 1


def test_an_old_revision_is_a_conflict(api: Api) -> None:
    record_id = insert(api)["id"]
    address = f"/api/v1/update/cms/contents/{record_id}"
    assert api.patch(address, json={"revision": 1, "category": "a"}).status_code == 200
    refused = api.patch(address, json={"revision": 1, "category": "b"})
    assert (refused.status_code, (refused.json or {})["code"]) == (409, "record.stale")
    missing = api.patch(address, json={"category": "b"})
    assert (missing.status_code, (missing.json or {})["code"]) == (428, "record.revision_needed")
    assert paths(api.patch(address, json={"category": "b", "revision": "2"})) == {"revision": "input.type"}


def test_unknown_fields_and_wrong_values_are_named(api: Api) -> None:
    refused = api.post("/api/v1/insert/cms/contents", json={"colour": "red", "title": "", "status": "x"})
    assert paths(refused) == {"colour": "input.unknown_field", "title": "input.required", "status": "input.choice"}
    assert paths(api.get("/api/v1/select/cms/contents?colour=1")) == {"colour": "input.unknown_field"}
    assert paths(api.get("/api/v1/select/cms/contents?q=a&q=b")) == {"q": "input.repeated"}
    assert paths(api.get("/api/v1/select/cms/contents?filter=[1]")) == {"filter": "input.json"}
    assert paths(api.get('/api/v1/select/cms/contents?filter={"x":1}')) == {"filter.x": "input.unknown_field"}


@pytest.mark.parametrize(("body", "status"), [(b"{", 400), (b"[]", 422), (b"null", 422), (b'{"a":' * 9000, 422)])
def test_a_body_that_is_no_object_is_refused(api: Api, body: bytes, status: int) -> None:
    response = api.post("/api/v1/insert/cms/contents", data=body, content_type="application/json")
    assert response.status_code == status


def test_lists_are_filtered_sorted_and_continued(api: Api) -> None:
    for number in range(5):
        insert(api, "sao/tickets", subject=f"S{number}", priority="high" if number % 2 else "low")
    page = api.get('/api/v1/select/sao/tickets?sort=-subject&size=1&filter={"priority":"high"}').json or {}
    assert ([item["subject"] for item in page["items"]], page["total"]) == (["S3"], 2)
    rest = (
        api.get(
            "/api/v1/select/sao/tickets",
            query_string={"sort": "-subject", "filter": '{"priority":"high"}', "cursor": page["next_cursor"]},
        ).json
        or {}
    )
    assert ([item["reference"] for item in rest["items"]], rest["next_cursor"]) == (["SAO-2"], None)


def test_hidden_and_missing_records_look_the_same(app: APIFlask, api: Api, people: People) -> None:
    record_id = insert(api)["id"]
    reader = Api(app, people.token(people.user("rita", "reader"), "all"))
    assert reader.get(f"/api/v1/detail/cms/contents/{record_id}").status_code == 200
    assert reader.patch(f"/api/v1/update/cms/contents/{record_id}", json={"revision": 1}).status_code == 403
    assert reader.post("/api/v1/insert/cms/contents", json=CONTENT).status_code == 403
    missing = reader.get("/api/v1/detail/cms/contents/999")
    hidden = reader.get("/api/v1/detail/documentation/developer/1")
    assert [response.status_code for response in (missing, hidden)] == [404, 404]
    assert (missing.json or {})["code"] == (hidden.json or {})["code"]
    assert api.get("/api/v1/select/cms/nothing").status_code == 404
