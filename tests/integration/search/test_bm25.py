"""BM25 of the PostgreSQL engine: what words weigh, the walk that counts them, and what wide questions leave out."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import text

from app.container import Container
from app.core.contracts.conditions import Condition
from app.core.contracts.documents import Document
from app.core.queue import DEFAULT, Wake
from app.search.engines import postgres_statistics, ranking
from app.search.engines.ports import KeywordLeg
from app.search.engines.postgres_matched import place, vector
from app.search.matching import parse_query, parse_question
from jobs import runtime, upkeep
from tests.fakes.queue import RecordingQueue

CONTENTS, TICKETS = "cms.contents", "sao.tickets"
BOTH = {CONTENTS: None, TICKETS: None}


def put(parts: Container, record: int, title: str, body: str, locale: str = "en", entity: str = CONTENTS) -> None:
    with parts.units() as unit:
        parts.outbox.put(unit, entity, record, [Document(entity, record, locale, title, body, 1)])


def ask(parts: Container, question: str, window: int = 200, scope: Any = None) -> KeywordLeg:
    with parts.units("REPEATABLE READ") as unit:
        return parts.word_engine.keyword(unit.session, parse_query(question), scope or BOTH, None, window)


def answer(leg: KeywordLeg) -> list[tuple[str, int, str, float]]:
    return [(hit.entity, hit.record_id, hit.locale, round(hit.score, 5)) for hit in leg.hits]


def scalar(parts: Container, sql: str, **values: object) -> Any:
    with parts.units() as unit:
        return unit.session.scalar(text(sql), values)


def walked(parts: Container) -> None:
    assert not parts.word_statistics.refresh(seconds=None)


def bm25(texts: Sequence[tuple[Sequence[str], Sequence[str]]], question: Sequence[str]) -> list[float]:
    """By the book: Lucene's, k1 1.2 and b .75, a word of the title half an occurrence more."""
    lengths = [len(title) + len(body) for title, body in texts]
    mean = sum(lengths) / len(lengths)
    scores = []
    for (title, body), length in zip(texts, lengths, strict=True):
        score = 0.0
        for word in question:
            having = sum(word in (*one, *other) for one, other in texts)
            often = title.count(word) + body.count(word)
            often_and = often + (0.5 if word in title else 0.0)
            if often:
                idf = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
                score += idf * often_and * 2.2 / (often_and + 1.2 * (0.25 + 0.75 * length / mean))
        scores.append(score)
    return scores


TEXTS = (
    (("toner",), ("lamp", "paper", "toner", "lamp")),
    (("lamp",), ("lamp", "lamp", "cable", "desk", "desk", "desk", "cable", "tape")),
    (("desk",), ("paper",)),
    (("tape",), ("cable", "cable", "lamp")),
)


def test_scores_are_those_of_the_book(container: Container) -> None:
    for number, (title, body) in enumerate(TEXTS, start=1):
        put(container, number, " ".join(title), " ".join(body))
    walked(container)
    with container.units() as unit:  # made again for the mean length, however near the walk found the former one
        unit.session.execute(text("update search_documents set impacts = word_impacts(words, cast(5 as real))"))
    wanted = bm25(TEXTS, ["lamp", "paper", "toner"])
    found = {hit.record_id: hit.score for hit in ask(container, "lamp paper toner").hits}
    assert found == {number: pytest.approx(score, rel=1e-4) for number, score in enumerate(wanted, 1) if score}


def test_places_are_the_same_here_and_there(container: Container) -> None:
    for word in ("printer", "qualità", "合約", "x" * 255):
        assert scalar(container, "select word_place(:word)", word=word) == place(word)
    assert vector({}) == "{}/268435456"


def test_weights_follow_words_whoever_writes_them(container: Container) -> None:
    put(container, 1, "Printer", "x")
    put(container, 2, "Scanner", "printer")
    with container.units() as unit:  # as a release that knows nothing of weights does
        unit.session.execute(
            text("update search_documents set words = to_tsvector('changeover_en', 'zeppelin') where record_id = 1")
        )
    (hit,) = ask(container, "zeppelin").hits
    assert hit.record_id == 1
    assert hit.score > 0.1
    assert [hit.record_id for hit in ask(container, "printer").hits] == [2]


