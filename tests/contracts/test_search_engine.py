"""What every search engine does, whichever it is (`app/search/engines/ports.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from app.container import Container
from app.core.contracts.conditions import Condition, Group
from app.core.contracts.documents import Document
from app.core.contracts.strategy import Matching
from app.core.errors import Invalid
from app.core.settings.schema import SEARCH_ENGINE
from app.search.engines.ports import KeywordLeg, SearchEngine
from app.search.matching import parse_query, parse_question
from tests.fakes.clock import FakeClock
from tests.fakes.queue import RecordingQueue
from tests.fixtures.elasticsearch import elasticsearch_container

CONTENTS, TICKETS = "cms.contents", "sao.tickets"
EVERYTHING = {CONTENTS: None, TICKETS: None}


class Engine:
    """An engine with documents."""

    def __init__(self, container: Container) -> None:
        self.container = container
        self.engine: SearchEngine = container.word_engine

    def put(self, record: int, *texts: tuple[str, str, str], entity: str = CONTENTS) -> None:
        """(locale, title, body) of a record."""
        with self.container.units() as unit:
            documents = [Document(entity, record, locale, title, body, 1) for locale, title, body in texts]
            self.container.outbox.put(unit, entity, record, documents)

    def ask(self, question: str, scope: Any = None, locale: str | None = None, window: int = 200) -> KeywordLeg:
        self.settle()
        with self.container.units("REPEATABLE READ") as unit:
            return self.engine.keyword(unit.session, parse_query(question), scope or EVERYTHING, locale, window)

    def typed(self, question: str, matching: Matching = "auto") -> set[int]:
        """What a question with operators finds."""
        self.settle()
        with self.container.units("REPEATABLE READ") as unit:
            leg = self.engine.keyword(unit.session, parse_question(question, matching), EVERYTHING, None, 200)
        return {hit.record_id for hit in leg.hits}

    def settle(self) -> None:
        """Everything that was written can be found from now on."""

    def ids(self, question: str, **options: Any) -> list[int]:
        return [hit.record_id for hit in self.ask(question, **options).hits]


class Elasticsearch(Engine):
    """Elasticsearch, which follows what is written. Its indexes are the test's own and empty."""

    def __init__(self, container: Container) -> None:
        super().__init__(container)
        assert container.elasticsearch is not None
        self.follower = container.elasticsearch
        self.follower.reindex(lambda entity, done, total: None)
        with container.units() as unit:
            container.settings.write_system(unit, SEARCH_ENGINE, "elasticsearch")

    def settle(self) -> None:
        assert not self.follower.apply()
        self.follower.cluster.refresh(f"{self.follower.cluster.prefix}-*")

    def ask(self, question: str, scope: Any = None, locale: str | None = None, window: int = 200) -> KeywordLeg:
        leg = super().ask(question, scope, locale, window)
        assert leg.degraded is None
        return leg


@pytest.fixture(params=["postgres", "elasticsearch"])
def engine(request: pytest.FixtureRequest, clock: FakeClock, queue: RecordingQueue) -> Iterator[Engine]:
    if request.param == "postgres":
        yield Engine(request.getfixturevalue("container"))
        return
    with elasticsearch_container(request.getfixturevalue("config"), clock, queue) as container:
        yield Elasticsearch(container)


def test_any_word_finds_and_more_words_rank_higher(engine: Engine) -> None:
    engine.put(1, ("en", "Travel", "How to claim travel expenses for a train."))
    engine.put(2, ("en", "Trains", "The timetable."))
    engine.put(3, ("en", "Canteen", "Menu of the week."))
    leg = engine.ask("claiming expenses of trains")
    assert [hit.record_id for hit in leg.hits] == [1, 2]
    assert (leg.total, leg.capped) == (2, False)


def test_words_are_stemmed_in_the_language_of_the_text(engine: Engine) -> None:
    engine.put(1, ("it", "Contratti", "Il rinnovo dei contratti di fornitura."))
    engine.put(2, ("en", "Contracts", "Renewing supply contracts."))
    assert engine.ids("contratto rinnovi") == [1]
    assert engine.ids("contract renewal") == [2]


