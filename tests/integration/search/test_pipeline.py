"""Intent, plan, weights, reranking, retries, tuning and timings, through the API's front door."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.container import Container
from app.core.contracts.chat import ChatCompletion, ChatMessage
from app.core.errors import Unavailable
from app.core.settings.schema import (
    ADAPTIVE_TUNING,
    BUDGET_DEEP,
    BUDGET_FAST,
    DEBUG_TIMINGS,
    MAX_RETRIES,
    ORCHESTRATION,
    ORCHESTRATION_SECONDS,
    RERANKER,
    VECTOR_WEIGHT,
    WORDS_WEIGHT,
)
from app.search.options import NAMES, read_options
from app.search.reasons import REASONS
from tests.fakes.chat_model import FakeChatModel
from tests.fixtures.clients import Api
from tests.integration.search.conftest import CONTENTS, Stage, StageParts
from tests.integration.search.test_search import at

SECTIONS: dict[str, Any] = {"retrieval": {}, "ensemble": {}, "ranking": {}, "vector": {}}
Ask = Callable[..., dict[str, Any]]


class Chat(FakeChatModel):
    """Answers one object and remembers how long it was given."""

    def __init__(self, **says: Any) -> None:
        super().__init__(json.dumps(says))
        self.timeouts: list[float] = []

    def complete(self, messages: Sequence[ChatMessage], *, max_tokens: int, timeout: float) -> ChatCompletion:
        self.timeouts.append(timeout)
        return super().complete(messages, max_tokens=max_tokens, timeout=timeout)


class Scores:
    """A reranker that gives the scores of a test, by a word of the text."""

    name = "fake-cross-encoder"

    def __init__(self, **by_word: float) -> None:
        self.by_word = by_word
        self.asked: list[Sequence[str]] = []

    def scores(self, query: str, texts: Sequence[str], timeout: float) -> Sequence[float]:
        self.asked.append(texts)
        return [max((score for word, score in self.by_word.items() if word in text), default=0.0) for text in texts]


def deep(intent: Any = None, plan: Any = None, **parts: Any) -> StageParts:
    return StageParts(intent=intent or Chat(keywords=[]), planner=plan or Chat(**SECTIONS), **parts)


@pytest.fixture
def ask(stage: Stage, container: Container, api: Api) -> Ask:
    """``ask(question, parts, cost=…, budget_ms=…, option=…)``: the JSON of the front door."""

    def asked(q: str, parts: StageParts | None = None, query: str = "cost=deep", **options: Any) -> dict[str, Any]:
        container.search = stage.search(options.pop("vectors", None), with_parts=parts, **options)
        answer = api.get(f"/api/v1/search?q={q}&{query}")
        assert answer.status_code == 200, answer.json
        found: dict[str, Any] = answer.json
        return found

    return asked


def ids(found: dict[str, Any]) -> list[int]:
    return [hit["id"] for hit in found["data"]]


def test_a_deep_search_has_everything(stage: Stage, ask: Ask) -> None:
    stage.put(1, at(5), en="the printer")
    intent, plan, scores = Chat(keywords=["x"]), Chat(**SECTIONS), Scores(printer=0.5)
    meta = ask("printer", deep(intent, plan, reranker=scores), rerank=True)["meta"]["search"]
    assert (meta["mode_requested"], meta["mode_applied"], meta["degraded_reason"]) == ("deep", "deep", None)
    assert (meta["strategies"], meta["strategies_executed"]) == (["keyword", "vector"], 2)
    assert (meta["reranked"], meta["reranker_model"], meta["driver"]) == (True, "fake-cross-encoder", "postgres")
    assert (len(intent.asked), len(plan.asked), len(scores.asked)) == (1, 1, 1)
    assert (meta["retries_used"], meta["total_results"]) == (0, 1)


@pytest.mark.parametrize("query", ["cost=balanced", "cost=fast", "cost=deep&mode=basic"])
def test_only_a_deep_search_asks_a_language_model(stage: Stage, ask: Ask, query: str) -> None:
    stage.put(1, at(5), en="the printer")
    intent, plan = Chat(keywords=["x"]), Chat(**SECTIONS)
    meta = ask("printer", deep(intent, plan), query)["meta"]["search"]
    assert (intent.asked, plan.asked, meta["degraded_reason"]) == ([], [], None)


def test_what_is_meant_is_looked_for_beside_what_was_typed(stage: Stage, ask: Ask) -> None:
    stage.put(1, at(89), en="the vpn")
    stage.put(2, at(88), en="a virtual private network")
    found = ask("vpn", deep(Chat(keywords=[], expanded="virtual private network")))
    assert set(ids(found)) == {1, 2}
    assert found["meta"]["total"] == 2
    assert stage.servers.asked[0][0] == "virtual private network"
    strict = ask("vpn", deep(Chat(keywords=[], expanded="virtual private network")), "cost=deep&matching=strict")
    assert strict["meta"]["total"] == 1


def test_a_plan_of_words_alone_embeds_nothing(stage: Stage, ask: Ask) -> None:
    stage.put(1, at(5), en="the printer")
    meta = ask("printer", deep(plan=Chat(**{**SECTIONS, "strategy": "fulltext"})))["meta"]["search"]
    assert (meta["strategies"], meta["degraded_reason"], stage.servers.asked) == (["keyword"], None, [])


def test_a_plan_of_meaning_alone_orders_by_it_and_counts_the_words(stage: Stage, ask: Ask) -> None:
    stage.put(1, at(5), en="nothing in common")
    stage.put(2, at(60), en="the printer")
    found = ask("printer", deep(plan=Chat(**{**SECTIONS, "strategy": "vector"})))
    assert (ids(found), found["meta"]["total"]) == ([1, 2], 1)


def test_a_plan_brings_no_vectors_in_that_the_guard_keeps_out(stage: Stage, ask: Ask) -> None:
    stage.put(1, at(5), en="the printer")
    stage.enabled = False
    meta = ask("printer", deep(plan=Chat(**{**SECTIONS, "strategy": "vector"})))["meta"]["search"]
    assert (meta["strategies"], meta["vector_disabled"]) == (["keyword"], "disabled")
    assert meta["degraded_reason"] == "vectors_unavailable"


@pytest.mark.parametrize(
    ("words", "vector", "order"), [(100, 0, [2, 1]), (0, 100, [1, 2]), (0, 0, [2, 1]), (90, 10, [2, 1])]
)
def test_the_two_weights_are_settings(stage: Stage, ask: Ask, words: int, vector: int, order: list[int]) -> None:
    stage.put(1, at(5), en="nothing in common")
    stage.put(2, at(60), en="the printer")
    stage.put(3, at(80), en="a printer, and paper")
    found = ask("printer", None, "cost=balanced&explain=1", words_weight=words, vector_weight=vector)
    assert [one for one in ids(found) if one != 3] == order
    share = found["meta"]["explain"]["fusion"]["word_weight"]
    assert share == pytest.approx({100: 1.0, 0: 0.5 if vector == 0 else 0.0, 90: 0.9}[words])


def test_the_heuristic_orders_where_it_is_on(stage: Stage, ask: Ask) -> None:
    stage.put(1, at(5), en="paper of the printer, and printer, printer, printer")
    stage.put(2, at(5), en="the printer paper")
    off = ask("printer paper", None, "cost=fast")["meta"]["search"]
    assert (off["reranked"], "reranker_model" in off) == (False, False)
    found = ask("printer paper", None, "cost=fast", rerank=True, rerank_weight=100)
    assert ids(found) == [2, 1]
    assert (found["meta"]["search"]["reranked"], found["meta"]["search"]["reranker_model"]) == (True, "heuristic")


def test_the_heuristic_reads_whole_texts_and_a_model_the_best_passage(stage: Stage, ask: Ask) -> None:
    stage.put(1, en="toner and ink for all of the office, and far behind them the printer paper")
    stage.embed(CONTENTS, 1, "en", 12, 13, at(5))
    stage.put(2, at(4), en="the printer")
    asked = {"rerank": True, "rerank_weight": 100}
    assert ids(ask("printer paper", None, "cost=balanced", **asked)) == [1, 2]
    scores = Scores()
    ask("printer paper", StageParts(reranker=scores), "cost=balanced", **asked)
    assert [("Title 1" in text, "paper" in text) for text in sorted(scores.asked[0])] == [(True, False), (False, False)]


def test_a_cross_encoder_reads_the_best_texts_and_blends(stage: Stage, ask: Ask) -> None:
    for record, body in enumerate(("the printer alpha", "the printer beta", "the printer gamma"), start=1):
        stage.put(record, at(5 * record), en=body)
    scores = Scores(gamma=1.0)
    asked = {"rerank": True, "rerank_weight": 100, "rerank_top_k": 2}
    few = ask("printer", StageParts(reranker=scores), "cost=balanced", **asked)
    assert (set(ids(few)), few["meta"]["search"]["reranked"]) == ({1, 2, 3}, True)
    assert [len(texts) for texts in scores.asked] == [2]
    assert all(text.startswith("Title ") for text in scores.asked[0])
    first = ask("printer", StageParts(reranker=scores), "cost=balanced", **{**asked, "rerank_top_k": 30})
    assert ids(first)[0] == 3
    kept = ask("printer", StageParts(reranker=scores), "cost=balanced", rerank=True, rerank_weight=0)
    assert ids(kept) == [1, 2, 3]


def test_no_transaction_is_open_while_a_reranker_is_asked(stage: Stage, ask: Ask) -> None:
    stage.put(1, at(5), en="the printer")
    busy = "select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in trans%'"
    seen: list[Any] = []

    class Watching(Scores):
        def scores(self, query: str, texts: Sequence[str], timeout: float) -> Sequence[float]:
            seen.append(stage.execute(busy))
            return super().scores(query, texts, timeout)

    ask("printer", StageParts(reranker=Watching(printer=1.0)), "cost=balanced", rerank=True)
    assert seen == [0]


def test_a_record_that_goes_while_a_reranker_reads_is_not_shown(stage: Stage, ask: Ask) -> None:
    stage.put(1, at(5), en="the printer")
    stage.put(2, at(9), en="the printer")

    class Deleting(Scores):
        def scores(self, query: str, texts: Sequence[str], timeout: float) -> Sequence[float]:
            stage.execute("delete from search_documents where record_id = 1")
            return super().scores(query, texts, timeout)

    found = ask("printer", StageParts(reranker=Deleting(printer=1.0)), "cost=balanced", rerank=True)
    assert ids(found) == [2]


class Failing:
    """The stage's vectors, whose model fails a number of times."""

    def __init__(self, stage: Stage, times: int) -> None:
        self.inner, self.left = stage.vectors, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def known_vector(self, *asked: Any) -> Any:
        """Every question is asked of the model."""

    def query_vector(self, *asked: Any) -> Any:
        if self.left:
            self.left -= 1
            raise Unavailable("vectors.none_serving")
        return self.inner.query_vector(*asked)


