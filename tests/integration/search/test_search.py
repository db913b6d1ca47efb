"""The whole of a search: both legs, one page, and what it says about itself."""

from __future__ import annotations

import math
from typing import Any

import pytest

from app.core.contracts.actor import SYSTEM, Actor
from app.core.contracts.vectors import ServingChanged
from app.core.errors import Forbidden, Invalid, ModelServerFailed, Unavailable
from app.search.answer import SearchRequest
from tests.integration.search.conftest import CONTENTS, Stage

READER = Actor(1, "reader", "Reader", permissions=frozenset({"cms.contents.select"}))


def at(degrees: float) -> tuple[float, float, float, float]:
    return (math.cos(math.radians(degrees)), math.sin(math.radians(degrees)), 0, 0)


def ask(stage: Stage, q: str, actor: Actor = SYSTEM, **options: Any) -> Any:
    return stage.search().search(actor, SearchRequest(q, **options))


def test_a_record_without_the_words_is_found_by_its_meaning(stage: Stage) -> None:
    stage.put(1, at(5), en="Nothing in common")
    stage.put(2, at(85), en="the printer")
    found = ask(stage, "printer")
    assert {hit.id for hit in found.hits} == {1, 2}
    assert found.meta.strategies == ("keyword", "vector")
    assert (found.meta.mode_applied, found.meta.model) == ("balanced", "openai_compatible:m")
    assert (found.total, found.total_relation, found.meta.words, found.meta.vector) == (1, "eq", 1, 2)
    by_id = {hit.id: hit for hit in found.hits}
    assert (by_id[1].words_rank, by_id[1].vector_rank) == (None, 1)
    assert (by_id[2].words_rank, by_id[2].vector_rank) == (1, 2)


@pytest.mark.parametrize(("cost", "mode"), [("fast", "auto"), ("balanced", "basic")])
def test_words_alone_ask_no_model(stage: Stage, cost: Any, mode: Any) -> None:
    stage.put(1, at(5), en="the printer")
    found = ask(stage, "printer", cost=cost, mode=mode)
    assert stage.servers.asked == []
    assert found.meta.strategies == ("keyword",)
    assert (found.meta.degraded_reason, found.meta.vector_disabled, found.meta.model) == (None, None, None)


def test_deep_without_a_language_model_is_fast_and_says_so(stage: Stage) -> None:
    stage.put(1, at(5), en="the printer")
    found = ask(stage, "printer", cost="deep")
    assert (found.meta.mode_applied, found.meta.degraded_reason) == ("fast", "deep_unavailable")
    assert (found.meta.strategies, found.meta.cost, stage.servers.asked) == (("keyword",), "deep", [])


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (ModelServerFailed("timeout", server="s", request_id="r"), "embedder_timeout"),
        (ModelServerFailed("unreachable", server="s", request_id="r"), "embedder_unavailable"),
        (ModelServerFailed("not_finite", server="s", request_id="r"), "embedder_unavailable"),
        (Unavailable("vectors.none_serving"), "embedder_unavailable"),
    ],
)
def test_a_model_that_is_away_leaves_words(stage: Stage, failure: Exception, reason: str) -> None:
    stage.put(1, at(5), en="the printer")
    stage.servers.failure = failure
    found = ask(stage, "printer")
    assert [hit.id for hit in found.hits] == [1]
    assert (found.meta.degraded_reason, found.meta.strategies) == (reason, ("keyword",))


def test_the_guard_is_told(stage: Stage) -> None:
    stage.put(1, at(5), en="the printer")
    stage.execute("update serving set suspended_reason = 'switching'")
    found = ask(stage, "printer")
    assert (found.meta.vector_disabled, [hit.id for hit in found.hits]) == ("switching", [1])
    assert stage.servers.asked == []


class Changing:
    """A vector search whose serving model changes ``times`` times between question and search."""

    def __init__(self, stage: Stage, times: int) -> None:
        self.inner, self.left, self.questions = stage.vectors, times, 0

    def guard(self, session: Any, export: bool = False) -> Any:
        return self.inner.guard(session, export)

    def known_vector(self, *asked: Any) -> Any:
        """Every question is asked of the model."""

    def query_vector(self, text: str, timeout: float, guard: Any) -> Any:
        self.questions += 1
        return self.inner.query_vector(text, timeout, guard)

    def settings(self, *asked: Any) -> str:
        settings: str = self.inner.settings(*asked)
        return settings

    def nearest(self, *asked: Any) -> Any:
        if self.left:
            self.left -= 1
            raise ServingChanged
        return self.inner.nearest(*asked)


