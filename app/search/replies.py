"""What a language model said about a question, read strictly: one JSON object or nothing. Remembered for a while.

A reply is untrusted: it names words and numbers, each is clamped or dropped, and none of it is ever executed.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from app.core.clock import Clock
from app.core.contracts.chat import ChatMessage, ChatModel
from app.core.errors import Unavailable

REMEMBERED_SECONDS = 600.0
"""`seed-facts.md` 4.8."""
REMEMBERED = 1024
TOKENS = 400
QUESTION_SHOWN = 1_000
"""Characters of a question that a model is asked about; what follows in a longer one changes no plan."""


class Replies:
    """Asks a model the same thing about a question once in ten minutes. Safe for threads."""

    def __init__(self, chat: ChatModel, clock: Clock, task: str, unreadable: str) -> None:
        self._chat = chat
        self._clock = clock
        self._task = task
        self._unreadable = unreadable
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, Mapping[str, Any]]] = OrderedDict()

    def about(self, question: str, timeout: float) -> Mapping[str, Any]:
        """The object that the model wrote. Raises :class:`Unavailable`, also for a reply that is none."""
        asked = question[:QUESTION_SHOWN]
        known = self._known(asked)
        if known is not None:
            return known
        messages = (ChatMessage("system", self._task), ChatMessage("user", json.dumps({"question": asked})))
        reply = self._chat.complete(messages, max_tokens=TOKENS, timeout=timeout)
        found = self._read(reply.text)
        with self._lock:
            self._kept[asked] = (self._clock.monotonic() + REMEMBERED_SECONDS, found)
            while len(self._kept) > REMEMBERED:
                self._kept.popitem(last=False)
        return found

    def refused(self, question: str) -> Unavailable:
        """Forget a reply that turned out to be unusable, and the error to raise."""
        with self._lock:
            self._kept.pop(question[:QUESTION_SHOWN], None)
        return Unavailable(self._unreadable)

    def _known(self, asked: str) -> Mapping[str, Any] | None:
        with self._lock:
            until, found = self._kept.get(asked, (0.0, None))
            return found if self._clock.monotonic() < until else None

    def _read(self, text: str) -> Mapping[str, Any]:
        """The first object in a reply; models like to put a fence or a sentence around it."""
        start, end = text.find("{"), text.rfind("}")
        try:
            found = json.loads(text[start : end + 1])
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise Unavailable(self._unreadable)
        return found
