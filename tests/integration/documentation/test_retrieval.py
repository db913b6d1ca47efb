"""Passages for a question: within every rule of who may read what, and unavailable as soon as one is broken."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text as sql

from app.container import Container
from app.core.contracts.actor import SYSTEM, Actor
from app.core.contracts.conditions import Condition
from app.core.errors import Forbidden, Invalid, Unavailable
from app.documentation.answering import Answering
from app.documentation.retrieval import Asked, Limits, Retrieval
from app.documentation.retrieved import Retrieved
from app.search.engines.postgres_coverage import PostgresWordSearch
from tests.integration.documentation.conftest import DEVELOPER, READER, AddPage
from tests.integration.search.conftest import Stage

BODY = "Lead.\n\n## Heating\n\nThe boiler stops at night.\n\n## Cooling\n\nThe fan runs by day."


def sources(answering: Answering, actor: Actor = READER, question: str = "boiler at night", **more: Any) -> list[str]:
    return [one.source for one in answering.retrieve(actor, Asked(question, **more)).passages]


def test_the_best_passage_of_each_page_with_its_headings(answering: Answering, add_page: AddPage) -> None:
    add_page("climate", BODY)
    add_page("other", "## Printer\n\nIt needs toner at night.")
    found = answering.retrieve(READER, Asked("why does the boiler stop at night"))
    first = found.passages[0]
    assert (first.number, first.source, first.breadcrumb, first.text) == (
        1,
        "climate",
        ("Heating",),
        "The boiler stops at night.",
    )
    assert [one.number for one in found.passages] == [1, 2]
    assert (found.quality, found.confident, found.strategies) == (1.0, True, ("keyword",))


def test_metadata_is_the_safe_one_and_scores_are_for_administrators(answering: Answering, add_page: AddPage) -> None:
    add_page("climate", BODY, owner="somebody")
    (one,) = answering.retrieve(READER, Asked("boiler")).passages
    assert one.projected() == {
        "audience": "user",
        "heading_breadcrumb": ["Heating"],
        "locale": "en",
        "module": "search",
        "safe_source_label": "Handbook: climate",
        "version": "1",
    }
    assert (one.score, one.similarity) == (None, None)
    assert answering.retrieve(SYSTEM, Asked("boiler")).passages[0].score == 1.0


def test_what_the_words_hardly_cover_is_not_confident(answering: Answering, add_page: AddPage) -> None:
    add_page("climate", BODY)
    found = answering.retrieve(READER, Asked("weather in Palermo and Catania during the day"))
    assert [one.source for one in found.passages] == ["climate"]
    assert found.quality < 0.3
    assert not found.confident
    nothing = answering.retrieve(READER, Asked("zzyzx"))
    assert (nothing.passages, nothing.quality, nothing.confident) == ((), 0.0, False)


@pytest.mark.parametrize(
    "absent",
    ["audience", "policy_classification", "policy_classification_version", "permissions_metadata_validated",
     "tenant_scope", "locale"],
)  # fmt: skip
def test_what_is_not_declared_is_not_shown(answering: Answering, add_page: AddPage, absent: str) -> None:
    add_page("climate", BODY, absent=absent)
    assert sources(answering) == []


@pytest.mark.parametrize(
    "broken",
    [
        {"required_permissions": ["sao.tickets.select"]},  # the count says that there are none
        {"required_permissions": "sao.tickets.select"},
        {"required_permissions": [" "]},
        {"safe_source_label": " "},
        {"version": None},
        {"tenant_id": "7"},
    ],
)
def test_one_page_that_breaks_the_policy_makes_all_unavailable(
    answering: Answering, add_page: AddPage, broken: dict[str, Any]
) -> None:
    add_page("good", BODY)
    add_page("bad", BODY, **broken)
    with pytest.raises(Unavailable) as caught:
        answering.retrieve(READER, Asked("boiler"))
    assert caught.value.code == "documentation.unavailable"


def test_row_rules_hold(answering: Answering, add_page: AddPage) -> None:
    add_page("climate", BODY)
    add_page("secret", BODY)
    permission = "documentation.user.select"
    restricted = Actor(
        1, "u", "U", permissions=frozenset({permission}), rows={permission: Condition("source", "!=", "secret")}
    )
    assert sources(answering, restricted) == ["climate"]


def test_who_may_not_read_the_corpus_is_told_so(answering: Answering, add_page: AddPage) -> None:
    add_page("climate", BODY)
    for actor, corpus in ((READER, "developer"), (DEVELOPER, "user"), (Actor(3, "n", "N"), "user")):
        with pytest.raises(Forbidden):
            answering.retrieve(actor, Asked("boiler", corpus))
    hidden = Actor(1, "u", "U", permissions=READER.permissions, readable={"documentation.user": frozenset({"title"})})
    with pytest.raises(Forbidden):
        answering.retrieve(hidden, Asked("boiler"))


def test_users_are_answered_in_their_language_developers_in_what_there_is(
    answering: Answering, add_page: AddPage
) -> None:
    add_page("climate", BODY)
    add_page("clima", "La caldaia (boiler) si ferma.", locale="it")
    add_page("internals", BODY, corpus="developer", absent="audience")
    assert sources(answering, question="boiler", locale="it") == ["clima"]
    assert sources(answering, question="boiler", locale="en") == ["climate"]
    assert sources(answering, DEVELOPER, "boiler", corpus="developer", locale="it") == ["internals"]


def test_pages_behind_the_first_window_are_found(answering: Answering, add_page: AddPage) -> None:
    """The words' best 60 belong to another tenant; what is left comes from further down."""
    for n in range(60):
        add_page(f"theirs-{n}", "Boiler boiler.", tenant_scope="tenant", tenant_id="8")
    add_page("mine", "A boiler is one of many things that this long page talks about.")
    assert sources(answering, question="boiler") == ["mine"]


