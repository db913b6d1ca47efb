"""Vector health as a script uses it: rows are spoilt by SQL, found, repaired, and right again afterwards."""

from __future__ import annotations

from typing import Any

import pytest
from werkzeug.test import TestResponse

from app.core.contracts.actor import SYSTEM
from app.factory import create_app
from tests.fakes.embedding_server import Behaviour
from tests.fixtures.bench import A, B, Bench
from tests.fixtures.clients import Api, People

HEALTH = "/api/v1/vector-health"
ENTITY = "cms.contents"


@pytest.fixture
def bench(bench: Bench) -> Bench:
    bench.pass_events()
    return bench


@pytest.fixture
def people(bench: Bench) -> People:
    with bench.container.units() as unit:
        bench.container.access.ensure_roles(unit)
    return People(bench.container)


@pytest.fixture
def api(bench: Bench, people: People) -> Api:
    return Api(create_app(bench.config, bench.container), people.token(people.user("admin", "administrator"), "all"))


class Desk:
    """Asks and repairs through the API."""

    def __init__(self, bench: Bench, api: Api) -> None:
        self.bench, self.api = bench, api

    def space(self, key: str = A) -> dict[str, Any]:
        answer = self.api.get(HEALTH)
        assert answer.status_code == 200
        return next(item for item in answer.json["items"] if item["model_key"] == key)  # type: ignore[index]

    def repair(self, kind: str, key: str = A) -> TestResponse:
        return self.api.post(f"{HEALTH}/{self.bench.space(key)}/repair", json={"kind": kind})

    def sample(self, size: int = 20, key: str = A) -> TestResponse:
        return self.api.post(f"{HEALTH}/{self.bench.space(key)}/sample", json={"size": size})


@pytest.fixture
def desk(bench: Bench, api: Api) -> Desk:
    return Desk(bench, api)


def unguarded(bench: Bench, sql: str, **values: object) -> None:
    """Run ``sql`` as a restore or a careless hand would: without foreign keys."""
    bench.execute(f"set local session_replication_role = replica; {sql}" if not values else sql, **values)


def drop_indexes(bench: Bench) -> None:
    """An index would refuse what a spoilt row holds."""
    for name in bench.indexes():
        bench.execute(f"drop index {name}")


def spoil(bench: Bench, sql: str) -> None:
    """Change rows of the serving space."""
    bench.execute(f"update embeddings set {sql}")


RAW_NAN = """create cast (bytea as vector) without function;
    update embeddings set embedding = (substring(vector_send(embedding) from 1 for 0)
        || decode('1000' || '0000' || repeat('0000c07f', 16), 'hex'))::vector where record_id = 3;
    drop cast (bytea as vector)"""
"""The type refuses NaN at every door but this one; damaged storage has no doors."""

SPOILT = {
    "stale": ("missing", "update embeddings set text_hash = '\\x00' where record_id = 3"),
    "missing": ("missing", "delete from embeddings where record_id = 3"),
    "norm_off": ("norm_off", "update embeddings set embedding = embedding * (select array_agg(1.5)::vector "
        "from generate_series(1, 16)) where record_id = 3"),
    "wrong_length": ("wrong_length", "update embeddings set embedding = '[1,0,0]' where record_id = 3"),
    "not_finite": ("not_finite", RAW_NAN),
    "zero": ("not_finite", "update embeddings set embedding = (select array_agg(0)::vector "
        "from generate_series(1, 16)) where record_id = 3"),
    "orphaned": ("orphaned", "set local session_replication_role = replica; "
        "delete from search_documents where record_id = 3"),
    "surplus": ("surplus", "insert into embeddings select entity, record_id, locale, space_id, 7, \"of\", start, "
        '"end", text_hash, passage_hash, embedding from embeddings where record_id = 3'),
}  # fmt: skip