def test_a_poor_answer_is_looked_for_again_in_the_own_words(stage: Stage, ask: Ask) -> None:
    stage.put(1, at(5), en="the printer")
    parts = deep(Chat(keywords=[], expanded="zebra"), Chat(**{**SECTIONS, "strategy": "fulltext"}))
    meta = ask("printer", parts, "cost=deep&retries=2")["meta"]["search"]
    assert (meta["retries_used"], meta["strategies"]) == (1, ["keyword", "vector"])
    assert [wording for wording, _, _ in stage.servers.asked] == ["printer"]


def test_nobody_asks_again_who_was_not_told_to(stage: Stage, ask: Ask) -> None:
    stage.put(1, at(5), en="the printer")
    parts = deep(Chat(keywords=[], expanded="zebra"))
    assert ask("printer", parts, "cost=deep")["meta"]["search"]["retries_used"] == 0
    assert ask("printer", None, "cost=balanced&retries=2")["meta"]["search"]["retries_used"] == 0
    parts = deep(Chat(keywords=[], expanded="zebra"))
    assert ask("printer", parts, "cost=deep&retries=2", max_retries=0)["meta"]["search"]["retries_used"] == 0


def test_a_good_answer_is_left_alone(stage: Stage, ask: Ask) -> None:
    for record in range(1, 7):
        stage.put(record, at(record), en="the printer")
    meta = ask("printer", deep(Chat(keywords=[], expanded="zebra")), "cost=deep&retries=2")["meta"]["search"]
    assert meta["retries_used"] == 0
    assert meta["quality"] >= 0.3


