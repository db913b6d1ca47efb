"""The texts that match a question, as statements: one arm for each locale, whose words and weights are its own.

A text's score is the inner product of what its words weigh in it (`search_documents.impacts`, a sparse vector) with
what the question's words weigh in the index (their idf): BM25. Whatever a user typed goes in as a bound value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlalchemy import (
    CTE,
    Boolean,
    ColumnElement,
    Float,
    Integer,
    Select,
    Text,
    and_,
    bindparam,
    case,
    cast,
    column,
    false,
    func,
    literal,
    or_,
    select,
    text,
    true,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY, TSQUERY, distinct_on
from sqlalchemy.orm import Session

from app.core.documents.models import Impacts, SearchDocument
from app.core.locale import LOCALES
from app.search.engines.ports import TOTAL_LIMIT
from app.search.engines.postgres_demands import coded, covered, demanded
from app.search.engines.postgres_words import is_beginning, quoted
from app.search.engines.ranking import ALL_TERMS_FIRST, LocaleTerms, Weights, typed
from app.search.engines.statements import prepared_of
from app.search.matching import ParsedQuery, parse_query

PLACES = 268_435_456
EVEN = (1.0, 1.0, 1.0, 1.0)
ROUGHLY = cast(literal(list(EVEN)), ARRAY(Float(24)))

COVERED = 5
"""So many of the best hits say how much of the question they have (`search-measured.md` 6)."""


def having(words: str, queries: str) -> str:
    """SQL for which of a set of queries a tsvector has, as an array in their order."""
    asked = f"{queries} with ordinality as q (query, place)"
    return f"array(select {words} @@ cast(q.query as tsquery) from {asked} order by q.place)"


NAMED = "array(select unnest(d.identifiers) intersect select unnest(cast(:names as text[])))"
"""Which of the question's identifiers a text has."""
FORMS = " ".join(f"when '{code}' then cast(:forms_{code} as text[])" for code in LOCALES)
HELD = (
    text(f"""
    select {having("d.words", f"unnest(case best.locale {FORMS} end)")} as held, {NAMED} as names
    from search_documents d
    where d.entity = best.entity and d.locale = best.locale
        and d.record_id = case when best.place <= {COVERED} then best.record_id end
    """)
    .bindparams(*(bindparam(name, None) for name in ("names", *(f"forms_{code}" for code in LOCALES))))
    .columns(column("held", ARRAY(Boolean)), column("names", ARRAY(Text)))
    .lateral("best_held")
)
"""Of the record in a row of ``best``. The place stands in the key: as a condition of its own it is looked at last, when
the text of each row has been read."""

Chosen = Mapping[str, Collection[str]]
"""Locale to the lexemes of which a text must have one to be looked at."""


@dataclass(frozen=True)
class Asked:
    """A question as the index knows it: each locale's lexemes, what they weigh, and what its identifiers weigh."""

    query: ParsedQuery
    terms: Mapping[str, LocaleTerms]
    weights: Weights
    names: Mapping[str, float]

    @property
    def everything(self) -> Chosen:
        return {code: list(words) for code, words in self.terms.items()}

    @property
    def is_plain(self) -> bool:
        """Whether it is nothing but words."""
        if self.names or self.query.demands or self.query.filtered:
            return False
        return not any(is_beginning(word) for words in self.terms.values() for word in words)

    @cached_property
    def forms(self) -> Mapping[str, list[list[str]]]:
        """The lexemes of each term that was typed, by locale."""
        return {code: list(_places(words).values()) for code, words in typed(self.terms, self.query.typed).items()}

    def whole(self, code: str) -> dict[str, float]:
        """The lexemes of a locale that are no beginnings, and what they weigh."""
        return {word: weight for word, weight in (self.weights.get(code) or {}).items() if not is_beginning(word)}