def test_a_sound_space_is_healthy_and_no_server_is_asked(bench: Bench, desk: Desk) -> None:
    before = bench.servers["alpha"].counters.calls
    answer = desk.api.get(HEALTH)
    assert bench.servers["alpha"].counters.calls == before
    body = answer.json
    assert body is not None
    assert (body["healthy"], len(body["items"])) == (True, 1)
    space = body["items"][0]
    assert (space["role"], space["counted"], space["documents"], space["done"], space["passages"]) == (
        "serving", True, 8, 8, 8,
    )  # fmt: skip
    assert (space["norm_tolerance"], space["problems"], space["repairs"]) == (0.01, [], {})
    (index,) = space["indexes"]
    assert (index["entity"], index["state"]) == (ENTITY, "ready")
    assert index["size"] > 0


@pytest.mark.parametrize("name", SPOILT)
def test_what_is_spoilt_is_counted_and_repaired_to_the_right_state(bench: Bench, desk: Desk, name: str) -> None:
    kind, sql = SPOILT[name]
    drop_indexes(bench)
    for statement in sql.split(";\n"):
        bench.execute(statement)
    space = desk.space()
    counted = "not_finite" if name == "zero" else name
    assert space[counted] == 1
    assert kind in space["problems"]
    assert space["repairs"][kind] == 1
    done = desk.repair(kind)
    assert (done.status_code, done.json) == (200, {"kind": kind, "count": 1, "more": False, "result": None})
    assert desk.repair(kind).json == {"kind": kind, "count": 0, "more": False, "result": None}
    bench.settle()
    bench.pass_events()
    assert bench.violations(A) == []
    after = desk.space()
    assert (after["problems"], after["done"]) == ([], 7 if name == "orphaned" else 8)
    assert (after["passages"], after["surplus"]) == (after["done"], 0)


def test_deleted_rows_are_asked_for_at_once(bench: Bench, desk: Desk) -> None:
    drop_indexes(bench)
    bench.execute(SPOILT["norm_off"][1])
    desk.repair("norm_off")
    space = desk.space()
    assert (space["under_way"], space["missing"], space["problems"]) == (1, 0, ["index"])


def test_a_missing_index_is_rebuilt_by_a_job(bench: Bench, desk: Desk) -> None:
    drop_indexes(bench)
    assert [index["state"] for index in desk.space()["indexes"]] == ["missing"]
    assert desk.repair("index").json == {"kind": "index", "count": 1, "more": False, "result": None}
    assert bench.queue.jobs("embeddings-index") == ["jobs.embeddings_index.rebuild"]
    assert bench.ai.health.rebuild_indexes(bench.space(A)) == 1
    assert [index["state"] for index in desk.space()["indexes"]] == ["ready"]
    assert desk.repair("index").json == {"kind": "index", "count": 0, "more": False, "result": None}


def test_an_invalid_index_is_dropped_and_rebuilt(bench: Bench, desk: Desk) -> None:
    (name,) = bench.indexes()
    before = bench.value("select cast(cast(:name as regclass) as oid)", name=name)
    bench.execute("update pg_index set indisvalid = false where indexrelid = cast(:name as regclass)", name=name)
    assert (desk.space()["indexes"][0]["state"], desk.space()["problems"]) == ("invalid", ["index"])
    desk.repair("index")
    bench.ai.health.rebuild_indexes(bench.space(A))
    assert desk.space()["indexes"][0]["state"] == "ready"
    assert bench.value("select cast(cast(:name as regclass) as oid)", name=name) != before


def test_a_document_that_awaits_a_decision_is_tried_again(bench: Bench, desk: Desk) -> None:
    bench.servers["alpha"].script(
        lambda number, texts: Behaviour(status=400) if any("poison" in sent for sent in texts) else None
    )
    bench.write(3, "poison")
    bench.settle()
    bench.pass_events()
    assert (desk.space()["failed"], desk.space()["problems"]) == (1, ["failed"])
    bench.servers["alpha"].reset()
    assert desk.repair("failed").json == {"kind": "failed", "count": 1, "more": False, "result": None}
    bench.settle()
    assert (desk.space()["failed"], desk.space()["done"], desk.space()["problems"]) == (0, 8, [])


def test_what_an_event_will_bring_is_no_problem(bench: Bench, desk: Desk) -> None:
    bench.write(3, "edited a moment ago")
    space = desk.space()
    assert (space["under_way"], space["stale"], space["done"], space["problems"]) == (1, 0, 7, [])
    assert desk.repair("missing").json["count"] == 0  # type: ignore[index]


