"""What a question is made of: words, identifiers, and runs of scripts without spaces (`seed-facts.md` 5.1).

The same cutting is done to the indexed text and to the question, before any engine's parser sees either: everything
that is no letter or digit separates words, so that `node.js`, `dell'energia` and `state-of-the-art` are found by their
parts, and identifiers are kept whole in a column of their own (`postgres.md`, "The parser"). A code's parts are words
of the question, too: it is in texts that write it otherwise (``Ly6C(hi)``, ``miR-7b-mediated``). Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from app.core.contracts.strategy import Matching
from app.core.documents.text import clean_text
from app.search.stopwords import STOP_WORDS
from app.search.syntax import Part, parts
from app.search.tolerance import Analysis, Rules, analyse, finer_kind, rules

QUESTION_LIMIT = 4_000
"""Characters of a question; a longer one is refused."""
TERMS_LIMIT = 64
"""Distinct words of a question that are looked for; the rest of a very long one adds time and no meaning."""
DEMANDS_LIMIT = 16
PHRASE_LIMIT = 32
"""Words of a phrase."""
BEGINNING = 2
"""Letters that the beginning of a word must have to be looked for as one (``pr*``)."""
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
    """One white-space separated piece of a question, lower-cased and without the punctuation around it.

    ``raw`` has its capitals; ``begins``: it was written with a ``*`` at its end.
    """

    text: str
    kind: Kind
    raw: str = ""
    begins: bool = False

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
class Demand:
    """What a text must have (or, ``negative``, must not): an identifier, or words next to each other in this order.

    ``prefix``: the last word is the beginning of one.
    """

    words: tuple[str, ...] = ()
    identifier: str | None = None
    prefix: bool = False
    negative: bool = False
    quoted: bool = False


@dataclass(frozen=True)
class Alternative:
    """A word that counts as the term at ``place``: a correction, or a synonym in texts of one ``locale``.

    ``prefix``: every word that begins so.
    """

    place: int
    word: str
    locale: str | None = None
    prefix: bool = False


@dataclass(frozen=True)
class ParsedQuery:
    """A question, ready for an engine. ``phrase`` is its wording without operators, for titles and for the model.

    The first ``free`` of the ``terms`` and of the ``identifiers`` (``free_identifiers``) are free text; the others are
    demanded, or pieces of identifiers, and rank too; those behind the first ``typed`` only expand the question.
    ``rules`` None: any term, in the order of ``auto``. ``codes_only``: nothing but identifiers was asked for, and a
    text must have one of them (`seed-facts.md` 5.5), not just a piece.
    """

    phrase: str
    tokens: tuple[Token, ...]
    terms: tuple[Term, ...]
    identifiers: tuple[str, ...]
    demands: tuple[Demand, ...] = ()
    free: int = TERMS_LIMIT
    free_identifiers: int = TERMS_LIMIT
    analysis: Analysis | None = None
    rules: Rules | None = None
    alternatives: tuple[Alternative, ...] = ()
    typed: int = TERMS_LIMIT
    codes_only: bool = False

    @property
    def unbroken(self) -> tuple[str, ...]:
        """The identifiers whose pieces are no terms: addresses and keys."""
        return tuple(one for one in self.identifiers if not pieces_of(one))

    @property
    def filtered(self) -> Rules | None:
        """The rules when they remove hits."""
        return self.rules if self.rules is not None and self.rules.coverage is not None else None

    def without_rules(self) -> ParsedQuery:
        """Any term, with all that is demanded."""
        return replace(self, rules=None)

    def any_term(self) -> ParsedQuery:
        """Any term, nothing demanded."""
        return replace(self, rules=None, demands=())

    def counts(self) -> dict[str, int]:
        """How much was demanded, by kind, for the meta."""
        wanted = [one for one in self.demands if not one.negative]
        phrases = sum(one.quoted for one in wanted)
        return {
            "required_term": len(wanted) - phrases,
            "required_phrase": phrases,
            "excluded": len(self.demands) - len(wanted),
        }


def parse_query(text: str) -> ParsedQuery:
    """Cut a question of plain words, without operators.

    Never raises: quotes left open, emoji or nothing but punctuation give fewer terms.
    """
    phrase = clean_text(text, QUESTION_LIMIT)
    tokens = tuple(_tokens(phrase))
    terms, identifiers = _looked_for(tokens)
    free, codes_only = len(terms), _codes_only(terms, identifiers)
    terms.update(_pieces(identifiers))
    wanted = tuple(terms)[:TERMS_LIMIT], tuple(identifiers)[:TERMS_LIMIT]
    return ParsedQuery(phrase, tokens, *wanted, free=min(free, TERMS_LIMIT), codes_only=codes_only)


def parse_question(text: str, matching: Matching = "auto") -> ParsedQuery:
    """Cut what a person typed: operators (`syntax.py`), ``beginning*``, and how forgiving to be. Never raises."""
    stretches = list(parts(_HYPHENS.sub("-", clean_text(text, QUESTION_LIMIT))))
    free = tuple(token for part in stretches if part.role == "free" for token in _tokens(part.text))
    demands = tuple(demand for part in stretches if part.role != "free" for demand in _demands(part))[:DEMANDS_LIMIT]
    terms, identifiers = _looked_for(free)
    in_text, named = min(len(terms), TERMS_LIMIT), min(len(identifiers), TERMS_LIMIT)
    codes_only = _codes_only(terms, identifiers) and all(demand.negative for demand in demands)
    for demand in demands:
        if not demand.negative:
            last = len(demand.words) - 1
            terms.update({Term(word, demand.prefix and at == last): None for at, word in enumerate(demand.words)})
            identifiers.update({demand.identifier: None} if demand.identifier else {})
    terms.update(_pieces(identifiers))
    found = analyse((token.text, finer_kind(token.kind, token.raw)) for token in free)
    wording = " ".join("".join(part.text for part in _positive(stretches)).split())
    return ParsedQuery(
        phrase=wording if demands else clean_text(text, QUESTION_LIMIT),
        tokens=free,
        terms=tuple(terms)[:TERMS_LIMIT],
        identifiers=tuple(identifiers)[:TERMS_LIMIT],
        demands=demands,
        free=in_text,
        free_identifiers=named,
        analysis=found,
        rules=rules(matching, found),
        codes_only=codes_only,
    )


def _positive(stretches: Iterable[Part]) -> Iterator[Part]:
    return (part for part in stretches if part.role != "excluded")


def _demands(part: Part) -> Iterator[Demand]:
    """One demand of a stretch; none of one without a letter or digit."""
    negative = part.role == "excluded"
    tokens = list(_tokens(part.text))
    if not part.quoted and len(tokens) == 1 and tokens[0].identifies:
        yield Demand(identifier=tokens[0].text, negative=negative)
        return
    words = tuple(words_of(part.text))[:PHRASE_LIMIT]
    if words:
        prefix = (not part.quoted and _begins(part.text)) or (len(words) == 1 and _lone(words[0]))
        yield Demand(words, prefix=prefix, negative=negative, quoted=part.quoted)


def _looked_for(tokens: Iterable[Token]) -> tuple[dict[Term, None], dict[str, None]]:
    terms: dict[Term, None] = {}
    identifiers: dict[str, None] = {}
    for token in tokens:
        if token.identifies:
            identifiers[token.text] = None
        else:
            terms.update(dict.fromkeys(_terms(token)))
    return terms, identifiers


def _codes_only(terms: Iterable[Term], identifiers: Collection[str]) -> bool:
    return bool(identifiers) and all(term.text in STOP_WORDS for term in terms)


def _pieces(identifiers: Iterable[str]) -> dict[Term, None]:
    return {Term(piece): None for one in identifiers for piece in pieces_of(one)}


def pieces_of(identifier: str) -> tuple[str, ...]:
    """The words of a code in order, as texts are cut; none of addresses and keys, which are found whole or not."""
    return tuple(words_of(identifier)) if kind_of(identifier) == "structured_identifier" else ()


def words_of(text: str) -> Iterator[str]:
    """The words of a text in order, lower-cased; runs without spaces as overlapping pairs of characters."""
    for piece in _PIECES.findall(text.lower()):
        if _IS_CJK.match(piece) and len(piece) > 1:
            yield from (piece[at : at + 2] for at in range(len(piece) - 1))
        else:
            yield piece[:WORD_LIMIT]


def has_no_spaces(word: str) -> bool:
    """Whether the word is of a script that is written without spaces."""
    return bool(_IS_CJK.match(word))


def identifiers_of(*texts: str) -> list[str]:
    """The identifiers of texts, lower-cased, each once, in order of appearance and capped."""
    found: dict[str, None] = {}
    for text in texts:
        once = " ".join(dict.fromkeys(text.split()))  # most words come again and again
        found.update(dict.fromkeys(token.text for token in _tokens(once) if token.identifies))
    return list(found)[:IDENTIFIERS_LIMIT]


def kind_of(token: str) -> Kind:
    """The kind of a normalised token; the first that fits (`seed-facts.md` 5.1).

    A hyphenated word without a digit is a word (`search-measured.md` 1), and so are ordinals (`20th`, `1980s`).
    """
    if token.isalpha():  # most are: none of the others is of letters alone
        return "word"
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
    for piece in _HYPHENS.sub("-", text).split():
        raw = piece.strip(_TRIMMED + "*")
        token = raw.lower().strip(_TRIMMED)
        if token and len(token) <= WORD_LIMIT:
            yield Token(token, kind_of(token), raw, _begins(piece))


def _begins(piece: str) -> bool:
    written = piece.strip(_TRIMMED)
    return written.endswith("*") and len(written.rstrip("*")) >= BEGINNING and written.count("*") == 1


def _lone(word: str) -> bool:
    """A single character of a script without spaces, found in any pair."""
    return len(word) == 1 and bool(_IS_CJK.match(word))


def _terms(token: Token) -> Iterable[Term]:
    words = list(words_of(token.text))
    return (Term(word, prefix=_lone(word) or (token.begins and at == len(words) - 1)) for at, word in enumerate(words))
