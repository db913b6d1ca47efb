from apiflask import APIFlask

from app.container import Container
from app.core.processes import store
from app.core.queue import QUEUES
from tests.fakes.queue import RecordingQueue
from tests.fixtures.clients import Browser


def test_alive_asks_nothing_else(client: Browser, queue: RecordingQueue) -> None:
    queue.away = True
    answer = client.get("/healthz")
    assert answer.status_code == 200
    assert answer.json == {"status": "ok"}


def test_ready_when_every_part_is_there(client: Browser, container: Container) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json
    assert answer.json["parts"]["scheduler"] == {"state": "none", "alive": 0}
    with container.units() as unit:
        store.seen(unit.session, "s", store.SCHEDULER, None, 1, "host")
        for number, name in enumerate(QUEUES):
            store.seen(unit.session, f"w{number}", store.WORKER, name, number, "host")
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json
    assert answer.json["status"] == "ready"
    assert answer.json["parts"]["worker:embeddings-switch"] == {"state": "ok", "alive": 1}


def test_a_database_that_is_away_is_one_state_among_others(app: APIFlask, container: Container) -> None:
    container.units.engine = container.engine.execution_options()
    container.units.engine.dispose()
    away = container.config.model_copy(update={"database_url": "postgresql+psycopg://nobody@127.0.0.1:1/none"})
    from app.core.db import make_engine

    container.units.engine = make_engine(away.database_url)
    answer = Browser(app).get("/readyz")
    assert answer.status_code == 503
    assert answer.json
    assert answer.json["parts"]["database"] == {"state": "away"}
    assert answer.json["parts"]["migrations"] == {"state": "unknown"}
    assert answer.json["parts"]["queue"] == {"state": "ok"}
    assert "127.0.0.1" not in answer.text