@pytest.mark.parametrize(("times", "reason", "legs"), [(1, None, 2), (2, "serving_changed", 1)])
def test_a_switch_in_between_is_asked_once_more(stage: Stage, times: int, reason: str | None, legs: int) -> None:
    stage.put(1, at(5), en="the printer")
    vectors = Changing(stage, times)
    found = stage.search(vectors).search(SYSTEM, SearchRequest("printer"))
    assert vectors.questions == 2
    assert (found.meta.degraded_reason, len(found.meta.strategies)) == (reason, legs)
    assert [hit.id for hit in found.hits] == [1]


def test_what_the_actor_may_not_see_is_in_no_leg(stage: Stage) -> None:
    stage.put(1, at(5), en="the printer")
    stage.put(2, at(1), en="the printer", entity="sao.tickets")
    assert {hit.entity for hit in ask(stage, "printer", actor=READER).hits} == {CONTENTS}
    with pytest.raises(Forbidden):
        ask(stage, "printer", actor=READER, entities=("sao.tickets",))
    with pytest.raises(Invalid):
        ask(stage, "printer", actor=READER, entities=("no.such",))
    nobody = Actor(2, "nobody", "Nobody")
    assert ask(stage, "printer", actor=nobody).hits == ()


def test_raw_similarities_are_for_administrators(stage: Stage) -> None:
    stage.put(1, at(60), en="the printer")
    assert ask(stage, "printer").hits[0].similarity == pytest.approx(0.5, abs=1e-3)
    assert ask(stage, "printer", actor=READER).hits[0].similarity is None


def test_pages_neither_repeat_nor_lose(stage: Stage) -> None:
    for number in range(1, 31):
        stage.put(number, at(number), en="the printer" if number % 2 else "something else")
    pages = [ask(stage, "printer", page=number, size=7) for number in range(1, 7)]
    ids = [hit.id for page in pages for hit in page.hits]
    assert sorted(ids) == list(range(1, 31))
    assert {page.pages for page in pages} == {5}
    assert pages[5].hits == ()
    assert (pages[5].meta.note, pages[5].total) == ("beyond_window", 15)
    again = [hit.id for number in range(1, 6) for hit in ask(stage, "printer", page=number, size=7).hits]
    assert again == ids


def test_title_and_snippet_come_from_the_wished_locale(stage: Stage) -> None:
    stage.put(1, at(5), en="An english printer", it="Una stampante italiana")
    (hit,) = ask(stage, "printer", locale="it").hits
    assert hit.locale == "it"
    assert "".join(text for text, _ in hit.snippet) == "Una stampante italiana"
    (hit,) = ask(stage, "printer").hits
    assert (hit.locale, [text for text, marked in hit.snippet if marked]) == ("en", ["printer"])
    assert ask(stage, "printer", locale="it", entities=(CONTENTS,)).total == 1


def test_a_stale_passage_lends_no_snippet(stage: Stage) -> None:
    stage.put(1, at(5), en="Old text " * 60 + "the end of it")
    stage.execute('update embeddings set start = 500, "end" = 600')
    before = "".join(text for text, _ in ask(stage, "meaning").hits[0].snippet)
    assert before.endswith("the end of it")
    stage.put(1, en="New words " * 60)
    after = "".join(text for text, _ in ask(stage, "meaning").hits[0].snippet)
    assert after.startswith("New words New words")


def test_a_deleted_record_is_not_shown_even_if_its_text_were_left(stage: Stage) -> None:
    with stage.units() as unit:
        values = {"status": "published", "translations": {"en": {"title": "Printer", "body": "x"}}}
        record = stage.container.records.create(unit, SYSTEM, CONTENTS, values)
    assert [hit.status for hit in ask(stage, "printer").hits] == ["published"]
    stage.execute("update cms_contents set deleted_at = now() where id = :id", id=record.id)
    assert ask(stage, "printer").hits == ()


def test_a_ticket_shows_its_name_beside_its_title(stage: Stage) -> None:
    with stage.units() as unit:
        values = {"subject": "Printer on fire", "description": "Second floor", "locale": "en"}
        stage.container.records.create(unit, SYSTEM, "sao.tickets", values)
    (hit,) = ask(stage, "SAO-1 fire").hits
    assert (hit.key, hit.title, hit.words_rank) == ("SAO-1", "Printer on fire", 1)
    assert ("fire", True) in hit.marked_title


def test_a_question_of_marks_alone_is_answered(stage: Stage) -> None:
    stage.put(1, at(5), en="the printer")
    found = ask(stage, "?!", cost="fast")
    assert (found.hits, found.total, found.meta.note) == ((), 0, "no_terms")
