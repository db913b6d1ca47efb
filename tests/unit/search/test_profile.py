"""The tuning profile and the classes of questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import structlog

from app.core.contracts.planning import Plan
from app.search.matching import parse_question
from app.search.profile import CLASSES, Tuning, UnusableProfile, applied, query_class, read_profile

PLAN = Plan()


def analysed(question: str) -> Any:
    return parse_question(question).analysis


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("INV-2024-7 printer", "identifier"),
        ("what is in 2024", "identifier"),
        ("anna@example.org", "identifier"),
        ("6f9619ff-8b86-4011-b42d-00c04fc964ff", "identifier"),
        ("printer", "short_keyword"),
        ("the of", "short_keyword"),
        ("", "short_keyword"),
        ("VPN of the HR", "short_keyword"),
        ("printer paper tray", "multi_term"),
        ("printer paper tray on", "multi_term"),
        ("printer paper tray of the office", "natural_language"),
        ("red green blue black white yellow", "natural_language"),
    ],
)
def test_the_class_of_a_question(question: str, named: str) -> None:
    assert query_class(analysed(question)) == named


def profile(**content: Any) -> dict[str, Any]:
    return {"version": "v1", **content}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, "version"),
        ({"version": " "}, "version"),
        ({"version": 1}, "version"),
        (profile(default=[]), "tables"),
        (profile(classes=3), "tables"),
        (profile(classes={"odd": {}}), "unknown class odd"),
        (profile(classes={"identifier": 3}), "identifier"),
        (profile(default={"speed": 1}), "unknown parameter speed"),
        (profile(default={"rrf_k": 0}), "rrf_k"),
        (profile(default={"rrf_k": 1.0}), "rrf_k"),
        (profile(default={"rerank_top_k": True}), "rerank_top_k"),
        (profile(default={"rrf_weight": 1.1}), "rrf_weight"),
        (profile(default={"rrf_weight": True}), "rrf_weight"),
        (profile(default={"rrf_weight": float("nan")}), "rrf_weight"),
        (profile(default={"keyword_weight": 0, "vector_weight": 0, "hybrid_weight": 0}), "above 0"),
        (
            profile(
                default={"keyword_weight": 1, "vector_weight": 0},
                classes={"identifier": {"keyword_weight": 0, "hybrid_weight": 0}},
            ),
            "identifier: one of the three",
        ),
    ],
)
def test_a_wrong_profile_is_refused(content: dict[str, Any], said: str) -> None:
    with pytest.raises(UnusableProfile, match=said):
        read_profile(content)


def test_a_class_overrides_the_default_and_the_rest_stays_planned() -> None:
    found = read_profile(
        profile(
            default={"keyword_weight": 0.2, "vector_weight": 0.6, "rrf_k": 20},
            classes={"identifier": {"keyword_weight": 0.6, "rrf_weight": 0.5, "rerank_top_k": 9}},
        )
    )
    plain = applied(found, PLAN, analysed("printer"))
    assert (plain.words_weight, plain.rrf_k, plain.rrf_weight) == (pytest.approx(0.25), 20, 0)
    assert plain.tuning == {"applied": True, "profile_version": "v1", "query_class": "short_keyword"}
    code = applied(found, PLAN, analysed("SAO-12"))
    assert (code.words_weight, code.rrf_k, code.rrf_weight, code.rerank_top_k) == (0.5, 20, 0.5, 9)
    assert (code.agreement_boost, code.rerank_blend, code.shape) == (0, PLAN.rerank_blend, PLAN.shape)


def test_the_profile_that_is_shipped_changes_nothing_but_the_meta() -> None:
    from dataclasses import replace

    for question in ("SAO-12", "printer", "printer paper tray", "where is the paper of the printer"):
        tuned = Tuning()(PLAN, analysed(question))
        assert tuned.tuning is not None
        assert tuned.tuning["query_class"] in CLASSES
        assert replace(tuned, tuning=None) == PLAN


@pytest.mark.parametrize("content", ["version = ", 'version = "x"\n[default]\nspeed = 1', None])
def test_an_unusable_profile_leaves_plans_alone_and_is_said_once(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "tuning.toml"
    if content is not None:
        path.write_text(content)
    tuning = Tuning(path)
    with structlog.testing.capture_logs() as logs:
        assert tuning(PLAN, analysed("printer")) == PLAN
        assert tuning(PLAN, analysed("scanner")) == PLAN
    assert [line["event"] for line in logs] == ["search.tuning_unusable"]
