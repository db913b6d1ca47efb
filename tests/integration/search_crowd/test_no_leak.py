"""Whatever is asked and however, search shows, counts and hints at nothing but what a list would show.

Random people with random row rules ask random questions of 5,000 records. What they may see is computed three times:
by plain Python, by the policy's condition, and by the list of Core; each answer is held against them page by page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from sqlalchemy import select

from app.core.access.policy import visible
from app.core.contracts.actor import Actor
from app.core.errors import Forbidden, Invalid, NotFound
from app.search.answer import COSTS, MODES, SearchResponse
from app.search.tolerance import MATCHINGS
from tests.integration.access.plain_rules import (
    Json,
    PlainRole,
    Who,
    conditions,
    numbers,
    rarely_empty,
    spelt_dates,
)
from tests.integration.search_crowd.crowd import (
    CONTENTS,
    COUNTS,
    EVERYWHERE,
    EXPANSION,
    HERMIT,
    POOL,
    STATUSES,
    TICKETS,
    WORDS,
    Crowd,
    Person,
    Row,
    words,
)

SELECT = {entity: f"{entity}.select" for entity in COUNTS}
LOCALES = st.sampled_from(["en", "it"])
NARROWED = (
    ("sao.tickets.status:open", "sao.tickets.status:closed"),
    ("cms.contents.category:anna", "cms.contents.category:50%"),
)
SEVERAL = settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
"""Without shrinking: an example's database work would be done a hundred times over."""


# --- what is drawn --------------------------------------------------------------------------------------------------


def _fields() -> Mapping[str, Mapping[str, st.SearchStrategy[Json]]]:
    some = st.sampled_from(POOL)
    ids = st.integers(1, COUNTS[CONTENTS])
    return {
        CONTENTS: {"author": some, "category": some, "id": ids, "valid_from": spelt_dates},
        TICKETS: {
            "subject": some,
            "requester": some,
            "assignee": some,
            "number": st.integers(1, COUNTS[TICKETS]),
            "status": st.sampled_from(STATUSES),
            "locale": LOCALES,
            "created_at": spelt_dates,
        },
    }


@st.composite
def people(draw: st.DrawFn) -> Person:
    fields = _fields()
    rules = {
        permission: rarely_empty(conditions(fields[entity], POOL, placeholders=True), 2)
        for entity, permission in SELECT.items()
    }
    granted = st.frozensets(st.sampled_from(sorted(SELECT.values())), min_size=1)
    role = st.builds(PlainRole, permissions=granted, rules=st.fixed_dictionaries(rules))
    roles = draw(st.dictionaries(st.sampled_from(POOL), role, min_size=1, max_size=3))
    who = Who(
        id=7,
        login=draw(st.sampled_from(POOL)),
        tenant=draw(st.none() | numbers),
        locale=draw(LOCALES),
        roles=tuple(roles),
    )
    return Person(roles, who)


@dataclass(frozen=True)
class Asked:
    """One question. ``counted``: it is one word of the texts, so its total is known to the last record."""

    q: str
    options: Mapping[str, Any]
    counted: bool

    @property
    def is_deep(self) -> bool:
        return bool(self.options["cost"] == "deep" and self.options["mode"] != "basic")

    def keeps(self, entity: str, row: Row) -> bool:
        """Whether the question's own filters keep a row."""
        wanted, only = self.options["entities"], self.options["only"]
        if wanted and entity not in wanted:
            return False
        return not only or any(
            only_entity == entity and str(row[field]) == value
            for said in only
            for name, _, value in [said.partition(":")]
            for only_entity, _, field in [name.rpartition(".")]
        )

    def is_refused(self, may: set[str]) -> type[Exception] | None:
        """What a person who may search these entities is told."""
        if not set(self.options["entities"]) <= may:
            return Forbidden
        inside = set(self.options["entities"]) or may
        named = {said.partition(":")[0].rpartition(".")[0] for said in self.options["only"]}
        return None if named <= inside else Invalid


@st.composite
def questions(draw: st.DrawFn) -> Asked:
    said = draw(st.lists(st.sampled_from([EVERYWHERE, *WORDS]), min_size=1, max_size=3, unique=True))
    sign = draw(st.sampled_from(["", "", "", "+", "-"])) if len(said) > 1 else ""
    options = {
        "mode": draw(st.sampled_from(MODES)),
        "cost": draw(st.sampled_from(COSTS)),
        "matching": draw(st.sampled_from(MATCHINGS)),
        "retries": draw(st.sampled_from(["0", "1", "3"])),
        "locale": draw(st.sampled_from([None, None, "en", "it"])),
        "entities": draw(st.sampled_from([(), (), (CONTENTS,), (TICKETS,), (CONTENTS, TICKETS)])),
        "only": draw(st.sampled_from([(), (), (), *NARROWED])),
        "size": draw(st.sampled_from(["40", "100"])),
        "facets": "true",
        "explain": "true",
    }
    counted = len(said) == 1 and options["cost"] != "deep"
    return Asked(" ".join([*said[:-1], sign + said[-1]]), options, counted)