def test_the_probe_is_run_at_once_and_noted(bench: Bench, desk: Desk) -> None:
    assert desk.space()["check_result"] is None
    assert desk.repair("probe").json["result"] == "ok"  # type: ignore[index]
    bench.servers["alpha"].behaviour = Behaviour(noise=0.5)
    assert desk.repair("probe").json["result"] == "model"  # type: ignore[index]
    assert bench.suspended == "model_changed"
    space = desk.space()
    assert (space["check_result"], space["problems"]) == ("model", ["probe"])
    assert space["checked_at"] is not None


# --- the sample ----------------------------------------------------------------------------------------------------


def test_stored_vectors_are_compared_with_fresh_ones(bench: Bench, desk: Desk) -> None:
    found = desk.sample().json
    assert found is not None
    assert (found["verdict"], found["asked"], found["compared"], found["differing"]) == ("same", 8, 8, [])
    assert found["least"] > 0.999
    assert desk.space()["sample"] == found


@pytest.mark.parametrize("behaviour", [Behaviour(noise=0.5), Behaviour(model="gamma")], ids=["weights", "name"])
def test_another_model_is_recognised_by_its_vectors(bench: Bench, desk: Desk, behaviour: Behaviour) -> None:
    bench.servers["alpha"].behaviour = behaviour
    assert desk.sample().json["verdict"] == "other"  # type: ignore[index]
    assert desk.space()["problems"] == ["sample"]
    refused = desk.repair("differing")
    assert (refused.status_code, refused.json["code"]) == (409, "health.sample_first")  # type: ignore[index]
    assert bench.value("select count(*) from embeddings") == 8


def test_single_foreign_vectors_are_found_and_embedded_again(bench: Bench, desk: Desk) -> None:
    spoil(bench, "embedding = (select embedding from embeddings where record_id = 1) where record_id = 5")
    found = desk.sample().json
    assert found is not None
    assert (found["verdict"], found["differing"]) == ("differs", [[ENTITY, 5, "en"]])
    assert desk.repair("differing").json["count"] == 1  # type: ignore[index]
    assert desk.repair("differing").json["count"] == 0  # type: ignore[index]
    bench.settle()
    assert desk.sample().json["verdict"] == "same"  # type: ignore[index]
    assert desk.space()["problems"] == []


def test_without_vectors_nothing_is_claimed(bench: Bench, desk: Desk) -> None:
    bench.execute("delete from embeddings")
    found = desk.sample().json
    assert found is not None
    assert (found["verdict"], found["compared"], found["median"]) == ("cannot_tell", 0, None)


@pytest.mark.parametrize("size", [0, 201, "3"])
def test_a_sample_has_bounds(desk: Desk, size: object) -> None:
    answer = desk.api.post(f"{HEALTH}/{desk.bench.space(A)}/sample", json={"size": size})
    assert answer.status_code == 422


def test_a_server_that_is_away_is_named_and_nothing_is_noted(bench: Bench, desk: Desk) -> None:
    bench.servers["alpha"].behaviour = Behaviour(status=503)
    assert desk.sample().status_code == 503
    assert desk.space()["sample"] is None


# --- beside a switch -----------------------------------------------------------------------------------------------


def test_a_running_switch_keeps_repairs_off_its_own_space(bench: Bench, desk: Desk) -> None:
    bench.start()
    bench.run_to("indexes")
    assert desk.space(B)["role"] == "target"
    for kind in ("missing", "failed", "surplus", "wrong_length", "not_finite", "norm_off", "index"):
        refused = desk.repair(kind, B)
        assert (refused.status_code, refused.json["code"]) == (409, "health.switch_runs"), kind  # type: ignore[index]
    assert desk.repair("orphaned", B).status_code == 200
    bench.settle()
    assert (bench.serving, bench.violations(B)) == (B, [])