def best(
    session: Session,
    asked: Asked,
    conditions: ColumnElement[bool],
    chosen: Chosen,
    window: int,
    counted: bool,
) -> Sequence[Any]:
    """The best ``window`` records, in their best locale each; ``counted``: each row with the number of all that are
    looked at, up to one more than is counted.

    Rows have entity, record_id, locale, named, complete, score, total, place, held and names. The first
    :data:`COVERED` say what of the question they have: ``held`` for the forms of each term, ``names`` of its
    identifiers. To ask for that afterwards takes as long as to find the texts of a small index.

    Only what hardly any question has (operators, rules that remove hits, identifiers, beginnings) makes a statement of
    its own.
    """
    codes = tuple(code for code in LOCALES if chosen.get(code) or asked.names)
    both = tuple(code for code in codes if len(_places(asked.terms.get(code) or {})) == ALL_TERMS_FIRST)
    if not codes:
        return []
    shape = (codes, both, counted)
    values = _values(asked, chosen, codes, both, window)
    if asked.is_plain:
        return prepared_of(session, conditions, _plain, *shape).tuples(session, values)
    return session.connection().execute(_best(asked, conditions, *shape), values).all()


def _plain(
    conditions: ColumnElement[bool], codes: Collection[str], both: Collection[str], counted: bool
) -> Select[Any]:
    """The statement of any question that is nothing but words."""
    return _best(Asked(parse_query(""), {}, {}, {}), conditions, codes, both, counted)


def _values(
    asked: Asked, chosen: Chosen, codes: Collection[str], both: Collection[str], window: int
) -> dict[str, object]:
    """What is bound to the named places of a statement."""
    values: dict[str, object] = {"most": window, "names": list(asked.names)}
    values |= {f"forms_{code}": [anything(one) for one in asked.forms.get(code, [])] for code in LOCALES}
    for code in codes:
        whole = asked.whole(code)
        values[f"any_{code}"] = anything(chosen.get(code) or ())
        values[f"every_{code}"] = anything(whole)
        values[f"weighed_{code}"] = vector(whole)
        values[f"sum_{code}"] = sum(whole.values())
    for code in both:
        forms = _places(asked.terms[code]).values()
        values[f"both_{code}"] = " & ".join("(" + anything(some) + ")" for some in forms)
    return values


def _best(
    asked: Asked, conditions: ColumnElement[bool], codes: Collection[str], both: Collection[str], counted: bool
) -> Select[Any]:
    arms = (_scored(code, asked, conditions, code in both) for code in codes)
    found = _best_locale(union_all(*arms).cte("matched"))
    total: ColumnElement[Any] = literal(0)
    if counted:
        some = select(literal(1)).select_from(found).limit(TOTAL_LIMIT + 1).subquery()
        total = select(func.count()).select_from(some).scalar_subquery()
    most = select(found, total.label("total")).order_by(*_order(found.c)).limit(bindparam("most", None, Integer))
    first = most.subquery("first")
    place = func.row_number().over(order_by=_order(first.c)).label("place")
    numbered = select(first, place).subquery("best")
    return select(numbered, *HELD.c).join_from(numbered, HELD, true(), isouter=True).order_by(numbered.c.place)


def _order(c: Any) -> tuple[ColumnElement[Any], ...]:
    return (c.named.desc(), c.complete.desc(), c.score.desc(), c.entity, c.record_id)


def keys(asked: Asked, conditions: ColumnElement[bool], limit: int) -> CTE:
    """At most ``limit`` of the records that match.

    Reading ends with as many texts as that many records can have at most.
    """
    key = (SearchDocument.entity, SearchDocument.record_id)
    words = {code: _has(literal(anything(some), Text)) for code, some in asked.everything.items()}
    arms = (select(*key).where(_matches(code, asked, conditions, words.get(code, false()))) for code in LOCALES)
    texts = union_all(*arms).limit(limit * len(LOCALES)).subquery("texts")
    return select(texts.c.entity, texts.c.record_id).distinct().limit(limit).cte("found")


