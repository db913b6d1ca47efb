"""What a question demands of a text, as conditions on `search_documents`: phrases, required and excluded words, and
how many of its words a hit must have. Every word goes in as a bound value."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Integer, Text, and_, cast, func, literal, not_, or_, true
from sqlalchemy.dialects.postgresql import ARRAY, REGCONFIG, TSQUERY

from app.core.documents.models import SearchDocument
from app.core.locale import LOCALES
from app.search.engines.postgres_words import quoted
from app.search.engines.ranking import LocaleTerms
from app.search.engines.schema import configuration
from app.search.matching import Demand, ParsedQuery, pieces_of


def satisfied(query: ParsedQuery) -> ColumnElement[bool]:
    """A text, in whichever locale, that has all that is demanded and nothing that is excluded."""
    if not query.demands:
        return true()
    return or_(*(and_(SearchDocument.locale == code, demanded(code, query)) for code in LOCALES))


def demanded(code: str, query: ParsedQuery) -> ColumnElement[bool]:
    """The same for texts of one locale. A demand of nothing but stop words asks for nothing."""
    return and_(true(), *(_demand(code, one) for one in query.demands))


def _demand(code: str, one: Demand) -> ColumnElement[bool]:
    if one.identifier is not None:
        has = coded(code, one.identifier)
        return not_(has) if one.negative else has
    asked = _asked(code, one)
    found = _matches(asked)
    empty = func.numnode(asked) == 0
    return not_(and_(not_(empty), found)) if one.negative else or_(empty, found)


def _matches(asked: ColumnElement[object]) -> ColumnElement[bool]:
    return func.coalesce(SearchDocument.words, cast("", SearchDocument.words.type)).bool_op("@@")(asked)


def _asked(code: str, one: Demand) -> ColumnElement[object]:
    config = cast(configuration(code), REGCONFIG)
    if one.prefix and len(one.words) == 1:
        return func.to_tsquery(config, quoted(f"{one.words[0]}:*"))
    return func.phraseto_tsquery(config, " ".join(one.words))


def covered(code: str, query: ParsedQuery, words: LocaleTerms | None) -> ColumnElement[bool]:
    """Enough of the free words and identifiers stand in the text (`seed-facts.md` 5.3); anything where none is asked.

    ``words``: the locale's lexemes. A word that is one of several lexemes counts once.
    """
    rules = query.filtered
    named = [coded(code, name) for name in query.identifiers[: query.free_identifiers]]
    if rules is None:
        return or_(*named) if query.codes_only else true()
    places: dict[int, list[str]] = {}
    for lexeme, place in (words or {}).items():
        if place < query.free:
            places.setdefault(place, []).append(lexeme)
    tokens = [_any(lexemes) for lexemes in places.values()] + named
    if not tokens:
        return true()
    needed = rules.needed(len(tokens))
    if needed == len(tokens):
        return and_(*tokens)
    counted: ColumnElement[int] = literal(0)
    for token in tokens:
        counted = counted + cast(func.coalesce(token, literal(False)), Integer)
    return counted >= needed


def _any(lexemes: list[str]) -> ColumnElement[bool]:
    return SearchDocument.words.bool_op("@@")(cast(" | ".join(map(quoted, lexemes)), TSQUERY))


def coded(code: str, name: str) -> ColumnElement[bool]:
    """A text that has the identifier: whole, or a code's pieces next to each other."""
    pieces = pieces_of(name)
    return or_(_named(name), _matches(_asked(code, Demand(pieces)))) if pieces else _named(name)


def _named(name: str) -> ColumnElement[bool]:
    return SearchDocument.identifiers.bool_op("@>")(cast([name], ARRAY(Text)))