def test_both_engines_have_the_same_stems(engine: Engine) -> None:
    engine.put(1, ("it", "Nota", "La programmazione annuale."))
    engine.put(2, ("en", "Note", "Generally speaking, the latest news."))
    assert engine.ids("programmare") == [1]
    assert engine.ids("generic") == engine.ids("new") == []


@pytest.mark.parametrize("question", ["energia", "dell'energia", "L’ENERGIA", "dell'energia?"])
def test_elisions_are_split(engine: Engine, question: str) -> None:
    engine.put(1, ("it", "Consumi", "Il costo dell'energia elettrica."))
    assert engine.ids(question) == [1]


def test_accents_do_not_matter(engine: Engine) -> None:
    engine.put(1, ("it", "Qualità", "La qualità dell'università."))
    assert engine.ids("qualita") == [1]
    assert engine.ids("UNIVERSITÀ") == [1]


@pytest.mark.parametrize("question", ["合約", "轉換", "約", "中文合約"])
def test_scripts_without_spaces_are_found(engine: Engine, question: str) -> None:
    engine.put(1, ("en", "Contract", "中文合約轉換"))
    assert engine.ids(question) == [1]


def test_identifiers_come_first_and_never_empty_a_result(engine: Engine) -> None:
    engine.put(1, ("en", "SAO-12 Printer", "It does not print."), entity=TICKETS)
    engine.put(2, ("en", "Printers", "printer printer printer status printing"))
    engine.put(3, ("en", "SAO-120 Printer", "Another."), entity=TICKETS)
    assert engine.ids("printer status of sao-12")[0] == 1
    assert engine.ids("SAO-12") == [1]
    assert set(engine.ids("SAO-99 printer")) == {1, 2, 3}
    assert engine.ask("SAO-12").hits[0].named


@pytest.mark.parametrize(
    ("code", "written"),
    [
        ("Ly6C", ("Ly6C", "Ly6C(hi)", "Ly6C-positive", "Ly6C+")),
        ("miR-7b", ("miR-7b", "miR-7b-mediated", "(miR-7b)-bound", "miR 7b")),
        ("p53", ("p53", "p53(−/−)", "p53-null", "p53/MDM2")),
    ],
)
def test_a_code_is_found_however_a_text_writes_it(engine: Engine, code: str, written: Sequence[str]) -> None:
    for number, one in enumerate(written, start=1):
        engine.put(number, ("en", "Cells", f"Response of {one} cells."))
    engine.put(8, ("en", "Cells", "Response of Ly6G, miR-7, p5 and 7b cells, and of mir."))
    for question in (code, f"what of {code}?"):
        leg = engine.ask(question)
        assert {hit.record_id for hit in leg.hits} == set(range(1, len(written) + 1))
        assert leg.total == len(written)
        assert leg.hits[0].record_id == 1
        assert [hit.named for hit in leg.hits] == [True] + [False] * (len(written) - 1)
    among = engine.ask(f"response of {code} cells and mir")
    assert {hit.record_id for hit in among.hits if hit.named} == set(range(1, len(written) + 1))
    assert [hit.named for hit in among.hits] == [True] * len(written) + [False]


def test_a_code_that_no_text_writes_alone_is_known(engine: Engine) -> None:
    engine.put(1, ("en", "Cells", "Response of Ly6C(hi) cells."))
    leg = engine.ask("Ly6C monocytes")
    assert [(hit.record_id, hit.named) for hit in leg.hits] == [(1, True)]
    assert 0 < leg.known_idf_mass < 1
    assert engine.ask("Ly6C").known_idf_mass == pytest.approx(1.0)
    assert engine.ask("Ly6C").unknown == ()


def test_a_code_counts_as_one_word_where_words_are_demanded(engine: Engine) -> None:
    engine.put(1, ("en", "Cells", "Response of Ly6C(hi) cells."))
    engine.put(2, ("en", "Cells", "Response of other cells."))
    engine.put(3, ("en", "Printers", "SAO of the printer, since 12 weeks."), entity=TICKETS)
    assert engine.typed("Ly6C cells", "strict") == engine.typed("cells +Ly6C") == {1}
    assert engine.typed("cells -Ly6C") == {2}
    assert engine.typed("SAO-12 printer", "tolerant") == engine.typed("SAO-12") == engine.typed("+SAO-12") == set()
    assert engine.typed("SAO-12 printer") == {3}


