"""What a question is made of: words, identifiers, and runs of scripts without spaces (`seed-facts.md` 5.1).

The same cutting is done to the indexed text and to the question, before any engine's parser sees either: everything
that is no letter or digit separates words, so that `node.js`, `dell'energia` and `state-of-the-art` are found by their
parts, and identifiers are kept whole in a column of their own (`postgres.md`, "The parser"). Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from app.core.documents.text import clean_text

QUESTION_LIMIT = 4_000
"""Characters of a question; a longer one is refused."""
TERMS_LIMIT = 64
"""Distinct words of a question that are looked for; the rest of a very long one adds time and no meaning."""
WORD_LIMIT = 255
IDENTIFIERS_LIMIT = 2_000

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
_PIECES = re.compile(rf"[{_CJK}]+|(?:(?![{_CJK}])[^\W_])+")
_IS_CJK = re.compile(rf"[{_CJK}]")
_HYPHENS = re.compile("[\u2010\u2011\u2012\u2013\u2212]")
_EMAIL = re.compile(r"[^\s@,;:<>()\[\]\"']+@[^\s@,;:<>()\[\]\"']+\.[^\W\d_]{2,}")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_CODE = re.compile(r"[^\W_]+(?:[-_/.][^\W_]+)*")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s|°|ª|º)")
_TRIMMED = " \t\n.,;:!?¿¡\"'`´’‘“”«»()[]{}<>…"

Kind = Literal["email", "uuid", "numeric", "structured_identifier", "word"]


@dataclass(frozen=True)
class Token:
    """One white-space separated piece of a question, lower-cased and without the punctuation around it."""

    text: str
    kind: Kind

    @property
    def identifies(self) -> bool:
        """Matched whole and exactly, and never fuzzed."""
        return self.kind in ("email", "uuid", "structured_identifier")


@dataclass(frozen=True)
class Term:
    """One word to look for. ``prefix``: a single character of a script without spaces, found in any pair."""

    text: str
    prefix: bool = False


@dataclass(frozen=True)
class ParsedQuery:
    """A question, ready for an engine. ``phrase`` is the whole of it, for titles when no word is left."""

    phrase: str
    tokens: tuple[Token, ...]
    terms: tuple[Term, ...]
    identifiers: tuple[str, ...]


def parse_query(text: str) -> ParsedQuery:
    """Cut a question. Never raises: quotes left open, emoji or nothing but punctuation give fewer terms."""
    phrase = clean_text(text, QUESTION_LIMIT)
    tokens = tuple(_tokens(phrase))
    identifiers = dict.fromkeys(token.text for token in tokens if token.identifies)
    terms: dict[Term, None] = {}
    for token in tokens:
        if not token.identifies:
            terms.update(dict.fromkeys(_terms(token.text)))
    return ParsedQuery(phrase, tokens, tuple(terms)[:TERMS_LIMIT], tuple(identifiers)[:TERMS_LIMIT])


def words_of(text: str) -> Iterator[str]:
    """The words of a text in order, lower-cased; runs without spaces as overlapping pairs of characters."""
    for piece in _PIECES.findall(text.lower()):
        if _IS_CJK.match(piece) and len(piece) > 1:
            yield from (piece[at : at + 2] for at in range(len(piece) - 1))
        else:
            yield piece[:WORD_LIMIT]


def identifiers_of(*texts: str) -> list[str]:
    """The identifiers of texts, lower-cased, each once, in order of appearance and capped."""
    found: dict[str, None] = {}
    for text in texts:
        found.update(dict.fromkeys(token.text for token in _tokens(text) if token.identifies))
    return list(found)[:IDENTIFIERS_LIMIT]


def kind_of(token: str) -> Kind:
    """The kind of a normalised token; the first that fits (`seed-facts.md` 5.1).

    A hyphenated word without a digit is a word (`search-measured.md` 1), and so are ordinals (`20th`, `1980s`).
    """
    if _EMAIL.fullmatch(token):
        return "email"
    if _UUID.fullmatch(token):
        return "uuid"
    if token.isdigit():
        return "numeric"
    if _CODE.fullmatch(token) and _mixes(token) and not _ORDINAL.fullmatch(token) and not _IS_CJK.search(token):
        return "structured_identifier"
    return "word"


def _mixes(token: str) -> bool:
    return any(character.isdigit() for character in token) and any(character.isalpha() for character in token)


def _tokens(text: str) -> Iterator[Token]:
    for raw in _HYPHENS.sub("-", text.lower()).split():
        token = raw.strip(_TRIMMED)
        if token and len(token) <= WORD_LIMIT:
            yield Token(token, kind_of(token))


def _terms(token: str) -> Iterable[Term]:
    return (Term(word, prefix=len(word) == 1 and bool(_IS_CJK.match(word))) for word in words_of(token))