# --- what an answer is held against ---------------------------------------------------------------------------------


class Held:
    """An answer beside what its asker may find. ``kept`` are the rows inside its own filters, ``reach`` without."""

    def __init__(self, crowd: Crowd, actor: Actor, seen: Mapping[str, set[int]], asked: Asked) -> None:
        self.crowd, self.actor, self.seen, self.asked = crowd, actor, seen, asked
        self.reach = crowd.findable(seen)
        self.kept = [
            (entity, row) for entity, row in crowd.findable(seen, asked.options["locale"]) if asked.keeps(entity, row)
        ]
        self.keys = {(entity, row["id"]) for entity, row in self.kept}
        self.matched = self.having(self.kept)

    def having(self, rows: list[tuple[str, Row]]) -> list[tuple[str, Row]]:
        """Those with any word of the question."""
        wanted = words(self.asked.q) | ({EXPANSION} if self.asked.is_deep else set())
        return [(entity, row) for entity, row in rows if any(wanted & words(body) for _, body in row["texts"].values())]

    def page(self, found: SearchResponse) -> None:
        keys = [(hit.entity, hit.id) for hit in found.hits]
        assert set(keys) <= self.keys
        for hit in found.hits:
            self._texts(hit)
        self._total(found)
        self._facets(found)
        self._told(found)

    def _texts(self, hit: Any) -> None:
        title, body = self.crowd.rows[hit.entity][hit.id]["texts"][hit.locale]
        assert hit.title
        assert hit.title in title
        assert "".join(piece for piece, _ in hit.marked_title) == hit.title
        assert "".join(piece for piece, _ in hit.snippet).strip("… ") in " ".join(f"{title} {body}".split())
        assert hit.similarity is None
        assert hit.explain is None

    def _total(self, found: SearchResponse) -> None:
        limit = len(self.matched)
        if self.asked.counted and found.total_relation == "eq":
            assert found.total == limit
        assert found.total <= limit
        assert len([hit for hit in found.hits if hit.words_rank]) <= limit
        assert found.meta.words <= limit
        assert found.meta.vector <= len(self.kept)

    def _facets(self, found: SearchResponse) -> None:
        for facet in found.facets:
            counted: dict[str, int] = {}
            for entity, row in self.matched:
                if facet.entity in (None, entity):
                    for value in _values(facet.name, entity, row):
                        counted[value] = counted.get(value, 0) + 1
            if self.asked.counted:
                assert dict(facet.values) == counted, facet.name
            for value, count in facet.values:
                assert count <= counted.get(value, 0), (facet.name, value)

    def _told(self, found: SearchResponse) -> None:
        """Relaxations, suggestions of other spellings and explanations count within what the asker may see."""
        assert all(one.total <= len(self.having(self.reach)) or one.change == "demands" for one in found.relaxations)
        assert all(one.total <= len(self.reach) for one in found.relaxations)
        told = found.explain or {}
        assert set(told.get("removed", ())) <= {"locale", "entity", "only"}
        assert sum(told.get("removed", {}).values()) <= 3 * len(self.having(self.reach))
        assert "fusion" not in told
        for leg in told.get("legs", ()):
            assert leg["hits"] <= len(self.kept)
            assert leg.get("total", 0) <= len(self.matched)

    def whole(self, keys: list[tuple[str, int]]) -> None:
        """All pages together: no hit twice, and each of them on the list of Core when it is asked for it."""
        assert len(keys) == len(set(keys))
        for entity in COUNTS:
            ids = sorted(record for name, record in keys if name == entity)
            if ids:
                assert self.crowd.listed(self.actor, entity, ids) == set(ids)


def _values(name: str, entity: str, row: Row) -> list[str]:
    if name == "entity":
        return [entity]
    if name == "locale":
        return list(row["texts"])
    value = "normal" if name == "priority" else row[name]
    return [value] if value else []


def _may(actor: Actor) -> set[str]:
    return {entity for entity, permission in SELECT.items() if actor.may(permission)}


def _by_policy(crowd: Crowd, actor: Actor) -> dict[str, set[int]]:
    found = {}
    with crowd.parts.units() as unit:
        for name in COUNTS:
            model = crowd.parts.registry.get(name).model
            condition = visible(crowd.parts.registry.get(name), actor)
            found[name] = set(unit.session.scalars(select(model.id).where(condition, model.deleted_at.is_(None))))
    return found


