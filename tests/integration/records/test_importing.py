"""Imports: the same line again changes nothing, a bad line spoils no other, a dry run writes nothing."""

from __future__ import annotations

import io
import json
from typing import Any

from sqlalchemy import text

from app.container import Container
from app.core.contracts.actor import SYSTEM
from app.core.crud.importing import Importer, Tally
from app.core.crud.lines import Source

CONTENTS, TICKETS = "cms.contents", "sao.tickets"


def load(container: Container, name: str, rows: list[Any], locale: str = "en", **options: Any) -> Tally:
    data = b"".join(row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows)
    importer = Importer(container.registry, container.bulk, container.units)
    return importer.run(io.BytesIO(data), SYSTEM, name, Source("corpus", locale), **options)


def counted(tally: Tally) -> tuple[int, int, int, int]:
    counts = tally.counts
    return counts["created"], counts["updated"], counts["unchanged"], counts["refused"]


def scalar(container: Container, query: str) -> Any:
    with container.units() as unit:
        return unit.session.scalar(text(query))


def corpus(count: int, body: str = "text") -> list[dict[str, Any]]:
    return [{"_id": str(number), "title": f"T{number}", "text": f"{body} {number}"} for number in range(count)]


def test_the_same_lines_again_change_nothing(container: Container) -> None:
    assert counted(load(container, CONTENTS, corpus(7), batch=3)) == (7, 0, 0, 0)
    assert scalar(container, "select count(*) from search_documents") == 7
    assert scalar(container, "select count(*) from index_events") == 7
    assert counted(load(container, CONTENTS, corpus(7), batch=2)) == (0, 0, 7, 0)
    assert scalar(container, "select count(*) from index_events") == 7
    assert scalar(container, "select max(revision) from cms_contents") == 1


def test_a_changed_line_updates_its_record(container: Container) -> None:
    load(container, CONTENTS, corpus(3))
    rows = corpus(3)
    rows[1]["text"] = "new"
    assert counted(load(container, CONTENTS, rows)) == (0, 1, 2, 0)
    assert scalar(container, "select body from search_documents where revision = 2") == "new"
    audited = "select string_agg(concat_ws(' ', action, revision, changes), ',' order by id) from audit_entries"
    assert scalar(container, audited) == "insert 1 {},insert 1 {},insert 1 {},update 2 {}"


def test_another_language_is_added_to_the_same_record(container: Container) -> None:
    load(container, CONTENTS, corpus(1))
    assert counted(load(container, CONTENTS, [{"_id": "0", "title": "Uno", "text": "x"}], locale="it")) == (0, 1, 0, 0)
    assert scalar(container, "select count(*) from search_documents") == 2


def test_a_bad_line_spoils_no_other(container: Container) -> None:
    rows = [*corpus(2), b"{\n", {"_id": "9", "text": " "}, {"key": "k", "translations": {}, "x": 1}, *corpus(1)]
    tally = load(container, CONTENTS, rows)
    assert counted(tally) == (2, 0, 0, 4)
    assert {key: reason.lines for key, reason in tally.refused.items()} == {
        "import.not_json ": [3],
        "import.no_title ": [4],
        "input.unknown_field x": [5],
        "import.repeated_key ": [6],
    }


def test_a_dry_run_counts_and_writes_nothing(container: Container) -> None:
    assert counted(load(container, CONTENTS, corpus(3), dry_run=True)) == (3, 0, 0, 0)
    assert scalar(container, "select count(*) from cms_contents") == 0


def test_nul_bytes_and_surrogates_are_cleaned_and_long_texts_cut(container: Container) -> None:
    rows = [b'{"_id": "1", "title": "a\\u0000b\\ud800", "text": "' + b"x" * 250_000 + b'"}\n']
    tally = load(container, CONTENTS, rows)
    assert (counted(tally), tally.counts["cut"]) == ((1, 0, 0, 0), 1)
    assert scalar(container, "select title || length(body) from search_documents") == "ab200000"


def test_numbers_of_the_seed_are_kept_and_others_go_on_after_them(container: Container) -> None:
    seed = [{"key": "SAO-7", "subject": "Seven", "description": "x", "created_at": "2026-01-12T08:40:00Z"}]
    load(container, TICKETS, [*seed, {"id": "a", "text": "Card lost", "intent": "lost"}])
    assert scalar(container, "select string_agg(number::text, ',' order by number) from sao_tickets") == "7,8"
    assert scalar(container, "select extract(month from created_at)::int from sao_tickets where number = 7") == 1
    assert counted(load(container, TICKETS, seed)) == (0, 0, 1, 0)


def test_a_number_is_not_given_twice(container: Container) -> None:
    with container.units() as unit:
        container.records.create(unit, SYSTEM, TICKETS, {"subject": "Mine"})
    tally = load(container, TICKETS, [{"key": "SAO-1", "subject": "Theirs"}, {"key": "SAO-2", "subject": "Free"}])
    assert (counted(tally), list(tally.refused)) == ((1, 0, 0, 1), ["import.number_taken "])


def test_a_deleted_record_is_not_brought_back(container: Container) -> None:
    load(container, CONTENTS, corpus(1))
    record_id = scalar(container, "select id from cms_contents")
    with container.units() as unit:
        container.records.delete(unit, SYSTEM, CONTENTS, record_id)
    assert list(load(container, CONTENTS, corpus(1)).refused) == ["import.deleted "]
    assert scalar(container, "select count(*) from search_documents") == 0
