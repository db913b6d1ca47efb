"""One-letter corrections of words that no text has, and words that mean the same. Pure.

Every string one edit away is looked up, which finds all single misspellings, transpositions and first letters
included; trigram similarity finds a third of them (`postgres.md`, "Typos").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.core.locale import LOCALES
from app.search.matching import Alternative, ParsedQuery, has_no_spaces, words_of
from app.search.tolerance import SHORTEST_WORD

LETTERS = "abcdefghijklmnopqrstuvwxyzàèéìòù"
LONGEST = 30
"""A longer word is not corrected: there are too many strings beside it."""
GROUPS_LIMIT = 200
SHORTEST_OFFERED = 3


def beside(word: str) -> frozenset[str]:
    """Every string one insertion, deletion, replacement or transposition away from ``word``."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    deleted = (before + after[1:] for before, after in cuts if after)
    swapped = (before + after[1] + after[0] + after[2:] for before, after in cuts if len(after) > 1)
    replaced = (before + letter + after[1:] for before, after in cuts if after for letter in LETTERS)
    inserted = (before + letter + after for before, after in cuts for letter in LETTERS)
    return frozenset({*deleted, *swapped, *replaced, *inserted}) - {word}


def offered_words(text: str) -> set[str]:
    """The words of a text that may be suggested: letters of a script with spaces, neither very short nor very long."""
    return {word for word in words_of(text) if _may_be_offered(word)}


def _may_be_offered(word: str) -> bool:
    return SHORTEST_OFFERED <= len(word) <= LONGEST and word.isalpha() and not has_no_spaces(word)


def begun_word(typed: str) -> str:
    """The word that is being typed: the last one, unless something that ends it follows; else empty."""
    words = list(words_of(typed))
    return words[-1] if words and typed[-1:].isalnum() else ""


def correctable(query: ParsedQuery) -> tuple[str, ...]:
    """The free words that may be misspelt, in their order; protected ones never are (`seed-facts.md` 5.1)."""
    kinds = {word: token.kind for token in query.tokens for word in words_of(token.text)}
    return tuple(
        term.text
        for term in query.terms[: query.free]
        if kinds.get(term.text) == "word"
        and not term.prefix
        and SHORTEST_WORD <= len(term.text) <= LONGEST
        and term.text.isalpha()
    )


def corrected(query: ParsedQuery, corrections: Mapping[str, str]) -> ParsedQuery:
    """The question with each corrected word beside the one that was typed."""
    places = {term.text: place for place, term in enumerate(query.terms)}
    more = tuple(Alternative(places[typed], word) for typed, word in corrections.items() if typed in places)
    return replace(query, alternatives=(*query.alternatives, *more))


def respelt(text: str, corrections: Mapping[str, str]) -> str:
    """The question as it should perhaps have been typed; operators stay."""
    pieces = text.split(" ")
    return " ".join(_respelt(piece, corrections) for piece in pieces)


def _respelt(piece: str, corrections: Mapping[str, str]) -> str:
    for typed, word in corrections.items():
        at = piece.lower().find(typed)
        if at >= 0:
            return piece[:at] + word + piece[at + len(typed) :]
    return piece


def with_beginning(query: ParsedQuery) -> ParsedQuery:
    """A question of one word with all words that begin so beside it (`seed-facts.md` 5.5), unless it is to be strict.

    What has the word itself has the beginning too, and so comes first.
    """
    strict = query.rules is not None and query.rules.effective == "strict"
    if len(query.terms) != 1 or query.identifiers or query.demands or strict or not correctable(query):
        return query
    more = tuple(Alternative(0, query.terms[0].text, locale, prefix=True) for locale in LOCALES)
    return replace(query, alternatives=(*query.alternatives, *more))


def read_groups(setting: str) -> tuple[tuple[str, ...], ...]:
    """Groups of single words from a setting: words divided by commas, groups by semicolons."""
    groups = []
    for group in setting.split(";")[:GROUPS_LIMIT]:
        words = [" ".join(words_of(member)) for member in group.split(",")]
        single = tuple(dict.fromkeys(word for word in words if word and " " not in word))
        if len(single) > 1:
            groups.append(single)
    return tuple(groups)


def with_synonyms(query: ParsedQuery, groups: Mapping[str, Sequence[Sequence[str]]]) -> ParsedQuery:
    """The question with what means the same, each language's words in its own texts only."""
    more = [
        Alternative(place, other, locale)
        for locale, sets in groups.items()
        for place, term in enumerate(query.terms[: query.free])
        for words in sets
        if term.text in words
        for other in words
        if other != term.text
    ]
    return replace(query, alternatives=(*query.alternatives, *more)) if more else query
