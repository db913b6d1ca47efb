"""Rate limits: who is counted as whom, what the headers say, and what happens when the counter is away."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from apiflask import APIFlask
from pydantic import SecretStr
from redis import Redis
from structlog.testing import capture_logs

from app.container import Container
from app.core.access.models import User
from app.core.config import Config
from app.factory import create_app
from tests.fixtures.clients import Api, Browser, People

Limited = Callable[..., APIFlask]


@pytest.fixture
def limited(config: Config, container: Container, redis_url: str) -> Iterator[Limited]:
    """Makes the application with the given budgets, on the real counter."""
    counter = Redis.from_url(redis_url)

    def forget() -> None:
        for key in counter.keys("limit:*"):
            counter.delete(key)

    def make(usual: int = 3, costly: int = 2, anonymous: int = 2) -> APIFlask:
        values = {
            "redis_url": redis_url,
            "changeover_rate_limit": usual,
            "changeover_rate_limit_costly": costly,
            "changeover_rate_limit_anonymous": anonymous,
        }
        return create_app(config.model_copy(update=values), container)

    forget()
    yield make
    forget()
    counter.close()


def test_what_is_beyond_the_budget_is_refused_and_told_when_to_come_back(limited: Limited, api: Api) -> None:
    app = limited(usual=3)
    client = app.test_client(use_cookies=False)
    told = []
    for _ in range(3):
        answer = client.get("/api/v1/settings", headers=api.headers)
        assert answer.status_code == 200
        assert answer.headers["RateLimit-Policy"] == '"default";q=3;w=60'
        found = re.fullmatch(r'"default";r=(\d+);t=(\d+)', answer.headers["RateLimit"])
        assert found is not None
        assert 1 <= int(found[2]) <= 60
        told.append(int(found[1]))
    assert told == [2, 1, 0]
    refused = client.get("/api/v1/settings", headers=api.headers)
    assert refused.status_code == 429
    assert (refused.json or {})["code"] == "access.too_many_requests"
    assert refused.headers["RateLimit"].startswith('"default";r=0;t=')
    assert 1 <= int(refused.headers["Retry-After"]) <= 61


def test_each_person_has_a_budget_of_their_own(limited: Limited, people: People, admin: User) -> None:
    app = limited(usual=1)
    other = people.user("olga", "reader")
    assert Browser(app).login_as(admin).get("/records").status_code == 303
    assert Browser(app).login_as(admin).get("/records").status_code == 429
    assert Browser(app).login_as(other).get("/records").status_code == 303


def test_searching_has_a_smaller_budget(limited: Limited, api: Api) -> None:
    app = limited(usual=5, costly=1)
    client = app.test_client(use_cookies=False)
    assert client.get("/api/v1/search?q=vpn", headers=api.headers).status_code == 200
    refused = client.get("/api/v1/search?q=vpn", headers=api.headers)
    assert refused.status_code == 429
    assert refused.headers["RateLimit-Policy"] == '"costly";q=1;w=60'
    assert client.get("/api/v1/settings", headers=api.headers).status_code == 200


def test_wrong_tokens_count_for_their_address(limited: Limited, database: str) -> None:
    client = limited(anonymous=2).test_client(use_cookies=False)

    def ask(address: str) -> int:
        headers = {"Authorization": f"Bearer chg_{uuid4().hex}"}
        return client.get("/api/v1/settings", headers=headers, environ_base={"REMOTE_ADDR": address}).status_code

    assert [ask("192.0.2.1") for _ in range(4)] == [401, 401, 429, 429]
    assert ask("192.0.2.2") == 401


def test_health_and_static_files_are_not_counted(limited: Limited, database: str) -> None:
    client = limited(anonymous=1).test_client()
    for _ in range(3):
        for path in ("/healthz", "/static/css/tokens.css"):
            answer = client.get(path)
            assert answer.status_code == 200
            assert "RateLimit" not in answer.headers


def test_no_limit_is_no_limit_and_says_nothing(limited: Limited, api: Api) -> None:
    client = limited(usual=0).test_client(use_cookies=False)
    for _ in range(4):
        answer = client.get("/api/v1/settings", headers=api.headers)
        assert answer.status_code == 200
        assert "RateLimit" not in answer.headers


def test_a_counter_that_is_away_lets_through_and_is_left_alone_for_a_while(
    config: Config, container: Container, api: Api
) -> None:
    """The configuration of the tests names a port where nobody listens."""
    values = {"changeover_rate_limit": 1, "secret_key": SecretStr("a secret key of the tests only")}
    client = create_app(config.model_copy(update=values), container).test_client(use_cookies=False)
    with capture_logs() as logs:
        for _ in range(3):
            answer = client.get("/api/v1/settings", headers=api.headers)
            assert answer.status_code == 200
            assert "RateLimit" not in answer.headers
    assert [entry["event"] for entry in logs].count("rate_limits_away") == 1
