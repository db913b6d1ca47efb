"""The pages of roles: the matrix, row rules with their sentence, field rules, and what is refused."""

import json

import pytest
from markupsafe import escape
from sqlalchemy import select

from app.container import Container
from app.core.access.models import Role
from tests.fixtures.clients import Browser

OWN_NEWS = {
    "operator": "and",
    "filters": [
        {"property": "category", "operator": "=", "value": "news"},
        {"property": "author", "operator": "=", "value": {"actor": "id"}},
    ],
}
FORM = {
    "name": "newsdesk",
    "description": "Writes the news",
    "permissions": ["cms.contents.select", "cms.contents.update", "users.select"],
    "rule_permission.0": "cms.contents.update",
    "rule_condition.0": json.dumps(OWN_NEWS),
    "rule_note.0": "only ours",
    "rule_condition.1": "",
    "only.cms.contents.write": "1",
    "fields.cms.contents.write": ["title", "body"],
}


def stored(container: Container, name: str) -> Role:
    with container.units() as unit:
        return unit.session.scalars(select(Role).where(Role.name == name)).one()


def test_a_role_is_added_with_its_rules_and_read_as_a_sentence(admin_client: Browser, container: Container) -> None:
    assert admin_client.get("/roles/new").status_code == 200
    made = admin_client.post("/roles/new", FORM)
    assert made.status_code == 303
    role = stored(container, "newsdesk")
    assert role.permissions == ["cms.contents.select", "cms.contents.update", "users.select"]
    assert [(rule.permission, rule.note) for rule in role.row_rules] == [("cms.contents.update", "only ours")]
    assert [(rule.entity, rule.ability, rule.fields) for rule in role.field_rules] == [
        ("cms.contents", "write", ["body", "title"])
    ]
    page = admin_client.get(f"/roles/{role.id}")
    assert page.status_code == 200
    assert "Only where Category is news and Author is the person&#39;s own user name" in page.text
    listed = admin_client.get("/roles")
    assert listed.status_code == 200
    assert "Writes the news" in listed.text


def test_saving_again_keeps_the_rule_and_leaving_it_out_removes_it(admin_client: Browser, container: Container) -> None:
    admin_client.post("/roles/new", FORM)
    before = stored(container, "newsdesk")
    assert admin_client.post(f"/roles/{before.id}", {**FORM, "description": "Other"}).status_code == 303
    after = stored(container, "newsdesk")
    assert after.description == "Other"
    assert [rule.id for rule in after.row_rules] == [rule.id for rule in before.row_rules]
    gone = {**FORM, "rule_remove.0": "1", "permissions": ["cms.contents.select", "cms.contents.update"]}
    assert admin_client.post(f"/roles/{before.id}", gone).status_code == 303
    assert stored(container, "newsdesk").row_rules == []


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("{", "This is no JSON; look at line 1."),
        (
            '{"property": "ghost", "operator": "=", "value": 1}',
            "<code>condition.property</code> There is no field ghost",
        ),
        ('{"property": "category", "operator": "~", "value": 1}', "<code>condition.operator</code>"),
    ],
)
def test_a_wrong_condition_stands_under_its_path(
    admin_client: Browser, container: Container, condition: str, said: str
) -> None:
    answer = admin_client.post("/roles/new", {**FORM, "rule_condition.0": condition})
    assert answer.status_code == 422
    assert said in answer.text
    assert "Writes the news" in answer.text, "what was typed stays"
    with container.units() as unit:
        assert unit.session.scalars(select(Role).where(Role.name == "newsdesk")).all() == []


def test_a_rule_needs_its_permission(admin_client: Browser) -> None:
    answer = admin_client.post("/roles/new", {**FORM, "permissions": ["cms.contents.select"]})
    assert answer.status_code == 422
    assert "<code>permission</code>" in answer.text
    assert "The role does not have the permission cms.contents.update" in answer.text


@pytest.mark.parametrize(
    ("built", "condition"),
    [
        (("category", "=", "", "news"), {"property": "category", "operator": "=", "value": "news"}),
        (("id", "!=", "tenant", ""), {"property": "id", "operator": "!=", "value": {"actor": "tenant"}}),
        (("category", "in", "", "a, b"), {"property": "category", "operator": "in", "value": ["a", "b"]}),
        (("id", ">", "", "12"), {"property": "id", "operator": ">", "value": 12}),
        (("author", "=", "", ""), {"property": "author", "operator": "=", "value": None}),
    ],
)
def test_a_simple_condition_is_built_by_choosing(
    admin_client: Browser, container: Container, built: tuple[str, ...], condition: object
) -> None:
    names = ("build_property", "build_operator", "build_own", "build_value")
    fields = {**FORM, **dict(zip(names, built, strict=True)), "build_permission": "cms.contents.select", "add": "1"}
    draft = admin_client.post("/roles/new", fields)
    assert draft.status_code == 200
    assert "Nothing is saved yet." in draft.text
    sent = {**FORM, "rule_permission.1": "cms.contents.select", "rule_condition.1": json.dumps(condition)}
    assert escape(json.dumps(condition)) in draft.text
    assert admin_client.post("/roles/new", sent).status_code == 303
    assert stored(container, "newsdesk").row_rules[1].condition == condition


def test_roles_of_the_system_stay(admin_client: Browser, container: Container) -> None:
    administrator, editor = stored(container, "administrator"), stored(container, "editor")
    page = admin_client.get(f"/roles/{administrator.id}")
    assert page.status_code == 200
    assert "An administrator may do everything" in page.text
    assert 'type="checkbox"' not in page.text
    assert admin_client.post(f"/roles/{administrator.id}", FORM).status_code == 409
    assert admin_client.post(f"/roles/{editor.id}/delete").status_code == 409
    assert admin_client.post("/roles/new", {**FORM, "name": "editor"}).status_code == 409
    assert stored(container, "administrator").permissions == ["*"]


def test_a_role_of_ones_own_is_removed(admin_client: Browser, container: Container) -> None:
    admin_client.post("/roles/new", FORM)
    assert admin_client.post(f"/roles/{stored(container, 'newsdesk').id}/delete").status_code == 303
    page = admin_client.get("/roles")
    assert page.status_code == 200
    assert "newsdesk" not in page.text.partition("<table")[2]
