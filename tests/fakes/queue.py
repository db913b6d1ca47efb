"""A job queue that keeps what it was sent."""

from __future__ import annotations

from app.core.queue import Wake


class RecordingQueue:
    """The :class:`~app.core.queue.JobQueue` in memory. ``away`` makes it answer like one that can't be reached."""

    def __init__(self) -> None:
        self.sent: list[Wake] = []
        self.away = False

    def send(self, wake: Wake) -> bool:
        if self.away:
            return False
        self.sent.append(wake)
        return True

    def waiting(self, queue: str) -> int | None:
        return None if self.away else sum(wake.queue == queue for wake in self.sent)

    def alive(self) -> bool:
        return not self.away

    def jobs(self, queue: str | None = None) -> list[str]:
        """The names of the jobs that were sent, in order; of one queue when it is given."""
        return [wake.job for wake in self.sent if queue in (None, wake.queue)]
