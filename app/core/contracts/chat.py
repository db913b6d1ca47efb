"""A model that writes an answer. Called by `documentation`; absence (None) means the passages alone answer.

Whatever is quoted in a message is untrusted: the caller frames it, checks what comes back, and never executes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class ChatMessage:
    """One message of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True)
class ChatCompletion:
    """What the model wrote, whole; ``model`` is the name it answers by."""

    text: str
    model: str


class ChatModel(Protocol):
    """Answers a conversation; stateless, safe for threads."""

    def complete(self, messages: Sequence[ChatMessage], *, max_tokens: int, timeout: float) -> ChatCompletion:
        """The model's next message, no transaction open meanwhile.

        Raises :class:`app.core.errors.Unavailable` when no model answers within ``timeout`` seconds.
        """
        ...
