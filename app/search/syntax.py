"""What a question demands, beside its free words: "phrases", +required, -excluded (`seed-facts.md` 5.2). Pure.

An operator stands at the beginning of a word. Whatever is not well formed (a quote left open, a lone +, an option
such as -v, a number with its sign) is free text, so that no question is refused for its marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Role = Literal["free", "phrase", "required", "excluded"]

_PART = re.compile(
    r"""(?<!\S)(?:
        (?P<sign>[+-]?)"(?P<quoted>(?:[^"\\]|\\.)*)"(?=[\s.,;:!?)]|$)
        | \+(?P<required>(?=\S*[^\W\d_])\S+)
        | -(?P<excluded>[^\W\d_][^\s-]\S+)
    )""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Part:
    """A stretch of a question, without the marks that gave it its role."""

    role: Role
    text: str
    quoted: bool = False


def parts(text: str) -> Iterator[Part]:
    """The stretches of a question in their order."""
    at = 0
    for match in _PART.finditer(text):
        if match.start() > at:
            yield Part("free", _literal(text[at : match.start()]))
        at = match.end()
        yield _demand(match)
    if at < len(text):
        yield Part("free", _literal(text[at:]))


def _demand(match: re.Match[str]) -> Part:
    quoted, required, excluded = match["quoted"], match["required"], match["excluded"]
    if quoted is None:
        return Part("required", _literal(required)) if required is not None else Part("excluded", _literal(excluded))
    said = _literal(quoted)
    if not any(character.isalnum() for character in said):
        return Part("free", said)
    return Part("excluded" if match["sign"] == "-" else "phrase", said, quoted=True)


def _literal(text: str) -> str:
    return text.replace('\\"', '"')
