"""Groups and figures of a list, and the list as CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from apiflask import APIFlask
from sqlalchemy import text

from app.container import Container
from tests.api.test_records import insert, paths
from tests.fixtures.clients import Api
from tests.fixtures.roles import restricted_api

SUMMARIZE = "/api/v1/summarize/sao/tickets"
EXPORT = "/api/v1/export/cms/contents"


def tickets(api: Api) -> None:
    for number, (status, priority) in enumerate(
        [("open", "low"), ("open", "high"), ("open", "low"), ("closed", "low")]
    ):
        insert(api, "sao/tickets", subject=f"S{number}", status=status, priority=priority)


def summary(api: Api, query: str) -> dict[str, Any]:
    response = api.get(f"{SUMMARIZE}?{query}")
    assert response.status_code == 200, response.json
    return dict(response.json or {})


def test_records_are_counted_and_reckoned_in_groups(api: Api) -> None:
    tickets(api)
    found = summary(api, "group_by=status,priority&metrics=sum(number),avg(number),max(number)")
    assert found["groups"] == [
        {"group": {"status": "open", "priority": "low"}, "count": 2,
         "metrics": {"sum(number)": 4, "avg(number)": 2, "max(number)": 3}},
        {"group": {"status": "closed", "priority": "low"}, "count": 1,
         "metrics": {"sum(number)": 4, "avg(number)": 4, "max(number)": 4}},
        {"group": {"status": "open", "priority": "high"}, "count": 1,
         "metrics": {"sum(number)": 2, "avg(number)": 2, "max(number)": 2}},
    ]  # fmt: skip
    assert found["meta"] == {"total_records": 4, "aggregated_records": 4, "truncated": False}
    narrowed = summary(api, 'filter={"status":"open"}&metrics=count,avg(number)')
    assert narrowed["groups"] == [{"group": {}, "count": 3, "metrics": {"avg(number)": 2}}]
    assert summary(api, "q=nothing+like+it&metrics=min(created_at)")["groups"] == [
        {"group": {}, "count": 0, "metrics": {"min(created_at)": None}}
    ]
    assert summary(api, "q=nothing+like+it&group_by=status")["groups"] == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("group_by=nothing", {"group_by": "input.unknown_field"}),
        ("group_by=description", {"group_by": "input.unknown_field"}),
        ("group_by=status,priority,requester", {"group_by": "input.too_many"}),
        ("metrics=median(number)", {"metrics": "input.type"}),
        ("metrics=sum(nothing)", {"metrics": "input.unknown_field"}),
        ("metrics=sum(created_at)", {"metrics": "input.choice"}),
        ("metrics=max(status)", {"metrics": "input.choice"}),
        ("sort=id", {"sort": "input.unknown_field"}),
    ],
)
def test_what_can_not_be_reckoned_is_named(api: Api, query: str, expected: dict[str, str]) -> None:
    assert paths(api.get(f"{SUMMARIZE}?{query}")) == expected


def test_too_many_groups_are_cut_and_said(container: Container, api: Api) -> None:
    with container.units() as unit:
        unit.session.execute(
            text("insert into cms_contents (category) select 'c' || (n / 2) from generate_series(0, 2003) n")
        )
    response = api.get("/api/v1/summarize/cms/contents?group_by=category").json or {}
    assert len(response["groups"]) == 1000
    assert response["meta"] == {"total_records": 2004, "aggregated_records": 2000, "truncated": True}


def rows(response: Any) -> list[dict[str, str]]:
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
    return list(csv.DictReader(io.StringIO(response.get_data(as_text=True), newline="")))


def test_an_export_is_the_filtered_list(api: Api) -> None:
    both = {"en": {"title": 'Say "hi", you', "body": "two\nlines"}, "it": {"title": "Ciao", "body": "x"}}
    insert(api, translations=both, category="a")
    insert(api, category="b")
    insert(api, category="a", translations={"en": {"title": "Other", "body": ""}})
    found = rows(api.get(f'{EXPORT}?filter={{"category":"a"}}&sort=-id'))
    assert [(row["id"], row["title"], row["body"]) for row in found] == [
        ("3", "Other", ""),
        ("1", 'Say "hi", you', "two\nlines"),
    ]
    shown = rows(api.get(f"{EXPORT}?locale=it&fields=title,status&sort=id&q=ciao"))
    assert [(row["locale"], row["title"]) for row in shown] == [("it", "Ciao")]
    assert list(shown[0]) == ["id", "revision", "locale", "title", "status", "created_at", "updated_at", "deleted_at"]
    raw = api.get(f"{EXPORT}?bom=true&fields=status").data
    assert raw.startswith(b"\xef\xbb\xbfid,revision,")
    assert raw.count(b"\r\n") == 4
    assert api.get(EXPORT).headers["Content-Disposition"] == 'attachment; filename="cms.contents.csv"'


@pytest.mark.parametrize("title", ["=1+1", "+x", "-x", "@x"])
def test_a_cell_is_never_a_formula(api: Api, title: str) -> None:
    insert(api, translations={"en": {"title": title, "body": ""}})
    assert rows(api.get(EXPORT))[0]["title"] == f"'{title}"


def test_an_export_reaches_over_many_batches_and_is_audited(container: Container, api: Api) -> None:
    with container.units() as unit:
        unit.session.execute(
            text(
                "insert into sao_tickets (number, subject, description) "
                "select n, 'S' || n, '' from generate_series(1, 1203) n"
            )
        )
    found = rows(api.get("/api/v1/export/sao/tickets?sort=number&fields=subject"))
    assert [row["subject"] for row in found] == [f"S{number}" for number in range(1, 1204)]
    assert found[11]["reference"] == "SAO-12"
    with container.units() as unit:
        assert unit.session.scalar(text("select count(*) from audit_entries where action = 'export'")) == 1


def test_who_stops_reading_leaves_no_transaction_open(container: Container, api: Api) -> None:
    with container.units() as unit:
        unit.session.execute(
            text(
                "insert into sao_tickets (number, subject, description) "
                "select n, 'S', '' from generate_series(1, 1600) n"
            )
        )
    response = api.get("/api/v1/export/sao/tickets", buffered=False)
    stream = response.iter_encoded()
    assert next(iter(stream)).startswith(b"id,")
    assert container.engine.pool.checkedout() == 1  # type: ignore[attr-defined]
    response.close()
    assert container.engine.pool.checkedout() == 0  # type: ignore[attr-defined]


def test_an_empty_export_has_its_head_and_a_refused_one_is_no_file(
    app: APIFlask, container: Container, api: Api
) -> None:
    assert api.get(EXPORT).get_data(as_text=True).startswith("id,revision,locale,title,")
    assert paths(api.get(f"{EXPORT}?page=2")) == {"page": "input.unknown_field"}
    nobody = restricted_api(app, container, "nobody", ["sao.tickets.select"])
    assert nobody.get(EXPORT).status_code == 403


def test_rules_hold_for_figures_and_files(app: APIFlask, container: Container, api: Api) -> None:
    tickets(api)
    rule = {"property": "status", "operator": "=", "value": "closed"}
    some = restricted_api(app, container, "some", ["sao.tickets.select"], rows={"sao.tickets.select": rule})
    assert summary(some, "group_by=status")["groups"] == [{"group": {"status": "closed"}, "count": 1, "metrics": {}}]
    assert [row["subject"] for row in rows(some.get("/api/v1/export/sao/tickets"))] == ["S3"]
