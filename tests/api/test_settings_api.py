import pytest
from apiflask import APIFlask

from tests.fixtures.clients import Api, Browser, People

PAGE_SIZE = "/api/v1/settings/search.page_size"


def test_settings_are_listed_and_changed(api: Api) -> None:
    answer = api.get("/api/v1/settings")
    assert answer.status_code == 200
    assert answer.json
    assert answer.json["items"][0]["name"] == "features.embeddings.model"
    answer = api.patch(PAGE_SIZE, json={"value": 30})
    assert answer.status_code == 200
    assert answer.json
    assert answer.json["value"] == 30
    assert api.get(PAGE_SIZE).json == answer.json


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"value": 5}, 422, "input.range"),
        ({"value": "many"}, 422, "input.type"),
        ({"value": None}, 422, "input.required"),
        ({"value": [1]}, 422, "input.invalid"),
        ({}, 422, "input.invalid"),
        ({"value": 20, "more": 1}, 422, "input.invalid"),
    ],
)
def test_bad_values_are_problems_that_name_the_field(api: Api, body: object, status: int, code: str) -> None:
    answer = api.patch(PAGE_SIZE, json=body)
    assert answer.status_code == status
    assert answer.mimetype == "application/problem+json"
    assert answer.json
    assert answer.json["code"] == code
    assert answer.json["errors"][0]["path"]
    assert answer.json["reference"]


def test_input_is_not_echoed(api: Api) -> None:
    answer = api.patch(PAGE_SIZE, json={"value": {"canary": 1}})
    assert answer.status_code == 422
    assert "canary" not in answer.text


@pytest.mark.parametrize("body", [b"{", b"", b"\xff", b"[1]", b'"x"', b'{"a":' * 9000])
def test_a_body_that_is_no_object_is_refused(api: Api, body: bytes) -> None:
    answer = api.patch(PAGE_SIZE, data=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.mimetype == "application/problem+json"


def test_the_model_and_managed_settings_are_locked(api: Api) -> None:
    model = api.patch("/api/v1/settings/features.embeddings.model", json={"value": "a:b"})
    managed = api.patch("/api/v1/settings/search.vector.model", json={"value": "a:b"})
    assert (model.status_code, managed.status_code) == (409, 409)
    assert [(answer.json or {})["code"] for answer in (model, managed)] == ["setting.locked", "setting.managed"]


def test_an_unknown_setting_is_not_found(api: Api) -> None:
    for answer in (api.get("/api/v1/settings/no.such"), api.patch("/api/v1/settings/no.such", json={"value": 1})):
        assert answer.status_code == 404
        assert answer.json
        assert answer.json["code"] == "setting.unknown"


@pytest.mark.parametrize(("scope", "read", "write"), [("read", 200, 403), ("write", 200, 403), ("admin", 200, 200)])
def test_a_token_needs_the_scope_admin_to_change_settings(
    app: APIFlask, people: People, scope: str, read: int, write: int
) -> None:
    script = Api(app, people.token(people.user("root", "administrator"), scope))
    assert script.get(PAGE_SIZE).status_code == read
    assert script.patch(PAGE_SIZE, json={"value": 30}).status_code == write


def test_a_scope_never_gives_what_the_owner_may_not(app: APIFlask, people: People) -> None:
    script = Api(app, people.token(people.user("rita", "reader"), "all"))
    answer = script.patch(PAGE_SIZE, json={"value": 30})
    assert answer.status_code == 403
    assert answer.json
    assert answer.json["code"] == "access.forbidden"


def test_the_session_works_too_with_the_token_of_the_page(admin_client: Browser) -> None:
    assert admin_client.get(PAGE_SIZE).status_code == 200
    refused = admin_client.client.patch(PAGE_SIZE, json={"value": 30})
    assert refused.status_code == 403
    assert refused.mimetype == "application/problem+json"
    headers = {"X-CSRFToken": admin_client.form_token()}
    assert admin_client.client.patch(PAGE_SIZE, json={"value": 30}, headers=headers).status_code == 200


def test_problems_of_the_routing_are_json_too(api: Api, client: Browser) -> None:
    assert api.get("/api/v1/no-such").mimetype == "application/problem+json"
    answer = api.delete("/api/v1/settings")
    assert answer.status_code == 405
    assert "GET" in answer.headers["Allow"]
    nobody = client.get("/api/v1/settings")
    assert nobody.status_code == 401
    assert nobody.headers["WWW-Authenticate"] == "Bearer"


def test_sentences_follow_accept_language(api: Api) -> None:
    answer = api.get("/api/v1/no-such", headers={"Accept-Language": "en"})
    assert answer.status_code == 404
    assert answer.json
    assert answer.json["detail"] == "There is no such page."