def _matches(code: str, asked: Asked, conditions: ColumnElement[bool], has: ColumnElement[bool]) -> ColumnElement[bool]:
    """A text of one locale that ``has`` a word or one of the identifiers, and all that is demanded.

    ``is true`` keeps the locale from the primary key: half of it was read to halve a few thousand texts (40 of 125 ms).
    """
    return and_(
        (SearchDocument.locale == code).is_(true()),
        or_(has, _named(code, asked)),
        demanded(code, asked.query),
        covered(code, asked.query, asked.terms.get(code)),
        conditions,
    )


def _scored(code: str, asked: Asked, conditions: ColumnElement[bool], both: bool) -> Select[Any]:
    return select(
        SearchDocument.entity,
        SearchDocument.record_id,
        SearchDocument.locale,
        _named(code, asked).label("named"),
        (_has(_text(f"both_{code}")) if both else false()).label("complete"),
        _score(code, asked).label("score"),
    ).where(_matches(code, asked, conditions, _has(_text(f"any_{code}"))))


def _text(name: str) -> ColumnElement[Any]:
    return bindparam(name, None, Text)


def _has(query: ColumnElement[Any]) -> ColumnElement[bool]:
    return SearchDocument.words.bool_op("@@")(cast(query, TSQUERY))


def anything(words: Collection[str]) -> str:
    """A tsquery for any of the words; for none, one that nothing matches."""
    return " | ".join(quoted(word) for word in words)


def _named(code: str, asked: Asked) -> ColumnElement[bool]:
    """Texts that come first: with one of the codes, however they write it; where nothing else is asked for, with one
    written alone."""
    if not asked.names:
        return false()
    if asked.query.codes_only:
        return SearchDocument.identifiers.bool_op("&&")(cast(list(asked.names), ARRAY(Text)))
    return or_(*(coded(code, name) for name in asked.names))


def _places(words: LocaleTerms) -> dict[int, list[str]]:
    """The lexemes of each term."""
    places: dict[int, list[str]] = {}
    for lexeme, at in words.items():
        places.setdefault(at, []).append(lexeme)
    return places


def _score(code: str, asked: Asked) -> ColumnElement[Any]:
    """By weights; roughly for a text that has none yet. Beginnings and identifiers count as once in a usual text."""
    roughly = func.ts_rank(ROUGHLY, SearchDocument.words, cast(_text(f"every_{code}"), TSQUERY), 1)
    weighed = SearchDocument.impacts.op("<#>", return_type=Float())(cast(_text(f"weighed_{code}"), Impacts))
    score: ColumnElement[Any] = case(
        (SearchDocument.impacts.is_(None), roughly * bindparam(f"sum_{code}", None, Float)), else_=-weighed
    )
    for word, weight in (asked.weights.get(code) or {}).items():
        if is_beginning(word):
            score = score + literal(weight, Float) * cast(_has(literal(quoted(word), Text)), Integer)
    for name, weight in asked.names.items():
        has = SearchDocument.identifiers.bool_op("@>")(cast([name], ARRAY(Text)))
        score = score + literal(weight, Float) * cast(has, Integer)
    return func.coalesce(score, literal(0.0, Float))


def vector(weights: Mapping[str, float]) -> str:
    """The weights as a sparse vector. Two lexemes at one place, which hardly ever are, weigh as the heavier one."""
    places: dict[int, float] = {}
    for word, weight in weights.items():
        at = place(word)
        places[at] = max(weight, places.get(at, 0.0))
    return "{" + ",".join(f"{at}:{weight:.6g}" for at, weight in places.items()) + f"}}/{PLACES}"


def place(lexeme: str) -> int:
    """Where a lexeme stands in a sparse vector: `word_place` of migration 0010."""
    return 1 + int(hashlib.md5(lexeme.encode(), usedforsecurity=False).hexdigest()[:7], 16)


def _best_locale(matched: CTE) -> CTE:
    c = matched.c
    return (
        select(matched)
        .ext(distinct_on(c.entity, c.record_id))
        .order_by(c.entity, c.record_id, c.named.desc(), c.complete.desc(), c.score.desc(), c.locale)
        .cte("found")
    )
