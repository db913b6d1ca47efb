"""What a model wrote, as plain sentences: nothing in it that a reader or a program could follow, fetch or run. Pure.

A document may have told the model what to write (`known-bugs.md` 82, 83). Addresses stay only where a passage has the
very same one, images and markup never, and what is no prose at all is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

REMOVED = "(\u2026)"
"""What stands where an address stood. No full stop: it would end the sentence."""

_TARGET = r"\(\s*<?((?:[^()\s<>]|\([^()\s<>]*\))*)>?(?:\s[^()]*)?\)"
_IMAGE = re.compile(rf"!\[([^\[\]]*)\](?:{_TARGET}|\[[^\[\]]*\])")
_LINK = re.compile(rf"\[([^\[\]]*)\]{_TARGET}")
_DEFINED = re.compile(r"^ {0,3}\[[^\[\]]+\]:\s*\S.*$", re.MULTILINE)
_TAG = re.compile(
    r"</?(?:a|abbr|area|audio|b|base|body|br|button|canvas|code|details|dialog|div|embed|fieldset|font|form|frame|h[1-6]"
    r"|head|html|i|iframe|image|img|input|li|link|map|marquee|math|meta|noscript|object|ol|option|p|param|picture|pre"
    r"|script|select|slot|source|span|strong|style|svg|table|tbody|td|template|textarea|th|title|tr|track|u|ul|video)"
    r"(?=[\s/>])[^>]*>?|<!--.*?(?:-->|$)|<[!?][^>]*>?",
    re.IGNORECASE | re.DOTALL,
)
_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]{1,20}://[^\s<>\"'`()\[\]]+|(?<![\w:/])//[\w-]+\.[^\s<>\"'`()\[\]]+|\bwww\.[^\s<>\"'`()\[\]]+",
    re.IGNORECASE,
)
_RUNNING = re.compile(r"\b(?:javascript|vbscript|data|blob|file)\s*:[^\s<>\"'`]*[^\s<>\"'`.,;:!?]", re.IGNORECASE)
_OFF_FORM = re.compile(r"\s*(?:```|~~~|\{|\[(?!\s*\d{1,4}\s*[\],;])|<[|\w]*(?:tool|function|invoke))")
_STRESS = re.compile(r"(?<![\w*])(\*{1,3}|_{2})(?=\S)([^*_\n]+?)(?<=\S)\1(?![\w*])")
_BEHIND = ".,;:!?\u2026"


@dataclass(frozen=True)
class Prose:
    """Plain text; ``removed`` counts the addresses, images and tags that were taken out of it."""

    text: str
    removed: int


def is_prose(text: str) -> bool:
    """Whether an answer begins like sentences, and not like JSON, code or a tool call, which nobody asked for."""
    return _OFF_FORM.match(text) is None


def plain_prose(text: str, passages: Sequence[str]) -> Prose:
    """``text`` without images, markup, signs of stress and addresses, save those that a passage has as they are."""
    quoted = "\n".join(passages)
    removed = 0

    def drop(keep: str) -> str:
        nonlocal removed
        removed += 1
        return keep

    def link(found: re.Match[str]) -> str:
        words, address = found.group(1), found.group(2)
        return f"{words} {address}" if _quoted(address, quoted) else drop(words)

    def address(found: re.Match[str]) -> str:
        whole = found.group(0)
        bare = whole.rstrip(_BEHIND)
        return whole if _quoted(bare, quoted) else drop(REMOVED + whole[len(bare) :])

    while _TAG.search(text):  # what is left may make a tag again
        text = _TAG.sub(lambda found: drop(""), text)
    text = _IMAGE.sub(lambda found: drop(found.group(1)), text)
    text = _DEFINED.sub(lambda found: drop(""), text)
    text = _LINK.sub(link, text)
    text = _STRESS.sub(r"\2", _RUNNING.sub(lambda found: drop(REMOVED), text))
    return Prose(_ADDRESS.sub(address, text).strip(), removed)


def _quoted(address: str, quoted: str) -> bool:
    """Whether a passage has this web address, whole: ``https://a.example`` is not in ``https://a.example.evil``."""
    if not re.match(r"https?://|www\.|//", address, re.IGNORECASE):
        return False
    ends = rf"(?=[{re.escape(_BEHIND)}]*(?:[\s<>\"'`()\[\]]|$))"
    return re.search(rf"(?<![^\s<>\"'`()\[\]]){re.escape(address)}{ends}", quoted) is not None
