"""Words that begin so or stand beside a misspelling, each seen in a text in scope before it is told.

The list (`word_forms`) is of all texts, also those that the asker may not see, and lags behind: it names candidates and
proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, Text, bindparam, cast, func, literal, select, text
from sqlalchemy.dialects.postgresql import REGCONFIG
from sqlalchemy.orm import Session

from app.core.documents.models import SearchDocument
from app.core.locale import LOCALES
from app.search.engines.schema import configuration
from app.search.engines.statements import statement_of
from app.search.spelling import SHORTEST_OFFERED, begun_word

LOOKED_AT = 4
"""So many times the words that are wanted are looked for in texts."""
TEXTS = 200
"""Texts with a form of the word, of which one must have the word itself."""
LONGEST_READ = 20_000

BEGINNING = text("""
select word, locale from word_forms
where word >= :prefix and word < :behind and entity = any(:entities) and locale = any(:locales)
group by word, locale order by sum(greatest(documents, counting)) desc, word, locale limit :most
""")
AMONG = text("""
select word, locale from word_forms
where word = any(:words) and entity = any(:entities) and locale = any(:locales)
group by word, locale order by sum(greatest(documents, counting)) desc, word, locale limit :most
""")
IS_COMPLETE = text("""
select count(*) = :entities_count from word_walks w, index_events_id_seq s
where w.entity = any(:entities) and w.finished_at is not null and w.events = s.last_value
""")


def suggestions(
    session: Session,
    prefix: str,
    entities: Sequence[str],
    conditions: ColumnElement[bool],
    locale: str | None,
    limit: int,
) -> list[str]:
    """Words in texts within ``conditions`` that begin so, those of most documents first."""
    begun = begun_word(prefix)
    if len(begun) < SHORTEST_OFFERED - 1 or not begun.isalpha() or limit < 1:
        return []
    values = {"prefix": begun, "behind": begun + chr(0x10FFFF), "most": limit * LOOKED_AT}
    rows = session.execute(BEGINNING, {**values, **_where(entities, locale)}).all()
    return _seen(session, rows, conditions, limit)


def among(
    session: Session, words: Sequence[str], entities: Sequence[str], conditions: ColumnElement[bool]
) -> str | None:
    """The word of most documents among ``words`` that stands in a text within ``conditions``."""
    values = {"words": list(words), "most": LOOKED_AT}
    rows = session.execute(AMONG, {**values, **_where(entities, None)}).all()
    return next(iter(_seen(session, rows, conditions, 1)), None)


def is_complete(session: Session, entities: Sequence[str]) -> bool:
    """Whether the list has every word of every text: nothing was written since it was made."""
    values = {"entities": list(entities), "entities_count": len(entities)}
    return bool(session.scalar(IS_COMPLETE, values))


def _where(entities: Sequence[str], locale: str | None) -> dict[str, Any]:
    return {"entities": list(entities), "locales": [locale] if locale else list(LOCALES)}


def _seen(session: Session, rows: Sequence[Any], conditions: ColumnElement[bool], limit: int) -> list[str]:
    found: list[str] = []
    for word, locale in rows:
        if len(found) == limit:
            break
        if word not in found and _stands(session, word, locale, conditions):
            found.append(word)
    return found


def _stands(session: Session, word: str, locale: str, conditions: ColumnElement[bool]) -> bool:
    """Whether a text has the word itself, and not another form of it."""
    statement = statement_of(conditions, _standing)
    values = {"configuration": configuration(locale), "word": word, "locale": locale, "whole": rf"\m{word}\M"}
    return session.scalar(statement, values) is not None


def _standing(conditions: ColumnElement[bool]) -> Select[Any]:
    asked = func.plainto_tsquery(cast(bindparam("configuration", type_=Text), REGCONFIG), bindparam("word", type_=Text))
    written = func.lower(func.left(SearchDocument.title + literal(" ") + SearchDocument.body, LONGEST_READ))
    some = (
        select(written.label("written"))
        .where(
            SearchDocument.words.bool_op("@@")(asked),
            SearchDocument.locale == bindparam("locale", type_=Text),
            conditions,
        )
        .limit(TEXTS)
        .subquery()
    )
    whole = some.c.written.op("~")(bindparam("whole", type_=Text))
    return select(literal(1)).where(whole).limit(1)
