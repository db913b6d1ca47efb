"""The canary: every call says by itself whether it was answered by the model that the texts are for (ADR 0010)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from app.core.errors import ModelServerFailed
from app.embeddings.batches import Batcher, BatchResult, TextFailure
from app.embeddings.client import ModelServers
from app.embeddings.identity import PROBE_TEXT
from app.embeddings.limits import BatchLimit
from tests.fakes.embedding_server import Behaviour, FakeEmbeddingServer
from tests.unit.embeddings.conftest import MakeServers, QuickClock, profile_of

EIGHT = [f"text {number}" for number in range(8)]


@pytest.fixture
def clock() -> QuickClock:
    return QuickClock()


def guarded(servers: ModelServers, fake: FakeEmbeddingServer, clock: QuickClock) -> Batcher:
    profile = profile_of()
    return Batcher(servers.client(profile), servers.limit(profile), clock, canary=fake.vector(PROBE_TEXT))


def right(fake: FakeEmbeddingServer, outcomes: Sequence[BatchResult | TextFailure]) -> list[int]:
    """The indexes of what was yielded, each with its own text's vector."""
    found = []
    for outcome in outcomes:
        assert isinstance(outcome, BatchResult)
        for index, vector in zip(outcome.indexes, outcome.vectors, strict=True):
            np.testing.assert_allclose(vector, fake.vector(EIGHT[index]), rtol=1e-6)
            found.append(index)
    return sorted(found)


def test_every_call_carries_it_last_and_stays_within_the_size(
    make_servers: MakeServers, fake: FakeEmbeddingServer, clock: QuickClock
) -> None:
    batcher = guarded(make_servers(batch_size=3), fake, clock)
    assert right(fake, list(batcher.embed(EIGHT))) == list(range(8))
    sizes = [len(body["input"]) for body in fake.counters.bodies]
    assert sizes == [3, 3, 3, 3]
    assert all(body["input"][-1] == PROBE_TEXT for body in fake.counters.bodies)


def test_a_change_and_back_between_two_right_calls_is_seen(
    make_servers: MakeServers, fake: FakeEmbeddingServer, clock: QuickClock
) -> None:
    fake.script([Behaviour(), Behaviour(noise=0.5), Behaviour()])
    outcomes: list[BatchResult | TextFailure] = []
    with pytest.raises(ModelServerFailed) as caught:
        outcomes.extend(guarded(make_servers(batch_size=3), fake, clock).embed(EIGHT))
    assert caught.value.reason == "model"
    assert right(fake, outcomes) == [0, 1], "what was vouched for before stays"
    assert fake.counters.calls == 2, "what nobody vouches for is not asked again"


def test_it_is_compared_in_every_part_of_a_halved_batch(
    make_servers: MakeServers, fake: FakeEmbeddingServer, clock: QuickClock
) -> None:
    fake.behave(info=False)
    fake.script([Behaviour(status=413), Behaviour(noise=0.5)])
    with pytest.raises(ModelServerFailed) as caught:
        list(guarded(make_servers(), fake, clock).embed(EIGHT))
    assert caught.value.reason == "model"


@pytest.mark.parametrize("declared", [True, False], ids=["configured", "found_out"])
def test_a_server_of_one_text_a_call_is_asked_before_and_after(
    make_servers: MakeServers, fake: FakeEmbeddingServer, clock: QuickClock, declared: bool
) -> None:
    fake.behave(max_batch=1, info=False)
    batcher = guarded(make_servers(batch_size=1) if declared else make_servers(), fake, clock)
    assert right(fake, list(batcher.embed(EIGHT))) == list(range(8))
    answered = [body["input"] for body in fake.counters.bodies if len(body["input"]) == 1]
    for place, texts in enumerate(answered):
        if texts != [PROBE_TEXT]:
            assert answered[place - 1] == answered[place + 1] == [PROBE_TEXT]
    assert all(fake.counters.embedded[text] == 1 for text in EIGHT)


def test_a_bad_text_is_still_found(make_servers: MakeServers, fake: FakeEmbeddingServer, clock: QuickClock) -> None:
    fake.behave(poison="text 5", poison_status=500)
    outcomes = list(guarded(make_servers(), fake, clock).embed(EIGHT))
    failed = [outcome for outcome in outcomes if isinstance(outcome, TextFailure)]
    assert failed == [TextFailure(5, "status")]
    assert right(fake, [outcome for outcome in outcomes if outcome not in failed]) == [0, 1, 2, 3, 4, 6, 7]


def test_it_counts_where_the_server_counts_and_not_against_its_time() -> None:
    limit = BatchLimit(32)
    assert (limit.size, limit.beside(1)) == (32, 31)
    limit.worked(10, 1.0)
    assert (limit.size, limit.beside(1)) == (5, 5)
    assert BatchLimit(1).beside(1) == 1


def test_only_a_quick_server_is_given_a_second_batch_to_wait() -> None:
    limit = BatchLimit(32)
    assert not limit.quick, "nothing is known of it"
    limit.worked(32, 0.032)
    assert limit.quick
    slow = BatchLimit(32)
    slow.worked(12, 0.5)
    assert not slow.quick


def test_whether_two_texts_may_go_together() -> None:
    limit = BatchLimit(8)
    assert limit.takes_two
    limit.refused(2, 1)
    assert not limit.takes_two
    assert not BatchLimit(1).takes_two
