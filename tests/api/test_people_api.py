"""People, roles, permissions and "me" as JSON."""

from apiflask import APIFlask

from app.container import Container
from app.core.access.models import User
from tests.fakes.clock import FakeClock
from tests.fixtures.clients import Api, Browser, People

USERS, ROLES = "/api/v1/users", "/api/v1/roles"
OWN = {"property": "author", "operator": "=", "value": {"actor": "id"}}


def test_a_person_is_added_shown_changed_and_listed(api: Api) -> None:
    made = api.post(
        USERS, json={"login": "bob", "display_name": "Bob", "roles": ["editor"], "password": "right password"}
    )
    assert made.status_code == 201
    assert made.json
    assert "password" not in made.json
    where = made.headers["Location"]
    assert where.endswith(f"{USERS}/{made.json['id']}")
    assert api.get(where).json == made.json
    changed = api.patch(where, json={"roles": ["reader"], "tenant_id": 4})
    assert changed.status_code == 200
    assert changed.json == {**made.json, "roles": ["reader"], "tenant_id": 4}
    listed = api.get(f"{USERS}?role=reader&state=active&q=BOB")
    assert listed.status_code == 200
    assert listed.json
    assert [item["login"] for item in listed.json["items"]] == ["bob"]
    assert listed.json["total"] == 1


def test_the_same_key_adds_one_person(api: Api) -> None:
    headers = {"Idempotency-Key": "k-1"}
    answers = [api.post(USERS, json={"login": "bob"}, headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json == answers[1].json


def test_wrong_input_is_named_by_its_path(api: Api) -> None:
    for body, path in (
        ({"login": "bob", "more": 1}, "more"),
        ({"login": "bob", "roles": ["king"]}, "roles"),
        ({"login": "bob", "tenant_id": 0}, "tenant_id"),
        ({"login": "b b"}, "login"),
        ({"login": "bob", "is_guest": True, "roles": ["administrator"]}, "is_guest"),
    ):
        answer = api.post(USERS, json=body)
        assert answer.status_code == 422, body
        assert answer.json
        assert [error["path"].rpartition(".")[2] for error in answer.json["errors"]] == [path], body
    assert api.get(f"{USERS}?state=asleep").status_code == 422
    assert api.get(f"{USERS}/{10**30}").status_code == 404


def test_password_sessions_and_tokens(app: APIFlask, api: Api, people: People) -> None:
    bob = people.user("bob", "reader", password="right password")
    browser, script = Browser(app).login_as(bob), Api(app, people.token(bob, "read"))
    assert browser.get("/search").status_code == 200
    assert api.delete(f"{USERS}/{bob.id}/sessions").status_code == 204
    assert browser.get("/search").status_code == 303
    assert api.put(f"{USERS}/{bob.id}/password", json={"password": "short"}).status_code == 422
    assert api.put(f"{USERS}/{bob.id}/password", json={"password": "another password"}).status_code == 204
    assert browser.post("/sign-in", {"user_name": "bob", "password": "another password"}).status_code == 303
    assert script.get("/api/v1/me").status_code == 200
    (token,) = (api.get(f"{USERS}/{bob.id}/tokens").json or {})["items"]
    assert token["last_used_at"] is not None
    assert api.delete(f"{USERS}/{bob.id}/tokens/{token['id']}").status_code == 204
    assert script.get("/api/v1/me").status_code == 401


def test_the_last_administrator_stays(api: Api, admin: User) -> None:
    for change in ({"is_active": False}, {"roles": []}, {"is_guest": True, "roles": []}, {"needs_approval": True}):
        answer = api.patch(f"{USERS}/{admin.id}", json=change)
        assert answer.status_code == 409, change
        assert answer.json
        assert answer.json["code"] == "access.last_administrator"


def test_roles_with_their_rules(api: Api, app: APIFlask, people: People) -> None:
    body = {
        "name": "author",
        "permissions": ["cms.contents.select"],
        "row_rules": [{"permission": "cms.contents.select", "condition": OWN}],
        "field_rules": [{"entity": "cms.contents", "ability": "read", "fields": ["title"]}],
    }
    made = api.post(ROLES, json=body)
    assert made.status_code == 201
    assert made.json
    where = made.headers["Location"]
    own_login = {**OWN, "value": {"actor": "login"}}
    assert made.json["row_rules"] == [{"permission": "cms.contents.select", "condition": own_login, "note": ""}]
    script = Api(app, people.token(people.user("ada", "author"), "read"))
    me = script.get("/api/v1/me").json
    assert me
    assert me["permissions"] == ["cms.contents.select"]
    assert me["rows"] == {"cms.contents.select": {"property": "author", "operator": "=", "value": "ada"}}
    assert me["readable"] == {"cms.contents": ["title"]}
    assert me["scopes"] == ["read"]
    changed = api.patch(where, json={"row_rules": [], "field_rules": []})
    assert changed.status_code == 200
    assert (script.get("/api/v1/me").json or {})["rows"] == {}, "it counts from the next request on"
    assert api.delete(where).status_code == 204
    assert (script.get("/api/v1/me").json or {})["permissions"] == []
    listed = api.get(ROLES)
    assert [role["name"] for role in (listed.json or {})["items"]] == ["administrator", "editor", "reader"]


def test_every_listed_permission_can_be_given(api: Api) -> None:
    listed = api.get("/api/v1/permissions")
    assert listed.status_code == 200
    names = [item["name"] for item in (listed.json or {})["items"]]
    assert {"cms.contents.forceDelete", "sao.tickets.approve", "settings.update", "audit.select"} <= set(names)
    made = api.post(ROLES, json={"name": "everything", "permissions": names})
    assert made.status_code == 201
    refused = api.post(ROLES, json={"name": "star", "permissions": ["*"]})
    assert refused.status_code == 422
    assert [error["path"] for error in (refused.json or {})["errors"]] == ["permissions.0"]


def test_a_token_is_told_why_it_is_refused(
    app: APIFlask, people: People, container: Container, clock: FakeClock
) -> None:
    bob = people.user("bob", "editor", password="right password")
    expired, revoked, alive = people.token(bob, days=1), people.token(bob, days=9), people.token(bob, "read", days=9)
    with container.units() as unit:
        script = container.tokens.actor(unit, revoked)
        assert script.token_id is not None
        container.tokens.revoke(unit, script, script.token_id)
    clock.advance(86_400)

    def refusal(secret: str, method: str = "get", path: str = "/api/v1/me") -> tuple[int, str]:
        answer = getattr(Api(app, secret), method)(path)
        return answer.status_code, (answer.json or {}).get("code", "")

    assert refusal(expired) == (401, "access.token_expired")
    assert refusal(revoked) == (401, "access.token_revoked")
    assert refusal("chg_unknown") == (401, "access.token_invalid")
    assert refusal(alive) == (200, "")
    assert refusal(alive, "post", USERS) == (403, "access.scope")
    assert refusal(alive, "get", USERS) == (403, "access.forbidden")
    with container.units() as unit:
        container.access.disable(unit, "bob")
    assert refusal(alive) == (401, "access.user_disabled")
