from sqlalchemy import text

from app.container import Container
from app.core.processes import store
from tests.fakes.queue import RecordingQueue


def age(container: Container, seconds: int) -> None:
    """Make every process look as if it was seen so long ago; the database's clock can't be set."""
    with container.units() as unit:
        unit.session.execute(
            text(
                "update processes set seen_at = seen_at - make_interval(secs => :age),"
                " started_at = started_at - make_interval(secs => :age)"
            ),
            {"age": seconds},
        )


def test_a_heartbeat_keeps_start_and_error_of_the_same_process(container: Container) -> None:
    with container.units() as unit:
        store.seen(unit.session, "w1", "worker", "default", 10, "host", error="TimeoutError")
    age(container, 60)
    with container.units() as unit:
        store.seen(unit.session, "w1", "worker", "default", 10, "host", store.Work("jobs.x.run"))
    with container.units() as unit:
        (same,) = store.alive(unit.session, 15)
        assert (same.last_error, same.job) == ("TimeoutError", "jobs.x.run")
        assert (same.seen_at - same.started_at).total_seconds() > 30


def test_another_pid_under_the_name_is_a_new_process(container: Container) -> None:
    with container.units() as unit:
        store.seen(unit.session, "w1", "worker", "default", 10, "host", error="TimeoutError")
    age(container, 60)
    with container.units() as unit:
        store.seen(unit.session, "w1", "worker", "default", 11, "host")
    with container.units() as unit:
        (new,) = store.alive(unit.session, 15)
        assert new.last_error is None
        assert (new.seen_at - new.started_at).total_seconds() < 30


def test_the_silent_are_dead_and_then_forgotten(container: Container) -> None:
    with container.units() as unit:
        store.seen(unit.session, "w1", "worker", "default", 10, "host")
        store.seen(unit.session, "w2", "worker", "default", 11, "host")
        store.gone(unit.session, "w2")
    age(container, 60)
    with container.units() as unit:
        assert store.alive(unit.session, 15) == []
        assert [process.name for process in store.all_known(unit.session)] == ["w1"]
        assert store.remove_dead(unit.session, 300) == 0
        assert store.remove_dead(unit.session, 30) == 1


def test_health_names_each_part(container: Container, queue: RecordingQueue) -> None:
    with container.units() as unit:
        store.seen(unit.session, "w1", store.WORKER, "embeddings", 10, "host")
        store.seen(unit.session, "w2", store.WORKER, "embeddings", 11, "host")
    queue.away = True
    states = {name: (part.state, part.alive) for name, part in container.health.parts().items()}
    assert states["database"] == states["migrations"] == ("ok", None)
    assert states["queue"] == ("away", None)
    assert states["worker:embeddings"] == ("ok", 2)
    assert states["worker:default"] == states["scheduler"] == ("none", 0)


def test_lags_count_the_events_that_a_consumer_has_not_applied(container: Container) -> None:
    with container.units() as unit:
        unit.session.execute(
            text(
                "insert into index_cursors (consumer, space_id, xid, event_id, system_identifier)"
                " values ('serving', 1, '0', 0, 'x')"
            )
        )
        unit.session.execute(text("insert into index_events (entity, record_id, revision) values ('a.b', 1, 1)"))
    (lag,) = container.health.lags()
    assert (lag.consumer, lag.waiting) == ("serving", 1)
    assert lag.oldest_at is not None
