"""Misspelt words, synonyms and empty pages, on real PostgreSQL."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.container import Container
from app.core.contracts.actor import SYSTEM, Actor
from app.core.contracts.conditions import Condition
from app.core.contracts.documents import Document
from app.core.settings.schema import SYNONYMS_EN
from app.search.answer import Relaxation, SearchRequest
from tests.integration.search.conftest import CONTENTS

READER = Actor(1, "reader", "Reader", permissions=frozenset({f"{CONTENTS}.select"}))


@pytest.fixture
def shelf(container: Container) -> Container:
    with container.units() as unit:
        for record, locale, title, body in (
            (1, "en", "Printer", "The printer of the second floor."),
            (2, "en", "Painter", "A painter came."),
            (3, "en", "Printers", "More printers, and a printer for photographs."),
            (4, "it", "Stampante", "La stampante della qualità."),
        ):
            container.outbox.put(unit, CONTENTS, record, [Document(CONTENTS, record, locale, title, body, 1)])
    return container


def ask(container: Container, q: str, actor: Actor = SYSTEM, **options: Any) -> Any:
    return container.search.search(actor, SearchRequest(q, cost="fast", **options))


@pytest.mark.parametrize("typed", ["pritner", "printr", "prinnter", "rinter", "brinter", "rpinter"])
def test_a_misspelt_word_is_found(shelf: Container, typed: str) -> None:
    found = ask(shelf, typed)
    assert {hit.id for hit in found.hits} == {1, 3}
    assert (found.did_you_mean, found.meta.corrected) == ("printer", True)
    assert any(marked for _, marked in found.hits[0].snippet)


def test_in_the_other_language_too(shelf: Container) -> None:
    assert ask(shelf, "stmpante").did_you_mean == "stampante"
    assert [hit.id for hit in ask(shelf, "qualitá").hits] == [4]


def test_a_word_that_some_text_has_is_never_exchanged(shelf: Container) -> None:
    found = ask(shelf, "painter")
    assert ([hit.id for hit in found.hits], found.did_you_mean) == ([2], None)


@pytest.mark.parametrize("q", ["PRT-12x", "cta", '"pritner"', "+pritner", "printe* zzzzqqqq"])
def test_what_is_protected_or_demanded_is_not_corrected(shelf: Container, q: str) -> None:
    assert ask(shelf, q).did_you_mean is None


def test_a_suggestion_never_tells_of_texts_that_are_hidden(shelf: Container) -> None:
    with shelf.units() as unit:
        values = {"status": "published", "category": "x", "translations": {"en": {"title": "Zeppelin", "body": "x"}}}
        record = shelf.records.create(unit, SYSTEM, CONTENTS, values)
    assert ask(shelf, "zepelin", READER).did_you_mean == "zeppelin"
    blind = replace(READER, rows={f"{CONTENTS}.select": Condition("id", "!=", record.id)})
    found = ask(shelf, "zepelin", blind)
    assert (found.hits, found.did_you_mean, found.relaxations) == ((), None, ())


def test_synonyms_count_as_the_word_itself(shelf: Container) -> None:
    assert ask(shelf, "copier").hits == ()
    with shelf.units() as unit:
        shelf.settings.write_system(unit, SYNONYMS_EN, "copier, printer; a, b")
    assert {hit.id for hit in ask(shelf, "copier").hits} == {1, 3}
    assert [hit.id for hit in ask(shelf, "copier floor", matching="strict").hits] == [1]
    assert ask(shelf, "copier floor").hits[0].id == 1


def test_an_empty_page_offers_what_has_hits(shelf: Container) -> None:
    assert ask(shelf, "printer", locale="it").relaxations == (Relaxation("locale", 2),)
    assert ask(shelf, "printer", entities=("sao.tickets",)).relaxations == (Relaxation("entity", 2),)
    assert ask(shelf, "printer cartridge", matching="strict").relaxations == (Relaxation("matching", 2),)
    assert ask(shelf, '"second printer"').relaxations == (Relaxation("demands", 2),)
    assert ask(shelf, "zzzzqqqq", locale="it").relaxations == ()
    assert ask(shelf, "printer").relaxations == ()


def test_one_word_finds_what_begins_so_behind_what_has_it(shelf: Container) -> None:
    with shelf.units() as unit:
        for record, title in ((11, "Photo"), (12, "Photography course"), (13, "Photographic paper")):
            shelf.outbox.put(unit, CONTENTS, record, [Document(CONTENTS, record, "en", title, "x", 1)])
    found = ask(shelf, "photo")
    assert next(hit.id for hit in found.hits) == 11
    assert {hit.id for hit in found.hits} == {3, 11, 12, 13}
    assert (found.did_you_mean, found.meta.corrected) == (None, False)
    assert {hit.id for hit in ask(shelf, "photogr").hits} == {3, 12, 13}
    assert {hit.id for hit in ask(shelf, "photo", matching="strict").hits} == {11}
    assert {hit.id for hit in ask(shelf, "photo zzzzqqqq").hits} == {11}
