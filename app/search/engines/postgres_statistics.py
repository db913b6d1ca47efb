"""Counts how many documents have each word, and gives documents the weights of their words (`postgres.md`, "Words").

A *walk* reads every document of an entity once, some records at a time, each slice in a transaction of its own, so that
nothing waits for it: it counts beside the figures that answer now, and takes their place at its end. What it walks over
gets weights where it has none or where they were made for a mean length that is off by more than 10 %.

Figures are as old as the last walk. A word that they lack is counted in the index itself (`postgres_words.py`).
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.core.clock import Clock
from app.core.registry import Registry
from app.core.unit import Units
from app.search.spelling import offered_words

SLICE = 250
"""Records of one transaction."""
SECONDS = 2.0
"""So long one run takes; then the queue gets its turn."""
READ = 20_000
"""Characters of a text whose words can be suggested; beyond, they are found and not offered."""
SMALL = 2_000
"""Documents that are walked over in a moment, so after any change."""
SHARE = 20
"""A larger entity is walked over when one in so many of its documents has changed, or some has and an hour is over."""

ENTITIES = "insert into word_walks (entity) select unnest(cast(:entities as text[])) on conflict do nothing"
DUE = """
select w.entity from word_walks w
cross join (select last_value as events from index_events_id_seq) now
cross join lateral (select coalesce(sum(s.documents), 0) as documents from word_statistics s
    where s.entity = w.entity) of
where w.entity = any(:entities) and (w.position is not null or w.finished_at is null
    or (now.events <> w.events and (of.documents <= :small or abs(now.events - w.events) > of.documents / :share
        or w.finished_at < clock_timestamp() - interval '1 hour')))
order by w.entity
"""
CLAIM = "select coalesce(position, -1), position is null from word_walks where entity = :entity for update skip locked"
BEGIN = """
update word_walks set position = 0, begun_events = (select last_value from index_events_id_seq) where entity = :entity
"""
GUESS = """
insert into word_statistics (entity, locale, mean_length)
select :entity, d.locale, avg(l.length)
from (select locale, words from search_documents where entity = :entity and words is not null limit 1000) d
cross join lateral (select sum(cardinality(u.positions)) as length
    from unnest(d.words) as u (lexeme, positions, weights)) l
group by d.locale having avg(l.length) > 0
on conflict (entity, locale) do update set mean_length = excluded.mean_length where word_statistics.mean_length is null
"""
UPTO = """
select max(record_id) from (select distinct record_id from search_documents
    where entity = :entity and record_id > :after order by record_id limit :slice) as sample
"""
STEMS = """
insert into word_stems (word, entity, locale, counting)
select u.word, :entity, d.locale, count(*)
from search_documents d cross join lateral unnest(tsvector_to_array(d.words)) as u (word)
where d.entity = :entity and d.record_id > :after and d.record_id <= :upto group by u.word, d.locale
on conflict (word, entity, locale) do update set counting = word_stems.counting + excluded.counting
"""
LENGTHS = """
insert into word_statistics (entity, locale, counting, counting_length)
select :entity, d.locale, count(*), coalesce(sum(l.length), 0)
from search_documents d
cross join lateral (select sum(cardinality(u.positions)) as length
    from unnest(d.words) as u (lexeme, positions, weights)) l
where d.entity = :entity and d.record_id > :after and d.record_id <= :upto group by d.locale
on conflict (entity, locale) do update set counting = word_statistics.counting + excluded.counting,
    counting_length = word_statistics.counting_length + excluded.counting_length
"""
TEXTS = """
select locale, left(title || ' ' || body, :characters) from search_documents
where entity = :entity and record_id > :after and record_id <= :upto
"""
FORMS = """
insert into word_forms (word, entity, locale, counting)
select u.word, :entity, :locale, u.documents
from unnest(cast(:words as text[]), cast(:documents as integer[])) as u (word, documents)
on conflict (word, entity, locale) do update set counting = word_forms.counting + excluded.counting
"""
WEIGH = """
update search_documents d set impacts = word_impacts(d.words, s.mean_length), mean_length = s.mean_length
from word_statistics s,
    (select record_id, locale from search_documents
        where entity = :entity and record_id > :after and record_id <= :upto and words is not null
        for no key update skip locked) as free
