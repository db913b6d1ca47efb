"""A text becomes passages that know where they stand in it: which splitter, how large, on which page. Pure.

What is searched is the plain text; a passage is a span of it. So the words leg, the vectors and what a person is shown
all speak of the same passages. The embedder gets the spans with the document (`core/contracts/documents.py`), and
cuts a span further only if the serving model's window is smaller than the one that was planned for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from app.core.documents.text import LIMIT, clean_text
from app.core.errors import Invalid
from app.documentation.markdown import to_plain
from app.documentation.ports import PassageText
from app.documentation.splitter import MAX_WORDS, Section, split_at, split_markdown, split_sentences

Driver = Literal["markdown_aware", "sentence", "delimiter"]
DRIVERS: tuple[Driver, ...] = get_args(Driver)
EDITION = 3
"""Part of every signature: raise it when the same settings cut otherwise, so that all texts are cut again."""
DEFAULT_WINDOW = 512
"""Tokens of a passage where no model serves yet."""
FEWEST_WORDS, MOST_WORDS = 8, 2_000
MARKUP = 3
"""A file so many times longer than what is searchable is not cut to find that out."""


@dataclass(frozen=True)
class Splitter:
    """How texts are cut. ``window`` is the embedding profile's, in tokens; a quarter of it is left to the headings.

    Raises :class:`Invalid` (``documentation.splitter``) for values that cut nothing.
    """

    driver: Driver = "markdown_aware"
    max_words: int = MAX_WORDS
    delimiter: str = ""
    window: int = DEFAULT_WINDOW

    def __post_init__(self) -> None:
        if self.driver not in DRIVERS:
            raise _refused("splitter", ", ".join(DRIVERS))
        if not FEWEST_WORDS <= self.max_words <= MOST_WORDS:
            raise _refused("max_words", f"from {FEWEST_WORDS} to {MOST_WORDS}")
        if (self.driver == "delimiter") != bool(self.delimiter.strip()):
            raise _refused("delimiter", "a text that is not blank for the splitter delimiter, and none for the others")

    @property
    def max_tokens(self) -> int:
        return max(16, self.window * 3 // 4 - 8)

    @property
    def signature(self) -> str:
        """What a text was cut by; a stored text of another signature is out of date."""
        return f"{EDITION}:{self.driver}:{self.max_words}:{self.max_tokens}:{self.delimiter!r}"

    def sections(self, body: str, title: str) -> list[Section]:
        """The passages of one run of Markdown."""
        if self.driver == "delimiter":
            return split_at(self.delimiter, body, title, self.max_words, self.max_tokens)
        cut = split_sentences if self.driver == "sentence" else split_markdown
        return cut(body, title, self.max_words, self.max_tokens)


@dataclass(frozen=True)
class Piece:
    """A run of Markdown that stands on one ``page`` (from 1) of its file; None where files have no pages."""

    text: str
    page: int | None = None


def cut(title: str, pieces: Sequence[Piece], splitter: Splitter) -> tuple[str, tuple[PassageText, ...]]:
    """(the plain text, its passages). Raises :class:`Invalid` (``documentation.too_much_text``).

    A text without a passage (headings only) is searchable all the same.
    """
    if sum(len(piece.text) for piece in pieces) > MARKUP * LIMIT:
        raise Invalid("documentation.too_much_text", limit=LIMIT)
    sections = [
        replace(section, page=piece.page) for piece in pieces for section in splitter.sections(piece.text, title)
    ]
    plain, found = placed(title, sections)
    if not found:
        plain = clean_text("\n\n".join(to_plain(piece.text, title) for piece in pieces), LIMIT + 1)
    if len(plain) > LIMIT:
        raise Invalid("documentation.too_much_text", limit=LIMIT)
    return plain, found


def placed(title: str, sections: Sequence[Section]) -> tuple[str, tuple[PassageText, ...]]:
    """(the plain text that the sections make, where in it each stands). Headings are told where they begin."""
    plain: list[str] = []
    found: list[PassageText] = []
    at, above = 0, tuple[str, ...]()
    for section in sections:
        new = section.breadcrumb[_common(above, section.breadcrumb) :]
        words = clean_text("\n\n".join((*new, to_plain(section.text, "" if found else title))), LIMIT + 1)
        above = section.breadcrumb
        if not words:
            continue
        at += 2 if plain else 0
        found.append(PassageText(len(found), section.breadcrumb, section.text, at, at + len(words), section.page))
        plain.append(words)
        at += len(words)
    return "\n\n".join(plain), tuple(found)


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """How many headings both begin with."""
    return next((n for n, (one, other) in enumerate(zip(first, second, strict=False)) if one != other),
                min(len(first), len(second)))  # fmt: skip


def _refused(field: str, expected: str) -> Invalid:
    return Invalid("documentation.splitter", path=field, field=field, expected=expected)
