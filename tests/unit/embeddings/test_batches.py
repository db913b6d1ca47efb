"""Batches: learned, halved to the bad text, patient, and honest about whose fault it is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.core.errors import ModelServerFailed
from app.embeddings.batches import BatchResult, TextFailure
from app.embeddings.client import ModelServers
from app.embeddings.identity import PROBE_TEXT
from app.embeddings.limits import BatchLimit
from tests.fakes.embedding_server import Behaviour, FakeEmbeddingServer
from tests.unit.embeddings.conftest import MakeServers, QuickClock, profile_of

EIGHT = [f"text {number}" for number in range(8)]


def run(servers: ModelServers, texts: Sequence[str]) -> tuple[dict[int, Any], dict[int, str]]:
    """(vector by index, reason by index)."""
    vectors: dict[int, Any] = {}
    reasons: dict[int, str] = {}
    for outcome in servers.batcher(profile_of()).embed(texts):
        if isinstance(outcome, TextFailure):
            assert outcome.index not in reasons
            reasons[outcome.index] = outcome.reason
        else:
            assert isinstance(outcome, BatchResult)
            assert not set(outcome.indexes) & set(vectors)
            vectors |= dict(zip(outcome.indexes, outcome.vectors, strict=True))
    assert vectors.keys() | reasons.keys() == set(range(len(texts)))
    assert not vectors.keys() & reasons.keys()
    return vectors, reasons


def test_every_text_gets_its_own_vector(make_servers: MakeServers, fake: FakeEmbeddingServer) -> None:
    vectors, reasons = run(make_servers(batch_size=3), EIGHT)
    assert reasons == {}
    for index, text in enumerate(EIGHT):
        np.testing.assert_allclose(vectors[index], fake.vector(text), rtol=1e-6)
    assert fake.counters.largest_batch == 3
    assert fake.counters.repeats == 0


def test_no_texts(make_servers: MakeServers, fake: FakeEmbeddingServer) -> None:
    assert run(make_servers(), []) == ({}, {})
    assert fake.counters.calls == 0


def test_identical_texts_are_sent_once(make_servers: MakeServers, fake: FakeEmbeddingServer) -> None:
    vectors, _ = run(make_servers(), ["same"] * 10_000 + ["other"])
    assert fake.counters.texts == 2
    assert np.array_equal(vectors[0], vectors[9_999])


def test_what_the_server_declares_is_kept(make_servers: MakeServers, fake: FakeEmbeddingServer) -> None:
    fake.behave(max_batch=2)
    servers = make_servers()
    run(servers, EIGHT)
    run(servers, EIGHT[:3])
    assert fake.counters.failed == 0
    assert fake.counters.info_calls == 1


@pytest.mark.parametrize("status", [413, 422, 424])
def test_an_undeclared_limit_is_learned_once(make_servers: MakeServers, fake: FakeEmbeddingServer, status: int) -> None:
    fake.behave(max_batch=10, too_many_status=status, info=False)
    servers = make_servers(batch_size=32)
    texts = [f"text {number}" for number in range(200)]
    assert run(servers, texts)[1] == {}
    failed = fake.counters.failed
    assert failed <= 3
    assert run(servers, texts)[1] == {}
    assert fake.counters.failed <= failed + 1
    assert fake.counters.embedded["text 0"] == 2


def test_a_limit_of_two_for_five_texts(make_servers: MakeServers, fake: FakeEmbeddingServer) -> None:
    fake.behave(max_batch=2, info=False)
    servers = make_servers(batch_size=2)
    assert run(servers, EIGHT[:5])[1] == {}
    assert fake.counters.calls == 3


@pytest.mark.parametrize("status", [500, 400, 413, 422])
def test_a_bad_text_is_found_and_the_others_kept(
    make_servers: MakeServers, fake: FakeEmbeddingServer, status: int
) -> None:
    fake.behave(poison="text 5", poison_status=status)
    servers = make_servers()
    vectors, reasons = run(servers, EIGHT)
    assert sorted(vectors) == [0, 1, 2, 3, 4, 6, 7]
    assert reasons == {5: "too_large" if status in (413, 422) else "status"}
    assert servers.limit(profile_of()).size == 32, "a bad text teaches nothing about sizes"


@pytest.mark.parametrize(
    ("field", "reason"),
    [("nan_at", "not_finite"), ("zero_at", "zero"), ("wrong_dims_at", "dimensions")],
)
def test_a_bad_vector_names_its_text(
    make_servers: MakeServers, fake: FakeEmbeddingServer, field: str, reason: str
) -> None:
    def script(_: int, texts: Sequence[str]) -> Behaviour | None:
        changes: dict[str, Any] = {field: texts.index("text 2")} if "text 2" in texts else {}
        return replace(Behaviour(), **changes)

    fake.script(script)
    vectors, reasons = run(make_servers(), EIGHT)
    assert reasons == {2: reason}
    assert len(vectors) == 7


def test_one_overlong_text_does_not_take_the_others_along(make_servers: MakeServers, fake: FakeEmbeddingServer) -> None:
    fake.behave(longest_text=100)
    vectors, reasons = run(make_servers(), [*EIGHT, "x" * 101])
    assert reasons == {8: "too_large"}
    assert len(vectors) == 8


def test_a_text_that_crashes_the_server(make_servers: MakeServers, fake: FakeEmbeddingServer) -> None:
    fake.behave(poison="text 5", poison_status=0)
    vectors, reasons = run(make_servers(), EIGHT)
    assert reasons == {5: "server_crash"}
    assert len(vectors) == 7


def test_a_text_that_fails_once_is_not_blamed(make_servers: MakeServers, fake: FakeEmbeddingServer) -> None:
    fake.script([Behaviour(status=500)])
    assert run(make_servers(), ["a"])[1] == {}


@pytest.mark.parametrize("phase", range(3))
def test_a_server_that_breaks_off_two_calls_of_three_is_not_the_texts_fault(
    make_servers: MakeServers, fake: FakeEmbeddingServer, phase: int
) -> None:
    fake.script(lambda number, _: None if number % 3 == phase else Behaviour(drop="before"))
    reasons: dict[int, str] = {}
    with suppress(ModelServerFailed):
        reasons = run(make_servers(), EIGHT)[1]
    assert reasons == {}
    assert fake.counters.calls < 100


def test_a_server_that_breaks_off_on_every_text_is_to_blame_itself(
    make_servers: MakeServers, fake: FakeEmbeddingServer
) -> None:
    fake.script(lambda _, texts: None if texts == [PROBE_TEXT] else Behaviour(drop="before"))
    with pytest.raises(ModelServerFailed) as caught:
        run(make_servers(), EIGHT)
    assert caught.value.reason == "unreachable"


def test_a_server_that_is_away(make_servers: MakeServers, fake: FakeEmbeddingServer, quick: QuickClock) -> None:
    servers = make_servers()
    fake.stop()
    with pytest.raises(ModelServerFailed) as caught:
        run(servers, EIGHT)
    assert caught.value.reason == "unreachable"
    assert 0 < sum(quick.slept) < 30


def test_a_server_that_comes_back(make_servers: MakeServers, fake: FakeEmbeddingServer) -> None:
    fake.script([Behaviour(drop="before")] * 4)
    assert run(make_servers(), EIGHT)[1] == {}


def test_another_model_stops_at_once(make_servers: MakeServers, fake: FakeEmbeddingServer) -> None:
    fake.script([Behaviour(), Behaviour(model="other")])
    batcher = make_servers(batch_size=4).batcher(profile_of()).embed(EIGHT)
    assert isinstance(next(batcher), BatchResult)
    with pytest.raises(ModelServerFailed) as caught:
        next(batcher)
    assert caught.value.reason == "model"
    assert fake.counters.calls == 2


@pytest.mark.parametrize("behaviour", [{"norm": 5.0}, {"dims": 9}, {"status": 500}, {"body": "{}"}])
def test_when_the_harmless_text_fails_too_no_text_is_blamed(
    make_servers: MakeServers, fake: FakeEmbeddingServer, behaviour: dict[str, Any]
) -> None:
    fake.behave(**behaviour)
    with pytest.raises(ModelServerFailed):
        run(make_servers(), EIGHT)
    assert fake.counters.calls == 2


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_of_us_is_not_halved(make_servers: MakeServers, fake: FakeEmbeddingServer, status: int) -> None:
    fake.behave(status=status)
    with pytest.raises(ModelServerFailed):
        run(make_servers(), EIGHT)
    assert fake.counters.calls == 1


def test_overload_is_waited_out(make_servers: MakeServers, fake: FakeEmbeddingServer, quick: QuickClock) -> None:
    busy = Behaviour(status=429, headers={"Retry-After": "2"})
    fake.script([busy, Behaviour(status=503), busy])
    waited: list[tuple[float, str]] = []
    batcher = make_servers().batcher(profile_of(), lambda seconds, reason: waited.append((seconds, reason)))
    assert len(list(batcher.embed(EIGHT))) == 1
    assert [reason for _, reason in waited] == ["overloaded"] * 3
    assert 2 <= quick.slept[0] <= 2.5
    assert quick.slept == [seconds for seconds, _ in waited]


def test_overload_without_end_is_raised_and_capped(
    make_servers: MakeServers, fake: FakeEmbeddingServer, quick: QuickClock
) -> None:
    fake.behave(status=429, headers={"Retry-After": "99999"})
    with pytest.raises(ModelServerFailed) as caught:
        run(make_servers(), EIGHT)
    assert caught.value.reason == "overloaded"
    assert fake.counters.calls == 6
    assert max(quick.slept) <= 60


def test_a_batch_that_breaks_off_midway_yields_nothing_of_it(
    make_servers: MakeServers, fake: FakeEmbeddingServer
) -> None:
    fake.script([Behaviour(drop="body")])
    vectors, reasons = run(make_servers(), EIGHT)
    assert (len(vectors), reasons) == (8, {})


def test_the_waiter_may_call_it_off(make_servers: MakeServers, fake: FakeEmbeddingServer) -> None:
    def fenced(seconds: float, reason: str) -> None:
        raise KeyboardInterrupt

    fake.behave(status=503)
    with pytest.raises(KeyboardInterrupt):
        list(make_servers().batcher(profile_of(), fenced).embed(EIGHT))
    assert fake.counters.calls == 1


class TestLimit:
    def test_is_about_half_a_second(self) -> None:
        limit = BatchLimit(32)
        limit.worked(32, 6.4)
        assert limit.size == 2  # 0.2 s a text
        limit.worked(1, 60)
        assert limit.size == 1

    def test_grows_slowly_and_not_into_what_was_refused(self) -> None:
        limit = BatchLimit(32)
        limit.refused(16, 8)
        assert limit.size == 8
        for _ in range(8):
            limit.worked(limit.size, 0.001)
        assert limit.size == 9
        for _ in range(100):
            limit.worked(limit.size, 0.001)
        assert limit.size == 15

    def test_forgives_in_the_end(self) -> None:
        limit = BatchLimit(32)
        limit.refused(2, 1)
        for _ in range(600):
            limit.worked(limit.size, 0.001)
        assert limit.size > 16

    def test_small_batches_prove_nothing(self) -> None:
        limit = BatchLimit(32)
        limit.refused(16, 8)
        for _ in range(100):
            limit.worked(1, 0.001)
        assert limit.size == 8
