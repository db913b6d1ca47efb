"""How much one actor may ask of the console in a minute, with honest headers.

A token, else the person, else (nobody is signed in, or the token is no good) the address counts. Requests that cost
much (`@costly`: search, export, summarize) have a smaller budget of their own. A budget is a fixed window that starts
with its first request; count and window live in Valkey, in one script.

When Valkey is away requests are let through without headers: it holds wake-ups only (`product.md`, decision 2), and a
console that stops because its counter does would be the worse failure. It is asked again after some seconds.

Each counted answer carries ``RateLimit-Policy`` and ``RateLimit`` (draft-ietf-httpapi-ratelimit-headers-10), a refusal
also ``Retry-After``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast

import structlog
from flask import Flask, Response, current_app, g, request
from redis import Redis
from redis.exceptions import RedisError

from app.core.clock import Clock
from app.core.config import Config
from app.core.contracts.actor import ANONYMOUS, Actor
from app.core.errors import TooManyRequests, Unauthenticated
from app.edge.context import actor

log = structlog.get_logger(__name__)

View = TypeVar("View", bound=Callable[..., object])

WINDOW = 60
"""Seconds."""
PAUSE = 5.0
"""Seconds in which a counter that did not answer is not asked again."""
PATIENCE = 0.25
"""Seconds that the counter may take."""
NOT_COUNTED = frozenset({"static", "health.alive", "health.ready"})

COUNT = """
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return {count, redis.call('TTL', KEYS[1])}
"""


@dataclass(frozen=True)
class Budget:
    """``limit`` requests per window; 0 is no limit."""

    name: str
    limit: int


@dataclass(frozen=True)
class Spent:
    """What is left of a budget, and the seconds until it is whole again."""

    budget: Budget
    remaining: int
    reset: int
    exceeded: bool


def costly(view: View) -> View:
    """Mark a view that has the smaller budget."""
    view.is_costly = True  # type: ignore[attr-defined]
    return view


class Limits:
    """Counts requests in Valkey."""

    def __init__(self, config: Config, clock: Clock) -> None:
        self.clock = clock
        self.usual = Budget("default", config.changeover_rate_limit)
        self.costly = Budget("costly", config.changeover_rate_limit_costly)
        self.anonymous = Budget("anonymous", config.changeover_rate_limit_anonymous)
        self._count = Redis.from_url(
            config.redis_url, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE
        ).register_script(COUNT)
        self._away_until = float("-inf")

    def spend(self, who: Actor, address: str, is_costly: bool) -> Spent | None:
        """Count one request; None when nothing is counted: no limit, or the counter is away."""
        if not who.signed_in:
            budget, subject = self.anonymous, f"address:{address}"
        else:
            budget = self.costly if is_costly else self.usual
            subject = f"user:{who.id}" if who.token_id is None else f"token:{who.token_id}"
        counted = self._counted(f"limit:{budget.name}:{subject}") if budget.limit else None
        if counted is None:
            return None
        count, seconds = counted
        return Spent(budget, max(0, budget.limit - count), max(1, seconds), count > budget.limit)

    def _counted(self, key: str) -> tuple[int, int] | None:
        if self.clock.monotonic() < self._away_until:
            return None
        try:
            count, seconds = self._count(keys=[key], args=[WINDOW])
        except (RedisError, OSError) as error:
            self._away_until = self.clock.monotonic() + PAUSE
            log.warning("rate_limits_away", error=type(error).__name__)
            return None
        return int(count), int(seconds)


def init(app: Flask, config: Config, clock: Clock) -> None:
    """Count before anything else is done for a request, also before a wrong token is refused."""
    limits = Limits(config, clock)

    def count() -> None:
        if request.endpoint is None or request.endpoint in NOT_COUNTED:
            return
        view = current_app.view_functions.get(request.endpoint)
        spent = limits.spend(_who(), request.remote_addr or "", getattr(view, "is_costly", False))
        g.spent = spent
        if spent is not None and spent.exceeded:
            raise TooManyRequests("access.too_many_requests", retry_after=spent.reset)

    app.before_request(count)
    app.after_request(_say)


def _who() -> Actor:
    try:
        return actor()
    except Unauthenticated:  # said by `context`, which asks again; here it is nobody
        return ANONYMOUS


def _say(response: Response) -> Response:
    spent = cast("Spent | None", g.get("spent"))
    if spent is not None:
        budget = spent.budget
        response.headers["RateLimit-Policy"] = f'"{budget.name}";q={budget.limit};w={WINDOW}'
        response.headers["RateLimit"] = f'"{budget.name}";r={spent.remaining};t={spent.reset}'
    return response