@pytest.mark.parametrize("name", ["mario.rossi@example.it", "123e4567-e89b-12d3-a456-426614174000", "v1.5.2"])
def test_addresses_and_keys_are_exact(engine: Engine, name: str) -> None:
    engine.put(1, ("en", "Note", f"Write to {name.upper()}, today."))
    engine.put(2, ("en", "Note", "Write to somebody."))
    assert engine.ids(name) == [1]


def test_two_words_together_come_before_many_of_one(engine: Engine) -> None:
    engine.put(1, ("en", "Holiday", "holiday " * 30))
    engine.put(2, ("en", "Rules", "Of holiday carry-over, among much else that is said here about other things."))
    assert engine.ids("holiday carryover rules")  # any word
    assert engine.ids("holiday rules")[0] == 2


def test_one_hit_per_record_in_its_best_locale(engine: Engine) -> None:
    engine.put(1, ("en", "Energy", "Energy saving."), ("it", "Energia", "Risparmio."))
    (hit,) = engine.ask("energy saving").hits
    assert (hit.record_id, hit.locale) == (1, "en")
    (hit,) = engine.ask("risparmio").hits
    assert hit.locale == "it"


def test_a_locale_restricts_records_not_texts(engine: Engine) -> None:
    engine.put(1, ("en", "Energy", "Saving."), ("it", "Energia", "Risparmio."))
    engine.put(2, ("en", "Energy", "Saving."))
    assert engine.ids("saving", locale="it") == [1]
    assert engine.ask("saving", locale="it").total == 1


def test_only_the_entities_in_scope(engine: Engine) -> None:
    engine.put(1, ("en", "Printer", "x"))
    engine.put(1, ("en", "Printer", "x"), entity=TICKETS)
    leg = engine.ask("printer", scope={TICKETS: None})
    assert [hit.key for hit in leg.hits] == [(TICKETS, 1)]
    assert leg.total == 1
    assert len(engine.ask("printer").hits) == 2


def test_filters_reach_hits_total_and_documents(engine: Engine) -> None:
    for number in range(1, 7):
        engine.put(number, ("en", f"Printer {number}", "x"), ("it", f"Stampante {number}", "printer"))
    wanted = Group("and", (Condition("record_id", "in", (2, 4, 6)), Condition("locale", "=", "en")))
    leg = engine.ask("printer", scope={CONTENTS: wanted})
    assert sorted(hit.record_id for hit in leg.hits) == [2, 4, 6]
    assert {hit.locale for hit in leg.hits} == {"en"}
    assert leg.total == 3
    with engine.container.units() as unit:
        found = engine.engine.documents(unit.session, [(CONTENTS, n) for n in (1, 2)], {CONTENTS: wanted})
    assert [(one.record_id, one.locale) for one in found] == [(2, "en")]


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (Condition("record_id", "=", 2), [2]),
        (Condition("record_id", "!=", 2), [1, 3]),
        (Condition("record_id", "between", (2, 3)), [2, 3]),
        (Condition("record_id", ">=", 3), [3]),
        (Condition("locale", "like", "e%"), [1, 2, 3]),
        (Group("or", (Condition("record_id", "<", 2), Condition("record_id", ">", 2))), [1, 3]),
        (Group("or", ()), []),
        (Group("and", ()), [1, 2, 3]),
        (Condition("record_id", "in", ()), []),
    ],
)
def test_conditions(engine: Engine, tree: Any, expected: list[int]) -> None:
    for number in (1, 2, 3):
        engine.put(number, ("en", "Printer", "x"))
    assert engine.ids("printer", scope={CONTENTS: tree}) == expected


