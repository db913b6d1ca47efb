"""Words for a beginning: from the list of words, and never from a text that the asker may not see."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from app.container import Container
from app.core.contracts.conditions import Condition
from app.core.contracts.documents import Document

CONTENTS, TICKETS = "cms.contents", "sao.tickets"
BOTH = {CONTENTS: None, TICKETS: None}


def put(parts: Container, record: int, body: str, locale: str = "en", entity: str = CONTENTS) -> None:
    with parts.units() as unit:
        parts.outbox.put(unit, entity, record, [Document(entity, record, locale, "", body, 1)])


@pytest.fixture
def shelf(container: Container) -> Container:
    put(container, 1, "The printer prints. PRJ-482 printer4")
    put(container, 2, "A printer, and private things.")
    put(container, 3, "Printers of the printing house: l'Università", locale="it")
    put(container, 4, "printer priority", entity=TICKETS)
    put(container, 5, "中文合約轉換 print")
    assert not container.word_statistics.refresh(seconds=None)
    return container


def ask(parts: Container, prefix: str, scope: Any = None, locale: str | None = None, limit: int = 10) -> list[str]:
    with parts.units("REPEATABLE READ") as unit:
        return list(parts.word_engine.suggestions(unit.session, prefix, scope or BOTH, locale, limit))


def test_words_of_most_texts_come_first(shelf: Container) -> None:
    assert ask(shelf, "prin") == ["printer", "print", "printers", "printing", "prints"]
    assert ask(shelf, "prin", limit=1) == ["printer"]
    assert ask(shelf, "PRIV") == ["private"]
    assert ask(shelf, "the pri", limit=2) == ["printer", "print"]


def test_one_language_and_one_kind(shelf: Container) -> None:
    assert ask(shelf, "prin", locale="it") == ["printers", "printing"]
    assert ask(shelf, "prio", scope={CONTENTS: None}) == []
    assert ask(shelf, "prio") == ["priority"]
    assert ask(shelf, "univ") == ["università"]


@pytest.mark.parametrize("prefix", ["", "p", "zzz", "printer4", "中文", "pri ", "%", "pri%", "'", "\\", "(", "p" * 300])
def test_what_is_no_beginning_of_a_word_gives_nothing(shelf: Container, prefix: str) -> None:
    assert ask(shelf, prefix) == []


def test_a_word_of_a_hidden_text_is_not_told(shelf: Container) -> None:
    blind = {CONTENTS: Condition("record_id", "!=", 2), TICKETS: None}
    assert ask(shelf, "priv") == ["private"]
    assert ask(shelf, "priv", scope=blind) == []
    assert ask(shelf, "prin", scope=blind)[0] == "printer"


def test_a_form_that_only_a_hidden_text_has_is_not_told(shelf: Container) -> None:
    """`prints` and `print` are one lexeme."""
    assert "prints" in ask(shelf, "prints")
    assert ask(shelf, "prints", scope={CONTENTS: Condition("record_id", "=", 5)}) == []


def test_a_list_that_lags_behind_tells_nothing_that_is_gone(shelf: Container) -> None:
    with shelf.units() as unit:
        shelf.outbox.remove(unit, CONTENTS, 2)
        assert unit.session.scalar(text("select count(*) from word_forms where word = 'private'")) == 1
    assert ask(shelf, "priv") == []


def test_a_misspelt_word_is_found_in_the_list_and_without_it(shelf: Container) -> None:
    def corrected(word: str, scope: Any = None) -> dict[str, str]:
        with shelf.units() as unit:
            return dict(shelf.word_engine.corrections(unit.session, [word], scope or BOTH))

    assert corrected("pritner") == {"pritner": "printer"}
    assert corrected("rprinter") == {"rprinter": "printer"}
    assert corrected("privatee", {CONTENTS: Condition("record_id", "!=", 2)}) == {}
    assert corrected("zeppelim") == {}
    put(shelf, 6, "A zeppelin")
    assert corrected("zeppelim") == {"zeppelim": "zeppelin"}