@SEVERAL
@given(person=people(), asked=st.lists(questions(), min_size=3, max_size=3))
def test_nothing_is_shown_counted_or_hinted_at_beyond_the_list(
    crowd: Crowd, person: Person, asked: list[Asked]
) -> None:
    actor = crowd.come_in(person)
    seen = crowd.seen_by(person)
    assert _by_policy(crowd, actor) == seen
    for one in asked:
        note(f"{one} among { {entity: len(ids) for entity, ids in seen.items()} }")
        refused = one.is_refused(_may(actor))
        if refused is not None:
            with pytest.raises(refused):
                list(crowd.pages(actor, one.q, **one.options))
            continue
        held = Held(crowd, actor, seen, one)
        keys: list[tuple[str, int]] = []
        for found in crowd.pages(actor, one.q, **one.options):
            held.page(found)
            keys += [(hit.entity, hit.id) for hit in found.hits]
        held.whole(keys)


# --- words and records that only others may see ---------------------------------------------------------------------


@SEVERAL
@given(person=people(), pick=st.integers(0, 199), at=st.integers(2, 6), cost=st.sampled_from(COSTS))
def test_no_other_spelling_comes_from_a_hidden_text(
    crowd: Crowd, person: Person, pick: int, at: int, cost: str
) -> None:
    actor = crowd.come_in(person)
    secret = crowd.secrets[pick]
    misspelt = secret[:at] + "x" + secret[at + 1 :]
    known = any(secret in words(body) for _, row in crowd.findable(crowd.seen_by(person)) for _, body in _said(row))
    found = crowd.ask(actor, misspelt, cost=cost, matching="tolerant")
    assert found.did_you_mean == (secret if known else None)


@SEVERAL
@given(person=people(), pick=st.integers(0, 199), letters=st.integers(2, 5), locale=st.none() | LOCALES)
def test_no_completion_comes_from_a_hidden_text(
    crowd: Crowd, person: Person, pick: int, letters: int, locale: str | None
) -> None:
    actor = crowd.come_in(person)
    beginning = crowd.secrets[pick][:letters]
    shown = {
        word
        for _, row in crowd.findable(crowd.seen_by(person))
        for code, said in row["texts"].items()
        if locale in (None, code)
        for text in said
        for word in words(text)
        if word.startswith(beginning)
    }
    offered = crowd.parts.suggestions.words(actor, beginning, locale=locale)
    assert set(offered) <= shown
    assert bool(offered) == bool(shown)


@SEVERAL
@given(person=people(), record=st.integers(1, COUNTS[TICKETS]), q=st.sampled_from([EVERYWHERE, *WORDS]))
def test_nobody_is_told_why_a_hidden_record_is_not_there(crowd: Crowd, person: Person, record: int, q: str) -> None:
    actor, seen = crowd.come_in(person), crowd.seen_by(person)
    for entity in COUNTS:
        request = crowd.search.request(q=q)
        if record in seen[entity]:
            why = crowd.search.why(actor, request, entity, record)
            assert (why.reason == "not_searchable") == (not crowd.rows[entity][record]["searchable"])
        else:
            with pytest.raises((NotFound, Forbidden)):
                crowd.search.why(actor, request, entity, record)


def _said(row: Row) -> list[tuple[str, str]]:
    return list(row["texts"].values())


# --- k of k ---------------------------------------------------------------------------------------------------------


def hermits() -> Person:
    """Somebody who sees one content in a hundred, all of them opposite to every question."""
    rule = {"property": "author", "operator": "=", "value": HERMIT}
    role = PlainRole(frozenset({SELECT[CONTENTS]}), {SELECT[CONTENTS]: [rule]})
    return Person({"r": role}, Who(7, "anna", None, "en", ("r",)))


@pytest.mark.parametrize("locale", [None, "en"])
@pytest.mark.parametrize(
    ("q", "cost"), [(EVERYWHERE, "fast"), (EVERYWHERE, "balanced"), ("question of no known word", "balanced")]
)
def test_one_percent_of_the_rows_are_all_found_however_far(crowd: Crowd, q: str, cost: str, locale: str | None) -> None:
    person = hermits()
    actor = crowd.come_in(person)
    expected = {row["id"] for _, row in crowd.findable(crowd.seen_by(person), locale)}
    assert len(expected) >= 20
    crowd.meaning.fixed[q] = (1, 0, 0, 0)
    answers = list(crowd.pages(actor, q, cost=cost, size="10", locale=locale))
    shown = [hit.id for found in answers for hit in found.hits]
    assert (len(shown), set(shown)) == (len(expected), expected)
    assert [len(found.hits) for found in answers[:-2]] == [10] * (len(answers) - 2)
    assert ("vector" in answers[0].meta.strategies) == (cost != "fast")
    if cost != "fast":
        assert answers[0].meta.vector == len(expected)
