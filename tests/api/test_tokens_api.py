from apiflask import APIFlask

from tests.fixtures.clients import Api, Browser, People

TOKENS = "/api/v1/tokens"


def mint(browser: Browser, **body: object):  # type: ignore[no-untyped-def]
    wished = {"name": "nightly", "scopes": ["read"], "days": 2, **body}
    return browser.client.post(TOKENS, json=wished, headers={"X-CSRFToken": browser.form_token()})


def test_a_person_makes_a_token_sees_it_once_and_revokes_it(app: APIFlask, admin_client: Browser) -> None:
    made = mint(admin_client)
    assert made.status_code == 201
    assert made.json
    script = Api(app, made.json["token"])
    listed = script.get(TOKENS)
    assert listed.status_code == 200
    assert listed.json
    assert [item["name"] for item in listed.json["items"]] == ["nightly"]
    assert made.json["token"] not in listed.text
    headers = {"X-CSRFToken": admin_client.form_token()}
    assert admin_client.client.delete(f"{TOKENS}/{made.json['id']}", headers=headers).status_code == 204
    assert script.get(TOKENS).status_code == 401


def test_a_token_makes_no_token(api: Api) -> None:
    answer = api.post(TOKENS, json={"name": "more", "scopes": ["all"], "days": 1})
    assert answer.status_code == 403
    assert answer.json
    assert answer.json["code"] == "access.token_mints"


def test_wishes_are_checked(admin_client: Browser) -> None:
    for wrong in ({"scopes": []}, {"scopes": ["root"]}, {"days": 0}, {"days": 367}, {"name": ""}, {"more": 1}):
        answer = mint(admin_client, **wrong)
        assert answer.status_code == 422, wrong


def test_somebody_elses_token_is_not_there(app: APIFlask, people: People, api: Api) -> None:
    other = Api(app, people.token(people.user("bob", "reader"), "all"))
    (own,) = (other.get(TOKENS).json or {})["items"]
    answer = api.delete(f"{TOKENS}/{own['id']}")
    assert answer.status_code == 404
    assert api.delete(f"{TOKENS}/{10**30}").status_code in (400, 404)
    assert other.get(TOKENS).status_code == 200