def test_a_model_that_comes_back_is_used_by_the_retry(stage: Stage, ask: Ask) -> None:
    stage.put(1, at(5), en="nothing in common")
    stage.put(2, at(80), en="the printer")
    found = ask("printer", deep(), "cost=deep&retries=2", vectors=Failing(stage, 1))
    assert (set(ids(found)), found["meta"]["search"]["retries_used"]) == ({1, 2}, 1)
    assert found["meta"]["search"]["degraded_reason"] == "embedder_unavailable"
    twice = ask("printer", deep(), "cost=deep&retries=2", vectors=Failing(stage, 9))["meta"]["search"]
    assert twice["retries_used"] == 2


def test_quality_is_on_the_models_own_scale(stage: Stage, ask: Ask) -> None:
    stage.put(1, at(0), en="the printer")
    stage.put(2, at(9), en="paper")
    meta = ask("printer", StageParts(calibration=(0.5, 0.5)), "cost=balanced")["meta"]["search"]
    assert meta["quality"] == 1.0
    off = ask("zebra", StageParts(calibration=(1.0, 0.5)), "cost=balanced")["meta"]["search"]
    assert off["quality"] == 0.0
    words = ask("printer zebra", None, "cost=fast")["meta"]["search"]
    assert 0 < words["quality"] < 1