def test_texts_without_weights_are_found_and_filled(container: Container) -> None:
    for number in range(1, 6):
        put(container, number, f"Printer {number}", "toner " * number)
    walked(container)
    before = answer(ask(container, "toner printer"))
    with container.units() as unit:
        unit.session.execute(text("update search_documents set impacts = null, mean_length = null"))
        unit.session.execute(text("update word_walks set finished_at = null"))
    rough = ask(container, "toner printer")
    assert {hit.record_id for hit in rough.hits} == {1, 2, 3, 4, 5}
    assert all(hit.score > 0 for hit in rough.hits)
    walked(container)
    assert answer(ask(container, "toner printer")) == before
    assert scalar(container, "select count(*) from search_documents where impacts is null") == 0


def test_lengths_that_moved_weigh_anew(container: Container) -> None:
    for number in range(1, 9):
        put(container, number, "Printer", "toner paper")
    walked(container)
    for number in range(9, 17):
        put(container, number, "Printer", "toner paper cable " * 20)
    walked(container)
    with container.units() as unit:
        means = list(unit.session.scalars(text("select distinct mean_length from search_documents")))
    assert means == [pytest.approx(32.0)]
    assert scalar(container, "select mean_length from word_statistics where entity = 'cms.contents'") == means[0]


def test_an_editor_is_not_waited_for(container: Container) -> None:
    put(container, 1, "Printer", "toner")
    put(container, 2, "Printer", "toner")
    with container.units() as unit:
        unit.session.execute(text("update search_documents set impacts = null"))
    with container.engine.connect() as held:
        held.exec_driver_sql("select from search_documents where record_id = 1 for update")
        walked(container)
    assert scalar(container, "select record_id from search_documents where impacts is null") == 1
    assert scalar(container, "select documents from word_stems where word = 'toner'") == 2


def test_a_walk_goes_on_where_it_stopped(container: Container, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_statistics, "SLICE", 1)
    for number in range(1, 5):
        put(container, number, "Printer", "toner")
    put(container, 4, "Stampante", "toner", locale="it")
    put(container, 1, "Ticket", "toner", entity=TICKETS)
    runs = 1
    while container.word_statistics.refresh(seconds=-1.0):
        runs += 1
    assert runs > 4
    with container.units() as unit:
        rows = unit.session.execute(
            text("select entity, locale, documents from word_forms where word = 'toner' order by 1, 2")
        )
        assert [tuple(row) for row in rows] == [(CONTENTS, "en", 3), (CONTENTS, "it", 1), (TICKETS, "en", 1)]
        assert unit.session.scalar(text("select sum(documents) from word_statistics")) == 5
        assert unit.session.scalar(text("select count(*) from word_stems where counting <> 0")) == 0


