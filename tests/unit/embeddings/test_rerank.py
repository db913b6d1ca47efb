"""The cross-encoder's client against a server that misbehaves: a score on the wrong text never passes."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from app.core.config import RerankSettings, ServerSettings
from app.core.errors import ModelServerFailed
from app.embeddings.client import ModelServers
from app.embeddings.profiles import Profiles
from app.embeddings.rerank import LONGEST_TEXT, CrossEncoder
from tests.fakes.rerank_server import FakeRerankServer, overlap
from tests.unit.embeddings.conftest import QuickClock, profile_of

QUESTION = "paper for the printer"
TEXTS = ["paper for a printer", "holidays", "the printer", "paper for the printer", "printer"]
RIGHT = [overlap(QUESTION, text) for text in TEXTS]

Make = Callable[..., ModelServers]


@pytest.fixture
def fake() -> Iterator[FakeRerankServer]:
    with FakeRerankServer() as server:
        yield server


@pytest.fixture
def make(fake: FakeRerankServer, quick: QuickClock) -> Iterator[Make]:
    """`ModelServers` with the fake as its cross-encoder; keywords go to its `ServerSettings`."""
    made: list[ModelServers] = []

    def servers(api: str = "tei", model: str | None = None, **settings: object) -> ModelServers:
        server = ServerSettings.model_validate({"url": fake.url, "timeout": 2.0, **settings})
        profile = profile_of()
        rerank = RerankSettings.model_validate({"server": server, "api": api, "model": model})
        made.append(ModelServers(Profiles({profile.key: profile}, {}), {}, quick, rerank))
        return made[-1]

    yield servers
    for one in made:
        one.close()


def reranker(make: Make, **settings: Any) -> CrossEncoder:
    found = make(**settings).reranker()
    assert found is not None
    return found


APIS: list[dict[str, Any]] = [{"api": "tei"}, {"api": "cohere", "model": "a/reranker"}]


@pytest.mark.parametrize("settings", APIS, ids=["tei", "cohere"])
@pytest.mark.parametrize("order", ["straight", "reversed"])
def test_scores_stand_beside_their_texts(
    make: Make, fake: FakeRerankServer, settings: dict[str, Any], order: str
) -> None:
    fake.behave(order=order)
    assert reranker(make, **settings, key="s3cret").scores(QUESTION, TEXTS, 2.0) == pytest.approx(RIGHT)
    (request_id,) = fake.request_ids
    assert len(request_id) == 32
    assert int(request_id, 16) >= 0
    assert fake.keys == ["Bearer s3cret"]


def test_what_each_api_is_sent(make: Make, fake: FakeRerankServer) -> None:
    for settings in APIS:
        reranker(make, **settings).scores(QUESTION, TEXTS[:2], 2.0)
    assert fake.paths == ["/rerank", "/v1/rerank"]
    assert fake.bodies == [
        {"query": QUESTION, "texts": TEXTS[:2], "truncate": True},
        {"model": "a/reranker", "query": QUESTION, "documents": TEXTS[:2], "top_n": 2},
    ]


@pytest.mark.parametrize("settings", APIS, ids=["tei", "cohere"])
@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ({"missing": 1}, "score_count"),
        ({"extra": 1}, "score_count"),
        ({"indexes": [0, 1, 2, 3, 3]}, "index"),
        ({"indexes": [0, 1, 2, 3, 5]}, "index"),
        ({"indexes": [0, 1, 2, 3, -1]}, "index"),
        ({"indexes": [0, 1, 2, 3, None]}, "index"),
        ({"indexes": [0, 1, 2, 3, "4"]}, "index"),
        ({"indexes": [0, True, 2, 3, 4]}, "index"),
        ({"scores": [0.1, 0.2, math.nan, 0.4, 0.5]}, "score"),
        ({"scores": [0.1, 0.2, math.inf, 0.4, 0.5]}, "score"),
        ({"scores": [0.1, 0.2, None, 0.4, 0.5]}, "score"),
        ({"scores": [0.1, 0.2, "0.3", 0.4, 0.5]}, "score"),
        ({"scores": [0.1, 0.2, True, 0.4, 0.5]}, "score"),
        ({"names": ("other", "other")}, "score"),
        ({"body": "<html>"}, "malformed"),
        ({"body": "{}"}, "malformed"),
        ({"body": "[1, 2, 3, 4, 5]"}, None),
        ({"body": '{"results": [1, 2, 3, 4, 5]}'}, "malformed"),
        ({"status": 413}, "too_large"),
        ({"status": 429}, "overloaded"),
        ({"status": 500}, "status"),
        ({"status": 401}, "status"),
    ],
)
def test_each_failure_has_its_reason(
    make: Make, fake: FakeRerankServer, settings: dict[str, Any], behaviour: dict[str, Any], reason: str | None
) -> None:
    fake.behave(**behaviour)
    with pytest.raises(ModelServerFailed) as caught:
        reranker(make, **settings).scores(QUESTION, TEXTS, 2.0)
    assert caught.value.reason == (reason or "malformed")
    assert caught.value.server == "rerank"
    assert caught.value.request_id in fake.request_ids


def test_more_texts_than_the_configured_batch(make: Make, fake: FakeRerankServer) -> None:
    assert reranker(make, batch_size=2).scores(QUESTION, TEXTS, 2.0) == pytest.approx(RIGHT)
    assert fake.batches == [TEXTS[:2], TEXTS[2:4], TEXTS[4:]]
    assert len(set(fake.request_ids)) == 3


def test_the_server_says_its_limit(make: Make, fake: FakeRerankServer) -> None:
    fake.behave(info_batch=3, max_batch=3)
    servers = make()
    for _ in range(2):
        found = servers.reranker()
        assert found is not None
        assert found.scores(QUESTION, TEXTS, 2.0) == pytest.approx(RIGHT)
    assert [len(batch) for batch in fake.batches] == [3, 2, 3, 2]
    assert fake.info_calls == 1


@pytest.mark.parametrize("status", [413, 422])
def test_a_server_with_a_limit_that_it_does_not_say(make: Make, fake: FakeRerankServer, status: int) -> None:
    """`known-bugs.md` 53: five hits, and a server that takes two."""
    fake.behave(max_batch=2, too_many_status=status, info_status=404)
    servers = make()
    first = servers.reranker()
    assert first is not None
    assert first.scores(QUESTION, TEXTS, 2.0) == pytest.approx(RIGHT)
    asked = len(fake.batches)
    again = servers.reranker()
    assert again is not None
    again.scores(QUESTION, TEXTS, 2.0)
    assert [len(batch) for batch in fake.batches[asked:]] == [2, 2, 1]  # it was remembered


def test_a_server_that_takes_nothing(make: Make, fake: FakeRerankServer) -> None:
    fake.behave(max_batch=0)
    with pytest.raises(ModelServerFailed) as caught:
        reranker(make).scores(QUESTION, TEXTS, 2.0)
    assert caught.value.reason == "too_large"


def test_the_time_is_for_all_calls_together(make: Make, fake: FakeRerankServer) -> None:
    """Each answer alone would come within the time."""
    fake.behave(delay=0.2)
    with pytest.raises(ModelServerFailed) as caught:
        reranker(make, batch_size=1).scores(QUESTION, TEXTS, 0.5)
    assert caught.value.reason == "timeout"
    assert len(fake.batches) < len(TEXTS)


def test_a_server_that_is_not_there(make: Make, fake: FakeRerankServer) -> None:
    found = reranker(make)
    fake.stop()
    with pytest.raises(ModelServerFailed) as caught:
        found.scores(QUESTION, TEXTS, 2.0)
    assert caught.value.reason == "unreachable"


def test_logits_come_to_the_unit_interval_in_their_order(make: Make, fake: FakeRerankServer) -> None:
    fake.behave(scores=[-11.0, 0.5, 7.5, -900.0, 900.0])
    found = reranker(make).scores(QUESTION, TEXTS, 2.0)
    assert found == pytest.approx([1 / (1 + math.exp(11)), 0.622459, 0.999447, 0.0, 1.0], abs=1e-6)


def test_no_texts_are_no_call(make: Make, fake: FakeRerankServer) -> None:
    assert reranker(make).scores(QUESTION, [], 2.0) == []
    assert not fake.batches


def test_a_long_text_is_cut(make: Make, fake: FakeRerankServer) -> None:
    reranker(make).scores(QUESTION, ["x" * (LONGEST_TEXT + 5)], 2.0)
    assert [len(text) for text in fake.batches[0]] == [LONGEST_TEXT]


def test_another_model_is_refused(make: Make, fake: FakeRerankServer) -> None:
    fake.behave(model="other-reranker")
    with pytest.raises(ModelServerFailed) as caught:
        reranker(make, api="cohere", model="a/reranker").scores(QUESTION, TEXTS, 2.0)
    assert caught.value.reason == "model"


def test_nothing_of_the_question_is_logged(
    make: Make, fake: FakeRerankServer, caplog: pytest.LogCaptureFixture
) -> None:
    fake.behave(status=400, error="this text: " + TEXTS[0])
    with caplog.at_level(logging.DEBUG), capture_logs() as events, pytest.raises(ModelServerFailed) as caught:
        reranker(make, key="s3cret").scores(QUESTION, TEXTS, 2.0)
    told = caplog.text + str(events) + str(caught.value) + str(caught.value.values)
    assert not any(word in told for word in ("printer", "holidays", "s3cret"))
    assert any(event["event"] == "model_server.call_failed" for event in events)


def test_without_an_address_there_is_none() -> None:
    profile = profile_of()
    assert ModelServers(Profiles({profile.key: profile}, {}), {}, QuickClock()).reranker() is None


def test_the_check_asks_two_pairs(make: Make, fake: FakeRerankServer) -> None:
    fake.behave(info_model="a/reranker", info_batch=16)
    check = make(model="reranker").check_reranker()
    assert check is not None
    assert check.problem is None
    assert (check.info_model, check.max_batch, check.batch_too_large) == ("a/reranker", 16, True)
    assert check.scores is not None
    assert check.scores[0] > check.scores[1]


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        ({"scores": [0.2, 0.9]}, "rerank.wrong_way"),
        ({"scores": [0.5, 0.5]}, "rerank.wrong_way"),
        ({"info_model": "b/other"}, "rerank.other_model"),
        ({"status": 500}, "server.status"),
        ({"missing": 1}, "server.score_count"),
    ],
)
def test_the_check_names_what_is_wrong(
    make: Make, fake: FakeRerankServer, behaviour: dict[str, Any], code: str
) -> None:
    fake.behave(**behaviour)
    check = make(model="a/reranker").check_reranker()
    assert check is not None
    assert check.problem is not None
    assert check.problem.code == code


def test_a_key_does_not_show_in_the_settings() -> None:
    settings = ServerSettings(url="http://h", key=SecretStr("s3cret"))
    assert "s3cret" not in repr(RerankSettings(server=settings, api="tei"))