@pytest.mark.parametrize("mode", ["side_by_side", "in_place"])
@pytest.mark.parametrize("phase", ["embeddings", "indexes", "verify", "activate"])
def test_repairing_the_serving_space_amid_a_switch_mixes_nothing(
    bench: Bench, desk: Desk, mode: str, phase: str
) -> None:
    bench.start(mode=mode)
    bench.run_to(phase)
    spoil(bench, f"text_hash = '\\x00' where record_id = 3 and space_id = {bench.space(A)}")
    spoil(bench, f"embedding = embedding + embedding where record_id = 5 and space_id = {bench.space(A)}")
    assert desk.repair("norm_off").json["count"] == 1  # type: ignore[index]
    assert desk.repair("missing").json["count"] == 1  # type: ignore[index]
    bench.settle()
    assert (bench.serving, bench.violations(B)) == (B, [])
    lengths = bench.rows("select space_id, vector_dims(embedding), count(*) from embeddings group by 1, 2 order by 1")
    assert lengths[-1] == (bench.space(B), 24, 8)
    assert {(space, length) for space, length, _ in lengths} == {(bench.space(A), 16), (bench.space(B), 24)}


def test_a_switch_that_failed_its_check_is_repaired_and_resumed(bench: Bench, desk: Desk) -> None:
    bench.start()
    bench.run_to("verify")
    bench.execute(f"update embeddings set embedding = embedding + embedding where record_id = 5 "
                  f"and space_id = {bench.space(B)}")  # fmt: skip
    bench.run_until(lambda: bench.ai.switching.status().status == "failed")
    refused = desk.repair("missing", B)
    assert (refused.status_code, refused.json["code"]) == (409, "health.resume_switch")  # type: ignore[index]
    assert desk.space(B)["problems"] == ["norm_off"]
    assert desk.repair("norm_off", B).json["count"] == 1  # type: ignore[index]
    bench.ai.switching.resume(SYSTEM)
    bench.settle()
    assert (bench.serving, bench.violations(B)) == (B, [])


def test_the_indexes_of_a_switch_in_place_are_left_to_it(bench: Bench, desk: Desk) -> None:
    bench.start(mode="in_place")
    bench.run_to("verify")
    space = desk.space()
    assert ([index["state"] for index in space["indexes"]], space["problems"]) == (["not_needed"], [])
    assert desk.repair("index").json["code"] == "health.indexes_by_switch"  # type: ignore[index]


def test_kept_vectors_grow_old_and_that_is_no_problem(bench: Bench, desk: Desk) -> None:
    bench.start()
    bench.settle()
    bench.write(3, "edited afterwards")
    bench.settle()
    bench.pass_events()
    kept = desk.space(A)
    assert (kept["role"], kept["stale"], kept["problems"]) == ("kept", 1, [])
    assert kept["retained_until"] is not None
    assert desk.repair("missing", A).json["code"] == "health.kept"  # type: ignore[index]
    assert desk.repair("index", A).json["code"] == "health.no_index_needed"  # type: ignore[index]


# --- who may, and for how long -------------------------------------------------------------------------------------


def test_who_may_look_may_not_repair(bench: Bench, people: People) -> None:
    app = create_app(bench.config, bench.container)
    reader = Api(app, people.token(people.user("reader", "reader"), "all"))
    assert reader.get(HEALTH).status_code == 403
    bench.execute("update roles set permissions = '{settings.select}' where name = 'reader'")
    assert reader.get(HEALTH).status_code == 200
    for verb, body in (("repair", {"kind": "orphaned"}), ("sample", {})):
        assert reader.post(f"{HEALTH}/{bench.space(A)}/{verb}", json=body).status_code == 403
    assert Api(app, "nobody").get(HEALTH).status_code == 401


def test_unknown_spaces_and_kinds_are_refused(desk: Desk) -> None:
    assert desk.api.post(f"{HEALTH}/999/repair", json={"kind": "missing"}).status_code == 404
    assert desk.repair("everything").status_code == 422
    assert desk.api.post(f"{HEALTH}/999/sample", json={}).status_code == 404


def test_what_is_not_counted_in_time_says_so(bench: Bench, desk: Desk) -> None:
    """Another transaction holds the table, so no count can end."""
    with bench.container.engine.connect() as held, held.begin():
        held.exec_driver_sql("lock table search_documents in access exclusive mode")
        body = desk.api.get(f"{HEALTH}?patience=0.2").json
    assert body is not None
    (space,) = body["items"]
    assert (body["healthy"], space["counted"], space["done"]) == (None, False, None)
    assert desk.space()["counted"] is True
