"""Which words one edit away from an unknown one do stand in texts that the asker may see.

The strings beside a word, a few hundred, are looked up in the list of words, and the best one is seen in a text within
the scope before it is told. While the list lacks what was written last they are looked up in the index itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Select, Text, bindparam, cast, func, literal, select, text
from sqlalchemy.dialects.postgresql import TSQUERY
from sqlalchemy.orm import Session

from app.core.documents.models import SearchDocument
from app.core.locale import LOCALES
from app.search.engines.postgres_suggestions import among, is_complete
from app.search.engines.postgres_words import quoted
from app.search.engines.schema import configuration
from app.search.engines.statements import statement_of
from app.search.matching import words_of
from app.search.spelling import beside

BEST = 5
"""So many lexemes of a word are looked at closer."""
COUNTED = 100
PRESENT = text("""
select l.code, w.word, x.lexeme
from unnest(cast(:codes as text[]), cast(:configurations as text[])) as l (code, configuration)
cross join unnest(cast(:words as text[])) as w (word)
cross join lateral unnest(tsvector_to_array(to_tsvector(cast(l.configuration as regconfig), w.word))) as x (lexeme)
where (select true from search_documents d
    where d.words @@ cast(quote_literal(x.lexeme) as tsquery) and d.locale = l.code and d.entity = any(:entities)
    limit 1)
""")
"""The limit keeps each lexeme a look-up of its own: `exists` becomes a join that reads all documents for each one."""


def corrections(
    session: Session, words: Sequence[str], entities: Sequence[str], conditions: ColumnElement[bool]
) -> dict[str, str]:
    """A word of visible texts for each of ``words`` that none of them has; a word without one is left out."""
    found = {}
    for word in words:
        if any(_present(session, [word], entities, conditions)):
            continue
        best = _beside(session, word, entities, conditions)
        if best is not None:
            found[word] = best
    return found


def _beside(session: Session, word: str, entities: Sequence[str], conditions: ColumnElement[bool]) -> str | None:
    near = beside(word)
    listed = among(session, sorted(near), entities, conditions)
    if listed is not None or is_complete(session, entities):
        return listed
    return _best(session, near, _present(session, sorted(near), entities, conditions), conditions)


def _present(
    session: Session, words: Sequence[str], entities: Sequence[str], conditions: ColumnElement[bool]
) -> list[tuple[int, str, str, list[str]]]:
    """(documents, locale, lexeme, words that have it), most documents first."""
    rows = session.execute(
        PRESENT,
        {
            "codes": list(LOCALES),
            "configurations": [configuration(code) for code in LOCALES],
            "words": list(words),
            "entities": list(entities),
        },
    )
    spelt: dict[tuple[str, str], list[str]] = {}
    for code, word, lexeme in rows:
        spelt.setdefault((code, lexeme), []).append(word)
    if not spelt:
        return []
    values = {"codes": [code for code, _ in spelt], "queries": [quoted(lexeme) for _, lexeme in spelt]}
    counts = session.execute(statement_of(conditions, _counting), values).scalars()
    counted = [
        (count, code, lexeme, sorted(of)) for count, ((code, lexeme), of) in zip(counts, spelt.items(), strict=True)
    ]
    return sorted((one for one in counted if one[0]), key=lambda one: (-one[0], one[2], one[1]))


def _counting(conditions: ColumnElement[bool]) -> Select[Any]:
    """How many texts have each of the lexemes that are bound, in their order."""
    lists = (bindparam("codes", type_=ARRAY(Text)), bindparam("queries", type_=ARRAY(Text)))
    asked = func.unnest(*lists).table_valued("code", "query", with_ordinality="place", name="asked").render_derived()
    some = select(literal(1).label("one")).where(*_matching(asked.c.code, asked.c.query, conditions)).limit(COUNTED)
    count = select(func.count()).select_from(some.correlate(asked).lateral("some")).scalar_subquery()
    return select(count).select_from(asked).order_by(asked.c.place)


def _matching(
    code: ColumnElement[str], query: ColumnElement[str], conditions: ColumnElement[bool]
) -> tuple[ColumnElement[bool], ...]:
    return (SearchDocument.words.bool_op("@@")(cast(query, TSQUERY)), SearchDocument.locale == code, conditions)


def _best(session: Session, near: frozenset[str], ranked: Sequence[Any], conditions: ColumnElement[bool]) -> str | None:
    """The most frequent one as it is really written somewhere, else the most frequent one."""
    for _, code, lexeme, spelt in ranked[:BEST]:
        texts = session.execute(statement_of(conditions, _written), {"code": code, "query": quoted(lexeme)})
        written = {word for title, body in texts for word in words_of(f"{title} {body[:20_000]}")}
        real = sorted(written & near & set(spelt))
        if real:
            return str(real[0])
    return str(ranked[0][3][0]) if ranked else None


def _written(conditions: ColumnElement[bool]) -> Select[str, str]:
    code, query = bindparam("code", type_=Text), bindparam("query", type_=Text)
    return select(SearchDocument.title, SearchDocument.body).where(*_matching(code, query, conditions)).limit(3)