where d.entity = :entity and d.record_id = free.record_id and d.locale = free.locale
  and s.entity = d.entity and s.locale = d.locale and s.mean_length > 0
  and (d.impacts is null or abs(d.mean_length / s.mean_length - 1) > 0.1)
"""
"""What somebody holds is left for the next walk: nobody waits for an editor."""
MOVED = """
select bool_or(abs(counting_length / (counting * mean_length) - 1) > 0.1) from word_statistics
where entity = :entity and counting > 0 and counting_length > 0 and mean_length > 0
"""
FINISH = (
    "delete from word_stems where entity = :entity and counting = 0",
    "delete from word_forms where entity = :entity and counting = 0",
    "update word_stems set documents = counting, counting = 0 where entity = :entity",
    "update word_forms set documents = counting, counting = 0 where entity = :entity",
    """update word_statistics set documents = counting, counting = 0, counting_length = 0,
        mean_length = case when counting_length > 0 then counting_length / cast(counting as real) else mean_length end
    where entity = :entity""",
    """update word_walks set position = null, events = begun_events, finished_at = clock_timestamp()
    where entity = :entity""",
)


class WordStatistics:
    """Walks over the documents of the registry's entities. Any number of processes may; one has an entity."""

    def __init__(self, units: Units, registry: Registry, clock: Clock) -> None:
        self._units = units
        self._registry = registry
        self._clock = clock

    def refresh(self, stop: threading.Event | None = None, seconds: float | None = SECONDS) -> bool:
        """Go on with what is due for about so many seconds (None: to the end); True when there is more to do."""
        begun = self._clock.monotonic()
        while not (stop is not None and stop.is_set()):
            with self._units() as unit:
                entities = [entity.name for entity in self._registry]
                unit.session.execute(text(ENTITIES), {"entities": entities})
                values = {"entities": entities, "small": SMALL, "share": SHARE}
                due = list(unit.session.scalars(text(DUE), values))
            moved = [self._step(entity) for entity in due]
            if not any(moved):
                return False
            if seconds is not None and self._clock.monotonic() - begun > seconds:
                return True
        return False

    def _step(self, entity: str) -> bool:
        """One slice of one entity; False when somebody else has it."""
        with self._units() as unit:
            session = unit.session
            row = session.execute(text(CLAIM), {"entity": entity}).one_or_none()
            if row is None:
                return False
            after, begins = row
            if begins:
                session.execute(text(BEGIN), {"entity": entity})
                session.execute(text(GUESS), {"entity": entity})
            upto = session.scalar(text(UPTO), {"entity": entity, "after": after, "slice": SLICE})
            if upto is None:
                _finish(session, entity)
            else:
                _count(session, entity, after, upto)
        return True


def _count(session: Session, entity: str, after: int, upto: int) -> None:
    place = {"entity": entity, "after": after, "upto": upto}
    for statement in (STEMS, LENGTHS, WEIGH):
        session.execute(text(statement), place)
    forms: dict[str, Counter[str]] = {}
    for locale, words in session.execute(text(TEXTS), {**place, "characters": READ}):
        forms.setdefault(locale, Counter()).update(offered_words(words))
    for locale, counted in sorted(forms.items()):
        words = sorted(counted)
        documents: Sequence[int] = [counted[word] for word in words]
        values = {"entity": entity, "locale": locale, "words": words, "documents": documents}
        session.execute(text(FORMS), values)
    session.execute(text("update word_walks set position = :upto where entity = :entity"), place)


def _finish(session: Session, entity: str) -> None:
    """The new figures answer from now on. Lengths that moved make another walk due, which weighs anew."""
    moved = bool(session.scalar(text(MOVED), {"entity": entity}))
    for statement in FINISH:
        session.execute(text(statement), {"entity": entity})
    if moved:
        session.execute(text(BEGIN), {"entity": entity})
