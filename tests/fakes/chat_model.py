"""A chat model that says what a test wrote down."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.contracts.chat import ChatCompletion, ChatMessage


class FakeChatModel:
    """Answers ``says`` each time, or fails with ``failure``; ``asked`` has every conversation."""

    def __init__(self, says: str = "") -> None:
        self.says = says
        self.failure: Exception | None = None
        self.asked: list[Sequence[ChatMessage]] = []

    def complete(self, messages: Sequence[ChatMessage], *, max_tokens: int, timeout: float) -> ChatCompletion:
        self.asked.append(tuple(messages))
        if self.failure:
            raise self.failure
        return ChatCompletion(self.says, "fake-chat")