def test_fields_of_the_record_filter_too(engine: Engine) -> None:
    from app.core.contracts.actor import SYSTEM

    records = engine.container.records
    made = []
    for category in ("news", "policy"):
        with engine.container.units() as unit:
            values = {
                "category": category,
                "status": "published",
                "translations": {"en": {"title": "Printer", "body": "x"}},
            }
            made.append(records.create(unit, SYSTEM, CONTENTS, values).id)
    assert engine.ids("printer", scope={CONTENTS: Condition("category", "=", "policy")}) == [made[1]]
    assert engine.ids("printer", scope={CONTENTS: Condition("category", "=", "none")}) == []


@pytest.mark.parametrize(
    "tree",
    [
        Condition("nothing", "=", 1),
        Condition("record_id", "=", "one"),
        Condition("record_id", "between", (1,)),
        Condition("locale", "in", "en"),
        Condition("record_id", "like", 1),
        Condition("revision", ">", True),
    ],
)
def test_unfit_filters_are_refused(engine: Engine, tree: Condition) -> None:
    with pytest.raises(Invalid):
        engine.ask("printer", scope={CONTENTS: tree})


@pytest.mark.parametrize(
    "question",
    [
        '"open quote', "the of and", "don't", "?!…", "🚀", "שלום עולם", "' | & !", "\\", "a:* <-> b", "%_", "x" * 4000,
        "wort " * 800, " ".join(f"w{n}x" for n in range(900)), " ".join(f"word{chr(97 + n % 26)}" for n in range(600)),
        "\u0000\ud800", "ﬁ", "İstanbul", "ß",
    ],
)  # fmt: skip
def test_no_question_is_an_error(engine: Engine, question: str) -> None:
    engine.put(1, ("en", "The Who", "A band."))
    engine.ask(question)


def test_a_question_of_stop_words_looks_at_titles(engine: Engine) -> None:
    engine.put(1, ("en", "Of and the", "x"))
    engine.put(2, ("en", "Other", "of and the"))
    leg = engine.ask("of and")
    assert ([hit.record_id for hit in leg.hits], leg.note) == ([1], "title_only")
    assert engine.ask("?!").note == "no_terms"


def huge() -> Sequence[str]:
    return [
        " ".join(f"{n:x}w" for n in range(40_000)),
        "".join(chr(0x4E00 + n % 20_000) for n in range(200_000)),
        " ".join("㎢" * 3 + chr(0x4E00 + n % 20_000) for n in range(50_000)),
        "x" * 200_000,
    ]


@pytest.mark.parametrize("number", range(4))
def test_a_huge_text_is_saved_and_found(engine: Engine, number: int) -> None:
    engine.put(1, ("en", "Big printer", huge()[number]))
    assert engine.ids("printer") == [1]


def test_known_idf_mass(engine: Engine) -> None:
    engine.put(1, ("it", "Energia", "Il risparmio dell'energia elettrica."))
    assert engine.ask("risparmio energia").known_idf_mass == pytest.approx(1.0)
    assert engine.ask("submarine warfare").known_idf_mass == 0.0
    assert 0 < engine.ask("energia submarine").known_idf_mass < 1


def test_window_and_total(engine: Engine) -> None:
    for number in range(1, 8):
        engine.put(number, ("en", "Printer", "x"))
    leg = engine.ask("printer", window=3)
    assert [hit.record_id for hit in leg.hits] == [1, 2, 3]
    assert leg.total == 7


def test_words_that_count_are_told(engine: Engine) -> None:
    engine.put(1, ("en", "Printing", "printers"))
    leg = engine.ask("printer")
    with engine.container.units() as unit:
        words = {"en": {"printers", "printing", "private"}}
        found = engine.engine.matching(unit.session, words, leg.lexemes or {})
    assert found["en"] == {"printers"}


def test_what_is_removed_or_rewritten_is_not_found(engine: Engine) -> None:
    engine.put(1, ("en", "Printer", "x"))
    engine.put(1, ("en", "Scanner", "x"))
    assert engine.ids("printer") == []
    assert engine.ids("scanner") == [1]
    with engine.container.units() as unit:
        engine.container.outbox.remove(unit, CONTENTS, 1)
    assert engine.ids("scanner") == []
