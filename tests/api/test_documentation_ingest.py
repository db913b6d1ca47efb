"""Uploads into collections: who may, what is refused, and that a repeat is one upload."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from apiflask import APIFlask
from sqlalchemy import text

from app.container import Container
from app.documentation import ingest
from tests.fixtures.clients import Api, People

PAGE = "# Kettles\n\n## Boiling\n\nA kettle boils water in three minutes."


def send(api: Api, headers: dict[str, str] | None = None, **body: Any) -> Any:
    values = {"collection": "manuals", "source": "kettle.md", "content": PAGE, **body}
    return api.post("/api/v1/documentation/ingest", json=values, headers=headers or {})


def sources(container: Container) -> list[str]:
    with container.units() as unit:
        return list(unit.session.scalars(text("select source from documentation_pages order by source")))


def test_an_upload_becomes_a_source_of_its_collection(api: Api, container: Container) -> None:
    made = send(api)
    assert made.status_code == 201
    assert made.json | {"tokens": 0} == {
        "collection": "manuals", "source": "uploads/kettle.md", "outcome": "created", "passages": 1, "tokens": 0,
    }  # fmt: skip
    assert made.json["tokens"] > 5
    assert send(api).json["outcome"] == "unchanged"
    assert send(api, content=PAGE + "\n\nAnd no more.").json["outcome"] == "updated"
    assert send(api, source="deep/down/kettle.md").json["source"] == "uploads/deep/down/kettle.md"
    assert sources(container) == ["manuals/uploads/deep/down/kettle.md", "manuals/uploads/kettle.md"]
    found = api.get("/api/v1/documentation/retrieve", query_string={"q": "kettle boils water", "corpus": "manuals"})
    assert found.status_code == 200, found.json
    assert "three minutes" in found.json["data"][0]["text"]


def test_bytes_travel_as_base64(api: Api) -> None:
    html = base64.b64encode(b"<html><title>Pans</title><body><h1>Pans</h1><p>A pan fries.</p></body></html>").decode()
    made = send(api, source="pan.html", content=None, content_base64=html)
    assert (made.status_code, made.json["outcome"]) == (201, "created")
    assert send(api, content=None, content_base64="***").status_code == 422
    assert send(api, content_base64=html).status_code == 422
    assert send(api, content=None).status_code == 422


def test_a_repeat_with_the_same_key_is_one_upload(api: Api, container: Container) -> None:
    first = send(api, {"Idempotency-Key": "once"})
    again = send(api, {"Idempotency-Key": "once"})
    assert (again.status_code, again.json) == (201, first.json)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert send(api, {"Idempotency-Key": "once"}, content=PAGE + " More.").status_code == 422
    with container.units() as unit:
        count = unit.session.scalar(
            text("select count(*) from audit_entries where action = 'insert' and entity = 'documentation.named'")
        )
    assert count == 1


def test_who_may(app: APIFlask, people: People, api: Api, container: Container) -> None:
    reader = Api(app, people.token(people.user("rita", "reader"), "read", "write"))
    assert send(reader).status_code == 403
    assert sources(container) == []
    role = {"name": "writers", "permissions": ["documentation.ingest"]}
    assert api.post("/api/v1/roles", json=role).status_code == 201
    writer = Api(app, people.token(people.user("wanda", "writers"), "read", "write"))
    assert send(writer).status_code == 201
    only_reads = Api(app, people.token(people.user("ugo", "writers"), "read"))
    assert send(only_reads).status_code == 403


@pytest.mark.parametrize(
    "wrong",
    [
        {"source": "../secret.md"},
        {"source": "/etc/passwd.md"},
        {"source": "a/../b.md"},
        {"source": ".hidden.md"},
        {"source": "a//b.md"},
        {"source": "kettle.exe"},
        {"collection": "user"},
        {"collection": "Not A Name"},
        {"content": " "},
        {"content": "\x00binary"},
        {"content": "---\ntitle: a: b\n---\nx"},
        {"locale": "fr"},
        {"more": 1},
    ],
)
def test_what_is_refused_leaves_nothing(api: Api, container: Container, wrong: dict[str, Any]) -> None:
    assert send(api, **wrong).status_code == 422
    assert sources(container) == []


def test_what_costs_much_is_asked_first(api: Api, container: Container, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "THRESHOLD", 5)
    refused = send(api)
    assert (refused.status_code, refused.json["code"]) == (409, "documentation.costly")
    assert refused.json["tokens"] > 5
    assert sources(container) == []
    assert send(api, force=True).status_code == 201


def test_ingesting_a_folder_leaves_uploads_alone(api: Api, container: Container, tmp_path: Any) -> None:
    send(api)
    (tmp_path / "own.md").write_text("# Own\n\nA page of its own.")
    assert container.ingest is not None
    report = container.ingest.run(container.ingest.plan("manuals", tmp_path, "*.md"))
    assert (report.created, report.removed) == (1, 0)
    assert sources(container) == ["manuals/own.md", "manuals/uploads/kettle.md"]
    report = container.ingest.run(container.ingest.plan_again("manuals"))
    assert (report.updated, report.removed, list(report.faults)) == (1, 0, [])
