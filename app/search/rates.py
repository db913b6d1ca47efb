"""How many deep searches one person may ask for in a minute (`seed-facts.md` 4.3); counted in Valkey.

When the counter is away deep searches are let through, as requests are (`edge/limits.py`): it is no reason to refuse.
"""

from __future__ import annotations

import structlog
from redis import Redis
from redis.exceptions import RedisError

from app.core.clock import Clock
from app.core.contracts.actor import Actor

WINDOW = 60
"""Seconds."""
PATIENCE = 0.25
PAUSE = 5.0
"""Seconds in which a counter that did not answer is not asked again."""

COUNT = """
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return count
"""

log = structlog.get_logger(__name__)


class DeepRate:
    """Counts the deep searches of each person."""

    def __init__(self, redis_url: str, clock: Clock) -> None:
        self.clock = clock
        self._count = Redis.from_url(
            redis_url, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE
        ).register_script(COUNT)
        self._away_until = float("-inf")

    def allowed(self, who: Actor, limit: int) -> bool:
        """Count one, and whether it is within ``limit`` for the minute that began with the first."""
        if self.clock.monotonic() < self._away_until:
            return True
        try:
            return int(self._count(keys=[f"search:deep:{who.id}"], args=[WINDOW])) <= limit
        except (RedisError, OSError) as error:
            self._away_until = self.clock.monotonic() + PAUSE
            log.warning("search.deep_counter_away", error=type(error).__name__)
            return True
