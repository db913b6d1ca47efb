"""The history of evaluations over the API: runs, one run, a run beside another."""

from __future__ import annotations

from typing import Any

import pytest
from apiflask import APIFlask

from app.container import Container
from tests.fixtures.clients import Api, People
from tests.fixtures.runs import keep

RUNS = "/api/v1/evaluations/runs"


@pytest.fixture
def two(container: Container) -> tuple[int, int]:
    """``a`` broke, ``b`` was mended, ``c`` found something else, ``d`` is as it was, ``e`` went, ``f`` came."""
    first = keep(container, ("a", True, ["right.md"]), ("b", False, ["x.md"]), ("c", True, ["right.md", "x.md"]),
                 ("d", True, ["right.md"]), ("e", True, ["right.md"]))  # fmt: skip
    second = keep(container, ("a", False, ["x.md"]), ("b", True, ["right.md"]), ("c", True, ["right.md", "y.md"]),
                  ("d", True, ["right.md"]), ("f", True, ["right.md"]), mrr=0.75)  # fmt: skip
    return first, second


def get(api: Api, path: str = "", **query: Any) -> Any:
    return api.get(RUNS + path, query_string=query)


def test_runs_newest_first_in_pages(api: Api, container: Container, two: tuple[int, int]) -> None:
    keep(container, ("a", True, []), suite="other", collection="manuals")
    found = get(api).json["items"]
    assert [run["suite"] for run in found] == ["other", "golden", "golden"]
    assert [run["id"] for run in get(api, suite="golden").json["items"]] == [two[1], two[0]]
    assert [run["suite"] for run in get(api, collection="manuals").json["items"]] == ["other"]
    page = get(api, size=2).json
    rest = get(api, size=2, cursor=page["next_cursor"]).json
    assert ([run["id"] for run in rest["items"]], rest["next_cursor"]) == ([two[0]], None)
    one = get(api, suite="golden").json["items"][0]
    assert (one["total_cases"], one["passed"], one["metrics"]["mrr"], one["k"]) == (5, 4, 0.75, 5)
    assert one["embedding_model"] == "openai_compatible:words"
    assert "results" not in one


def test_one_run_with_its_cases(api: Api, two: tuple[int, int]) -> None:
    run = get(api, f"/{two[1]}").json
    assert [case["id"] for case in run["results"]] == ["a", "b", "c", "d", "f"]
    assert run["results"][0] == {
        "id": "a", "query": "Question a?", "passed": False, "known_red": False, "rank": None, "score": 0.5,
        "expected": ["right.md"], "reasons": [{"kind": "missing_source", "value": "right.md"}],
        "retrieved": [{"source": "x.md", "score": 0.5}],
    }  # fmt: skip
    assert get(api, "/999").status_code == 404


def test_a_run_beside_the_one_before(api: Api, two: tuple[int, int]) -> None:
    found = get(api, f"/{two[1]}/diff").json
    assert (found["before"]["id"], found["now"]["id"], found["comparable"]) == (*two, True)
    assert [(case["id"], case["state"]) for case in found["cases"]] == [
        ("a", "broke"), ("b", "mended"), ("e", "removed"), ("f", "added"), ("c", "moved"), ("d", "same"),
    ]  # fmt: skip
    mrr = next(one for one in found["metrics"] if one["metric"] == "mrr")
    assert mrr == {"metric": "mrr", "before": 1.0, "now": 0.75, "delta": -0.25, "worse": True,
                   "noise": 0.2, "within_noise": False}  # fmt: skip
    rate = next(one for one in found["metrics"] if one["metric"] == "pass_rate")
    assert (rate["delta"], rate["noise"], rate["within_noise"]) == (0.0, 0.2, True)
    back = get(api, f"/{two[0]}/diff", before=two[1]).json
    assert [case["id"] for case in back["cases"] if case["state"] == "broke"] == ["b"]


def test_what_has_no_run_before(api: Api, container: Container, two: tuple[int, int]) -> None:
    assert get(api, f"/{two[0]}/diff").status_code == 404
    assert get(api, f"/{two[0]}/diff").json["code"] == "evaluation.no_run_before"
    other = keep(container, ("a", True, []), suite="other")
    assert get(api, f"/{other}/diff", before=two[0]).json["comparable"] is False
    assert get(api, f"/{other}/diff", before=999).status_code == 404
    assert get(api, f"/{other}/diff", before="x").status_code == 422


def test_who_may_not(app: APIFlask, people: People, two: tuple[int, int]) -> None:
    reader = Api(app, people.token(people.user("rita", "reader"), "read"))
    assert [get(reader, path).status_code for path in ("", f"/{two[1]}", f"/{two[1]}/diff")] == [403, 403, 403]
