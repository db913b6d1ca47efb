"""Operators and the ways of matching, on real PostgreSQL."""

from __future__ import annotations

from typing import Any

import pytest

from app.container import Container
from app.core.contracts.actor import SYSTEM
from app.core.contracts.documents import Document
from app.search.answer import SearchRequest
from tests.integration.search.conftest import CONTENTS, Stage


class Shelf:
    """Texts, and what is found of them by words."""

    def __init__(self, container: Container) -> None:
        self.container = container

    def put(self, record: int, title: str, body: str = "x", locale: str = "en") -> None:
        with self.container.units() as unit:
            document = Document(CONTENTS, record, locale, title, body, 1)
            self.container.outbox.put(unit, CONTENTS, record, [document])

    def ask(self, q: str, **options: Any) -> Any:
        return self.container.search.search(SYSTEM, SearchRequest(q, cost="fast", **options))

    def ids(self, q: str, **options: Any) -> list[int]:
        return [hit.id for hit in self.ask(q, **options).hits]


@pytest.fixture
def shelf(container: Container) -> Shelf:
    shelf = Shelf(container)
    shelf.put(1, "Printer", "The red printer of the second floor jams.")
    shelf.put(2, "Printer", "A printer, red at its back, jams too; ask for toner.")
    shelf.put(3, "Scanner", "The scanner stands beside the printer SAO-12.")
    shelf.put(4, "Stampante", "La stampante rossa del secondo piano.", "it")
    return shelf


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ('"red printer"', {1}),
        ('"printer red"', {2}),
        ('"RED printers"', {1}),
        ('"stampante del secondo"', set()),
        ('"rossa del secondo"', {4}),
        ('"printer of the second"', {1}),
        ("printer -toner", {1, 3}),
        ("printer +toner", {2}),
        ("printer +toners -scanner", {2}),
        ('printer -"red printer"', {2, 3}),
        ("+sao-12", {3}),
        ("printer -SAO-12", {1, 2}),
        ("print*", {1, 2, 3}),
        ("scan*", {3}),
        ("jams +scan*", {3}),
        ("printer +the", {1, 2, 3}),
        ("-printer", set()),
        ('"no such phrase" printer', set()),
    ],
)
def test_operators(shelf: Shelf, q: str, found: set[int]) -> None:
    assert set(shelf.ids(q)) == found
    assert shelf.ask(q).total == len(found)


@pytest.mark.parametrize(
    ("matching", "found"), [("auto", {1, 2, 3}), ("strict", set()), ("balanced", {2}), ("tolerant", {2})]
)
def test_four_words_of_which_three_stand_together(shelf: Shelf, matching: Any, found: set[int]) -> None:
    answer = shelf.ask("printer jams toner cartridge", matching=matching)
    assert {hit.id for hit in answer.hits} == found
    assert answer.meta.matching["filters"] is (matching != "auto")
    assert answer.meta.matching["requested_preference"] == matching


def test_three_words_tolerant_needs_two(shelf: Shelf) -> None:
    assert set(shelf.ids("printer jams cartridge", matching="tolerant")) == {1, 2}
    assert shelf.ids("printer jams cartridge", matching="balanced") == []


def test_an_identifier_is_necessary_where_matching_filters(shelf: Shelf) -> None:
    assert shelf.ids("printer SAO-12", matching="strict") == [3]
    assert shelf.ids("printer SAO-13", matching="tolerant") == []
    assert len(shelf.ids("printer SAO-13")) == 3


def test_scripts_without_spaces_in_a_phrase(shelf: Shelf) -> None:
    shelf.put(7, "Contract", "中文合約轉換")
    assert shelf.ids('"合約轉換"') == [7]
    assert shelf.ids('"轉換合約"') == []


def test_what_is_demanded_holds_for_the_meaning_too(stage: Stage) -> None:
    stage.put(1, (1, 0, 0, 0), en="the red printer")
    stage.put(2, (1, 0, 0, 0), en="nothing in common")
    search = stage.search()
    assert {hit.id for hit in search.search(SYSTEM, SearchRequest("printer")).hits} == {1, 2}
    for q in ('"red printer"', "printer -common", "+printer"):
        assert [hit.id for hit in search.search(SYSTEM, SearchRequest(q)).hits] == [1], q
    assert [wording for wording, _, _ in stage.servers.asked] == ["printer", "red printer"]
