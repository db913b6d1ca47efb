"""What a question is about."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.core.contracts.planning import Intent
from app.core.errors import Unavailable
from app.search.intent import ModelIntent, simple_intent, widened
from app.search.matching import parse_question
from tests.fakes.chat_model import FakeChatModel
from tests.fakes.clock import FakeClock


def test_the_simple_parser() -> None:
    intent = simple_intent("How do I reset THE printer, e la stampante? x")
    assert intent == Intent(keywords=("reset", "printer", "stampante"), expanded=None)


def ask(said: Any) -> Intent:
    return ModelIntent(FakeChatModel(json.dumps(said)), FakeClock()).intent("vpn", 1.0)


def test_a_model_says_what_is_meant() -> None:
    intent = ask({"keywords": ["vpn", 7, "remote  access", "vpn", ""], "expanded": " virtual\nprivate network "})
    assert intent == Intent(("vpn", "remote access"), "virtual private network")
    assert ask({"keywords": []}) == Intent()


@pytest.mark.parametrize("said", [{"keywords": "vpn"}, {"expanded": ["vpn"]}, [], "vpn", None])
def test_what_can_not_be_read_is_refused(said: Any) -> None:
    with pytest.raises(Unavailable):
        ask(said)


def test_an_expansion_is_short() -> None:
    intent = ask({"keywords": ["w" * 900] * 3 + [f"w{n}" for n in range(50)], "expanded": "word " * 900})
    assert len(intent.expanded or "") == 400
    assert (len(intent.keywords), len(intent.keywords[0])) == (16, 64)


def test_an_expansion_adds_words_behind_those_that_were_typed() -> None:
    query = parse_question("vpn -office")
    wide = widened(query, Intent(("tunnel",), 'virtual "private" network -vpn the'))
    assert [term.text for term in wide.terms] == ["vpn", "virtual", "private", "network", "tunnel"]
    assert (wide.demands, wide.free, wide.phrase) == (query.demands, query.free, query.phrase)
    assert wide.typed == 1


def test_where_matching_filters_nothing_is_added() -> None:
    query = parse_question("vpn", "strict")
    assert widened(query, Intent(expanded="virtual private network")) == query
    plain = parse_question("vpn")
    assert widened(plain, Intent(("vpn",))) == plain