def test_orchestration_is_a_setting(stage: Stage, ask: Ask) -> None:
    stage.put(1, at(5), en="the printer")
    for cost, reason in (("balanced", "search_orchestration_disabled"), ("deep", "search_orchestration_disabled")):
        meta = ask("printer", deep(), f"cost={cost}", orchestration=False)["meta"]["search"]
        assert (meta["mode_applied"], meta["degraded_reason"], meta["cost"]) == ("fast", reason, cost)
        assert meta["strategies"] == ["keyword"]
    assert ask("printer", deep(), "cost=fast", orchestration=False)["meta"]["search"]["degraded_reason"] is None
    assert ask("printer", deep(), "mode=basic", orchestration=False)["meta"]["search"]["degraded_reason"] is None


def test_a_deep_search_over_the_limit_is_fast(stage: Stage, ask: Ask) -> None:
    stage.put(1, at(5), en="the printer")
    limits: list[int] = []

    def refused(actor: Any, limit: int) -> bool:
        limits.append(limit)
        return False

    meta = ask("printer", deep(deep_allowed=refused), deep_per_minute=3)["meta"]["search"]
    assert (meta["mode_applied"], meta["degraded_reason"], limits) == ("fast", "rate_limited", [3])
    ask("printer", deep(deep_allowed=refused), "cost=balanced")
    assert limits == [3]


