"""Editors at work while a switch runs (faults 55 to 60, 65 to 67)."""

from __future__ import annotations

from collections.abc import Callable

from app.core.contracts.documents import Document
from app.core.queue import INDEX, SWITCH
from app.core.unit import Unit
from tests.faults.harness import FaultBench
from tests.fixtures.bench import ENTITY

OTHER = "sao.tickets"


def _put(bench: FaultBench, number: int, title: str, body: str, entity: str = ENTITY, unit: Unit | None = None) -> None:
    documents = [Document(entity, number, "en", title, body, 1)]
    if unit is not None:
        bench.container.outbox.put(unit, entity, number, documents)
        return
    with bench.container.units() as own:
        bench.container.outbox.put(own, entity, number, documents)


def first_of_its_entity(bench: FaultBench) -> None:
    """The first record of an entity that had none."""
    _put(bench, 1, "Record of another entity", "text of a ticket", OTHER)


def edited(bench: FaultBench) -> None:
    bench.write(2, "text of record 2, edited")
    bench.write(2, "text of record 2, edited twice")
    bench.write(12, "text of record 12, edited")


def created(bench: FaultBench) -> None:
    for number in (0, 40, 41):
        bench.write(number, f"text of record {number}, created")


def deleted(bench: FaultBench) -> None:
    for number in (1, 6, 12):
        bench.delete(number)


def hidden_and_shown(bench: FaultBench) -> None:
    bench.delete(4)
    bench.write(4, "text of record 4")
    bench.delete(5)
    bench.write(5, "text of record 5, shown again with another text")


def translated(bench: FaultBench) -> None:
    bench.write(7, "text of record 7", locales=("en", "it"))


def locale_removed(bench: FaultBench) -> None:
    bench.write(7, "text of record 7", locales=("it",))


def everything(bench: FaultBench) -> None:
    """Edit, create, delete, hide, translate."""
    for action in (edited, created, deleted, hidden_and_shown, translated):
        action(bench)


def all_deleted(bench: FaultBench) -> None:
    for number in range(1, 13):
        bench.delete(number)


def held_open(bench: FaultBench) -> None:
    """A transaction that writes now and commits after the activation; others write and commit meanwhile."""
    with bench.container.units() as unit:
        bench.write(3, "text of record 3, written early and committed late", unit=unit)
        bench.write(77, "text of record 77, written early and committed late", unit=unit)
        unit.session.flush()
        for number in range(4, 9):
            bench.write(number, f"text of record {number}, committed meanwhile")
        for _ in range(30):
            if bench.phase == "indexes":  # a build waits for this transaction: in one thread, for ever
                bench.queue.sent = [wake for wake in bench.queue.sent if wake.queue not in (SWITCH, INDEX)]
            if not bench.run_one():
                bench.tick()


def rolled_back(bench: FaultBench) -> None:
    try:
        with bench.container.units() as unit:
            bench.write(3, "never", unit=unit)
            bench.write(78, "never", unit=unit)
            raise ZeroDivisionError
    except ZeroDivisionError:
        return


def blank(bench: FaultBench) -> None:
    _put(bench, 50, "\u200b", " \x00\n")
    _put(bench, 51, "– –", "…")
    _put(bench, 3, "– –", "")


def strange(bench: FaultBench) -> None:
    _put(bench, 52, "Record \x00 52", "a NUL \x00, a surrogate \ud800, \u2028, \ufeff, \u202e, \u200b, 🦔")
    _put(bench, 53, "Record 53", "e\u0301 " * 300)


def long(bench: FaultBench) -> None:
    _put(bench, 54, "Record 54", "A sentence of a very long text. " * 600)
    _put(bench, 54, "Record 54", "A sentence of a shorter text. " * 200)


def identical(bench: FaultBench) -> None:
    for number in range(60, 75):
        _put(bench, number, "Record", "the same text")


def equal_and_deleted(bench: FaultBench) -> None:
    identical(bench)
    bench.delete(60)
    bench.delete(70)


EDITS: dict[str, Callable[[FaultBench], None]] = {
    "F55_edited": edited,
    "F55_held_open_across": held_open,
    "F55_rolled_back": rolled_back,
    "F56_deleted": deleted,
    "F56_all_deleted": all_deleted,
    "F57_created": created,
    "F58_hidden_and_shown": hidden_and_shown,
    "F59_translated": translated,
    "F59_locale_removed": locale_removed,
    "F65_strange_characters": strange,
    "F66_blank": blank,
    "F53_long": long,
    "F66_identical": identical,
    "F67_equal_and_deleted": equal_and_deleted,
}


def everything_at(point: str) -> Callable[[FaultBench], None]:
    """All of it while a process stands at ``point``: between reading and writing, between verifying and activating."""

    def act(bench: FaultBench) -> None:
        bench.points.once(point, lambda: everything(bench))

    return act
