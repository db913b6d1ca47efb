"""Operators of a question; whatever is not well formed is free text."""

from __future__ import annotations

import pytest

from app.search.matching import Demand, Term, parse_question


@pytest.mark.parametrize(
    ("text", "demand"),
    [
        ('"red printer"', Demand(("red", "printer"), quoted=True)),
        ('+"red printer"', Demand(("red", "printer"), quoted=True)),
        ('-"red printer"', Demand(("red", "printer"), negative=True, quoted=True)),
        ("+Printer", Demand(("printer",))),
        ("+print*", Demand(("print",), prefix=True)),
        ("-printer", Demand(("printer",), negative=True)),
        ("+SAO-12", Demand(identifier="sao-12")),
        ("-sao-12", Demand(identifier="sao-12", negative=True)),
        ("+node.js", Demand(("node", "js"))),
        ("+dell'energia", Demand(("dell", "energia"))),
        ('"\\"x\\" y"', Demand(("x", "y"), quoted=True)),
        ("+約", Demand(("約",), prefix=True)),
        ('"合約轉換"', Demand(("合約", "約轉", "轉換"), quoted=True)),
    ],
)
def test_a_demand(text: str, demand: Demand) -> None:
    assert parse_question(f"scanner {text}").demands == (demand,)
    assert parse_question(f"{text} scanner").demands == (demand,)


@pytest.mark.parametrize(
    "text",
    [
        '"open',
        "+",
        "-",
        "a+b",
        "semi-open",
        "ls -la",
        "git -m",
        "--cost",
        "-5",
        "+1",
        "+39 02 555",
        '""',
        '"?!"',
        'half"way" in',
        "C++",
        "x -",
    ],
)
def test_free_text(text: str) -> None:
    assert parse_question(text).demands == ()


def test_the_wording_has_no_operators_and_nothing_that_is_excluded() -> None:
    query = parse_question('slow "red printer" +toner -laser SAO-12')
    assert query.phrase == "slow red printer toner SAO-12"
    assert [term.text for term in query.terms] == ["slow", "red", "printer", "toner", "sao", "12"]
    assert (query.free, query.identifiers, query.free_identifiers) == (1, ("sao-12",), 1)
    assert query.counts() == {"required_term": 1, "required_phrase": 1, "excluded": 1}


def test_a_beginning() -> None:
    assert parse_question("print* p* **").terms == (Term("print", prefix=True), Term("p"))


@pytest.mark.parametrize(
    "text", ["", '"' * 4000, "+" * 4000, "-" * 3999 + "x", '+"' * 2000, "\x00+\x01", "🚀 +🚀", "*" * 99]
)
def test_nothing_is_refused(text: str) -> None:
    parse_question(text, "strict")