def test_timings_are_told_where_that_is_on(stage: Stage, ask: Ask) -> None:
    stage.put(1, at(5), en="the printer")
    assert "timings" not in ask("printer", deep())["meta"]["search"]
    told = ask("printer", deep(), timings=True)["meta"]["search"]["timings"]
    assert [name for name, took in told.items() if took is None] == []
    fast = ask("printer", None, "cost=fast", timings=True)["meta"]["search"]["timings"]
    assert (fast["intent_ms"], fast["plan_ms"], fast["vector_ms"]) == (None, None, None)
    assert set(fast) == {"intent_ms", "plan_ms", "vector_ms", "ensemble_ms", "total_ms"}


def test_tuning_is_told_where_it_is_on(stage: Stage, ask: Ask) -> None:
    stage.put(1, at(5), en="the printer")
    plain = ask("SAO-12 printer", None, "cost=balanced")
    tuned = ask("SAO-12 printer", None, "cost=balanced", tuned=True)
    assert "tuning" not in plain["meta"]["search"]
    told = tuned["meta"]["search"]["tuning"]
    assert (told["applied"], told["query_class"]) == (True, "identifier")
    assert told["profile_version"]
    assert [(hit["id"], hit["score"]) for hit in tuned["data"]] == [(hit["id"], hit["score"]) for hit in plain["data"]]


def test_each_legs_own_order_is_for_administrators(stage: Stage, ask: Ask) -> None:
    stage.put(1, at(5), en="the printer")
    legs = ask("printer", None, "cost=balanced")["meta"]["search"]["per_strategy"]
    assert [(one["id"], one["rank"], one["entity"]) for one in legs["vector"]] == [(1, 1, CONTENTS)]
    assert legs["keyword"][0]["score"] > 0
    explained = ask("printer", deep(), "cost=deep&explain=1")["meta"]["explain"]
    assert explained["plan"]["source"] == "llm+guardrails"


def test_the_language_model_gets_a_share_of_the_budget_or_its_own_limit(stage: Stage, ask: Ask) -> None:
    stage.put(1, at(5), en="the printer")
    intent, plan = Chat(keywords=[]), Chat(**SECTIONS)
    ask("printer", deep(intent, plan), budget_ms=10_000, model_seconds=None)
    assert (intent.timeouts, plan.timeouts) == ([pytest.approx(2.5)], [pytest.approx(5)])
    ask("scanner", deep(intent, plan), budget_ms=10_000, model_seconds=2.0)
    assert (intent.timeouts[1], plan.timeouts[1]) == (pytest.approx(2), pytest.approx(2))


def test_the_settings_of_search_are_read_together(container: Container) -> None:
    changed: dict[str, Any] = {
        BUDGET_FAST: 400, BUDGET_DEEP: 4000, MAX_RETRIES: 1, WORDS_WEIGHT: 70, VECTOR_WEIGHT: 20, RERANKER: True,
        ADAPTIVE_TUNING: True, DEBUG_TIMINGS: True, ORCHESTRATION: False, ORCHESTRATION_SECONDS: 0,
    }  # fmt: skip
    with container.units() as unit:
        assert container.settings.definitions[BUDGET_FAST].default == 300
        for name, value in changed.items():
            container.settings.write_system(unit, name, value)
        options = read_options(container.settings.values(unit, NAMES))
    assert options.budgets == {"fast": 400, "balanced": 1500, "deep": 4000}
    assert (options.max_retries, options.words_weight, options.vector_weight, options.rerank) == (1, 70, 20, True)
    assert (options.tuned, options.timings, options.orchestration, options.model_seconds) == (True, True, False, None)


def test_every_reason_has_a_sentence_on_the_page() -> None:
    from app.web.search_words import DEGRADED

    assert set(DEGRADED) == set(REASONS)


def test_the_reference_lists_every_reason() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "search.md"
    part = page.read_text(encoding="utf-8").split("## Why less was done")[1].split("\n## ")[0]
    listed = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", part, re.MULTILINE))
    listed.pop("degraded_reason", None)
    assert listed == dict(REASONS)