def test_top_k_is_clamped(answering: Answering, add_page: AddPage) -> None:
    for n in range(12):
        add_page(f"page-{n}", "The boiler.")
    counts = [len(sources(answering, question="boiler", top_k=top_k)) for top_k in (-1, 0, 3, 10, 99)]
    assert counts == [1, 1, 3, 10, 10]
    assert len(sources(answering, question="boiler")) == 5


@pytest.mark.parametrize(
    ("asked", "code", "path"),
    [
        (Asked(" \u200b"), "input.required", "question"),
        (Asked("x" * 2001), "input.too_long", "question"),
        (Asked("x", "all"), "input.choice", "corpus"),
        (Asked("x", locale="fr"), "input.choice", "locale"),
    ],
)
def test_bad_questions_are_refused(answering: Answering, asked: Asked, code: str, path: str) -> None:
    with pytest.raises(Invalid) as caught:
        answering.retrieve(READER, asked)
    assert (caught.value.code, caught.value.path) == (code, path)


@pytest.fixture
def stage(container: Container) -> Stage:
    return Stage(container)


def by_meaning(stage: Stage, limits: Limits | None = None, question: str = "why is it cold", **more: Any) -> Retrieved:
    parts = stage.container
    words = PostgresWordSearch(parts.word_engine, parts.clock)
    retrieval = Retrieval(parts.units, words, stage.vectors, lambda session: limits or Limits())
    return retrieval.retrieve(more.pop("actor", SYSTEM), Asked(question, **more))


def test_meaning_finds_other_words_and_the_passage_it_found(stage: Stage, add_page: AddPage) -> None:
    near, far = add_page("climate", BODY), add_page("other", "## Fan\n\nThe fan runs.")
    body = "climate\n\nLead.\n\nHeating\n\nThe boiler stops at night."
    stage.embed("documentation.user", near, "en", 0, 1, (1, 0, 0, 0))
    stage.embed("documentation.user", far, "en", 0, 1, (0.6, 0.8, 0, 0))
    stage.execute('update embeddings set start = :start, "end" = :end', start=body.find("Heating"), end=len(body))
    found = by_meaning(stage)
    assert [(one.source, one.similarity) for one in found.passages] == [("climate", 1.0), ("other", 0.6)]
    assert found.passages[0].breadcrumb == ("Heating",)
    assert (found.strategies, found.degraded) == (("keyword", "vector"), None)


def test_passages_below_the_least_similarity_are_dropped(stage: Stage, add_page: AddPage) -> None:
    for source, vector in (("near", (1, 0, 0, 0)), ("far", (0.6, 0.8, 0, 0))):
        stage.embed("documentation.user", add_page(source, BODY), "en", 0, 1, vector)
    add_page("unembedded", BODY)
    found = by_meaning(stage, Limits(min_similarity=0.7), "boiler")
    assert [one.source for one in found.passages] == ["near"]


def test_a_calibrated_model_counts_for_half_of_the_quality(stage: Stage, add_page: AddPage) -> None:
    stage.embed("documentation.user", add_page("near", BODY), "en", 0, 1, (1, 0, 0, 0))
    assert by_meaning(stage, Limits(calibration=(0.8, 0.1))).quality == 0.5
    assert by_meaning(stage).quality == 0.0


def test_a_model_that_is_away_leaves_the_words(stage: Stage, add_page: AddPage) -> None:
    stage.embed("documentation.user", add_page("climate", BODY), "en", 0, 1, (1, 0, 0, 0))
    stage.servers.failure = Unavailable("vectors.none_serving")
    found = by_meaning(stage, question="boiler")
    assert ([one.source for one in found.passages], found.degraded) == (["climate"], "embedder_unavailable")
    stage.enabled = False
    assert by_meaning(stage, question="boiler").degraded == "disabled"


def test_the_serving_model_may_change_in_between(stage: Stage, add_page: AddPage) -> None:
    stage.embed("documentation.user", add_page("climate", BODY), "en", 0, 1, (1, 0, 0, 0))
    asked = stage.vectors.query_vector

    def changing(text: str, timeout: float) -> Any:
        vector = asked(text, timeout)
        with stage.units() as unit:
            unit.session.execute(sql("update serving set epoch = epoch + 1"))
        return vector

    stage.vectors.query_vector = changing  # type: ignore[method-assign]
    found = by_meaning(stage, question="boiler")
    assert ([one.source for one in found.passages], found.degraded) == (["climate"], "serving_changed")