def test_the_job_lets_others_have_their_turn(
    container: Container, queue: RecordingQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh = container.word_statistics.refresh
    monkeypatch.setattr(runtime, "container", lambda: container)
    monkeypatch.setattr(container.word_statistics, "refresh", lambda stop: refresh(stop, seconds=-1.0))
    put(container, 1, "Printer", "toner")
    queue.sent.clear()
    upkeep.refresh_words()
    assert queue.sent == [Wake("jobs.upkeep.refresh_words", DEFAULT)]
    for _ in range(3):
        upkeep.refresh_words()
    queue.sent.clear()
    upkeep.refresh_words()
    assert queue.sent == []
    assert scalar(container, "select documents from word_stems where word = 'toner'") == 1


def test_a_walk_is_due_after_a_change_and_not_before(container: Container) -> None:
    put(container, 1, "Printer", "toner")
    walked(container)
    first = scalar(container, "select finished_at from word_walks where entity = 'cms.contents'")
    walked(container)
    assert scalar(container, "select finished_at from word_walks where entity = 'cms.contents'") == first
    with container.units() as unit:
        container.outbox.remove(unit, CONTENTS, 1)
    walked(container)
    assert scalar(container, "select count(*) from word_stems") == 0
    assert scalar(container, "select documents from word_statistics where entity = 'cms.contents'") == 0


def test_a_word_is_known_from_the_moment_it_is_written(container: Container) -> None:
    put(container, 1, "Printer", "toner")
    walked(container)
    assert ask(container, "zeppelin").unknown == ("zeppelin",)
    put(container, 2, "Zeppelin", "x")
    leg = ask(container, "zeppelin")
    assert ([hit.record_id for hit in leg.hits], leg.unknown, leg.known_idf_mass) == ([2], (), 1.0)


def test_a_word_of_another_locale_is_no_unknown_one_where_it_is_new(container: Container) -> None:
    put(container, 1, "Zeppelin", "x")
    walked(container)
    put(container, 2, "Zeppelin", "x", locale="it")
    leg = ask(container, "zeppelin")
    assert {(hit.record_id, hit.locale) for hit in leg.hits} == {(1, "en"), (2, "it")}
    assert (leg.unknown, leg.known_idf_mass) == ((), 1.0)


def test_hits_say_how_much_of_the_question_they_have(container: Container) -> None:
    put(container, 1, "Printer", "toner SAO-12")
    put(container, 2, "Printer", "x")
    first, second = ask(container, "printer toner").hits
    assert first.record_id == 1
    assert first.coverage == pytest.approx(1.0)
    assert 0 < (second.coverage or 0) < 0.5
    (only,) = ask(container, "toner zeppelin").hits
    assert 0 < (only.coverage or 0) < 0.5
    assert ask(container, "sao-12").hits[0].coverage == pytest.approx(1.0)


WORDS = [f"{first}{second}o" for first in "bdfglmnprst" for second in ("ara", "ile", "uro", "ena")]


@pytest.fixture
def many(container: Container) -> Container:
    """Some hundred texts of few words, the first of which stand in most."""
    chance = random.Random(4)
    weights = [1 / (at + 1) for at in range(len(WORDS))]
    with container.units() as unit:
        for entity in BOTH:
            items = {}
            for record in range(1, 161):
                locales = ("en", "it")[: 1 + record % 2]
                items[record] = [
                    Document(entity, record, code, " ".join(chance.choices(WORDS, weights, k=2)),
                             " ".join(chance.choices(WORDS, weights, k=chance.randint(2, 30))), 1)
                    for code in locales
                ]  # fmt: skip
            container.outbox.put_many(unit, entity, items)
    walked(container)
    return container


@pytest.mark.parametrize("number", range(8))
def test_what_is_left_out_changes_nothing(many: Container, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(number)
    question = " ".join(chance.sample(WORDS[:12], 3) + chance.sample(WORDS[12:], number % 4))
    scope: Any = BOTH if number % 2 else {CONTENTS: Condition("record_id", "<=", 90), TICKETS: None}
    for window in (3, 10, 200):
        whole = ask(many, question, window, scope)
        with monkeypatch.context() as patch:
            patch.setattr(ranking, "CUT_FROM", 0)
            patch.setattr(ranking, "FIRST_CUT", 5)
            cut = ask(many, question, window, scope)
        assert [one[:2] + one[3:] for one in answer(cut)] == [one[:2] + one[3:] for one in answer(whole)]
        assert (cut.total, cut.capped) == (whole.total, whole.capped)
        assert len(whole.hits) == min(window, whole.total)


def test_beginnings_rank_by_how_rare_they_are(container: Container) -> None:
    put(container, 1, "Note", "printing paper desk")
    put(container, 2, "Note", "lamp")
    with container.units() as unit:
        leg = container.word_engine.keyword(unit.session, parse_question("print* lamp"), BOTH, None, 9)
    assert {hit.record_id for hit in leg.hits} == {1, 2}
    assert all(hit.score > 0 for hit in leg.hits)
