"""Is the checker awake? One condition at a time is taken out; the scenario that leans on it must then go red.

A suite that stays green without the condition that it is said to prove proves nothing (`faults.md`, Method 4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.core.contracts.actor import SYSTEM
from app.core.documents import events_store as events
from app.embeddings import batches, store
from app.embeddings import ledger_store as ledger
from app.embeddings.store import Key
from tests.faults import servers
from tests.faults.breaking import wake_of
from tests.faults.harness import FaultBench
from tests.fixtures.bench import B

Mutate = Callable[[pytest.MonkeyPatch], None]
BOTH = pytest.mark.parametrize("mutated", [False, True], ids=["as_it_is", "mutated"])


def judged(bench: FaultBench, mutated: bool) -> None:
    """Green as it is, red without the condition."""
    found = bench.checker.violations_at_rest()
    assert bool(found) == mutated, found


# --- (a) epoch and lease -------------------------------------------------------------------------------------------


def _commit_without_condition(session: Session, claim: ledger.Claim, values: Mapping[str, Any], *, moved: bool) -> None:
    row = session.execute(text("select epoch, step, lease_token from switches where id = :id"), {"id": claim.switch_id})
    epoch, step, token = row.one()
    session.execute(text("update switches set lease_token = 'none' where id = :id"), {"id": claim.switch_id})
    assert token != "none"
    COMMIT_STEP(session, replace(claim, epoch=epoch, step=step, token="none"), values, moved=moved)


COMMIT_STEP = ledger.commit_step


@BOTH
def test_a_step_of_a_worker_that_was_overtaken(
    bench: FaultBench, monkeypatch: pytest.MonkeyPatch, mutated: bool
) -> None:
    """A worker sleeps with its decision; others go on; what it decided is no longer true."""
    bench.reach("preflight", "side_by_side")
    if mutated:
        monkeypatch.setattr(ledger, "commit_step", _commit_without_condition)
    with bench.paused(wake_of(bench, "jobs.embeddings_switch.advance"), "preflight.counted"):
        for _ in range(100):
            if bench.phase == "indexes":
                break
            if not bench.run_one():
                bench.tick()
    bench.finish()
    judged(bench, mutated)


@BOTH
def test_a_chunk_of_a_switch_that_was_abandoned(
    bench: FaultBench, monkeypatch: pytest.MonkeyPatch, mutated: bool
) -> None:
    """A worker sleeps with its vectors; the switch is abandoned; it wakes up and writes."""

    def hold(
        session: Session, claim: ledger.ChunkClaim, *, done: int = 0, passages: int = 0, finished: bool = False
    ) -> None:
        session.execute(
            text(
                "update switch_chunks set done = done + :done, status = case when :ends then 'done' else status end "
                "where id = :id"
            ),
            {"id": claim.id, "done": done, "ends": finished},
        )

    bench.reach("embeddings", "side_by_side")
    if mutated:
        monkeypatch.setattr(ledger, "hold_chunk", hold)
    with bench.paused(wake_of(bench, "jobs.embeddings.embed_chunk"), "chunk.embedded"):
        bench.ai.switching.abandon(SYSTEM)
        bench.go_on()
    bench.go_on()
    judged(bench, mutated)


# --- (b) the horizon of events -------------------------------------------------------------------------------------


@BOTH
def test_an_event_that_commits_late(bench: FaultBench, monkeypatch: pytest.MonkeyPatch, mutated: bool) -> None:
    """The early transaction commits after a later one was applied: without the horizon the cursor has passed it."""
    original = events.read_events
    if mutated:
        monkeypatch.setattr(
            events, "read_events", lambda *arguments: [replace(found, settled=True) for found in original(*arguments)]
        )
    bench.reach("verify", "side_by_side")
    with bench.container.units() as unit:
        bench.write(3, "text of record 3, written early and committed late", unit=unit)
        unit.session.flush()
        bench.write(4, "text of record 4, committed meanwhile")
        for _ in range(3):
            bench.tick()
            bench.drain(30)
    bench.finish()
    judged(bench, mutated)


# --- (c) the text's hash in the anti-join --------------------------------------------------------------------------


@BOTH
def test_an_edit_behind_the_chunks(bench: FaultBench, monkeypatch: pytest.MonkeyPatch, mutated: bool) -> None:
    """A text changes after its chunk was done: without its hash its old vectors pass for new ones."""
    if mutated:
        condition = " and e.text_hash = d.text_hash"
        assert condition in store._STATE
        monkeypatch.setattr(store, "_STATE", store._STATE.replace(condition, ""))
    bench.reach("indexes", "side_by_side")
    bench.write(3, "text of record 3, edited behind the chunks")
    bench.finish()
    judged(bench, mutated)


# --- (d) first the lock, then the look -----------------------------------------------------------------------------


@BOTH
def test_a_slow_writer_and_a_newer_text(bench: FaultBench, monkeypatch: pytest.MonkeyPatch, mutated: bool) -> None:
    """Somebody edits and another writer is through just as a slow one comes to write: it must look after it locked."""
    original = store.lock_documents
    edits = [lambda: _edit_and_apply(bench)]

    def meanwhile() -> None:
        if edits:
            edits.pop()()

    def looks_first(session: Session, space_id: int, keys: Sequence[Key]) -> set[Key]:
        current = {
            Key(*row)
            for row in session.execute(text("select entity, record_id, locale, text_hash from search_documents"))
        }
        meanwhile()
        original(session, space_id, keys)
        return set(keys) & current

    def locks_first(session: Session, space_id: int, keys: Sequence[Key]) -> set[Key]:
        meanwhile()
        return original(session, space_id, keys)

    monkeypatch.setattr(store, "lock_documents", looks_first if mutated else locks_first)
    bench.write(3, "text of record 3, older")
    bench.deliver(bench.queue.sent.pop(0))
    assert not edits
    bench.go_on()
    judged(bench, mutated)


def _edit_and_apply(bench: FaultBench) -> None:
    """A newer text, embedded by another writer before the slow one writes."""
    bench.write(3, "text of record 3, newer")
    bench.ai.upkeep.repair()
    bench.execute("update index_cursors set event_id = event_id")
    bench.execute(
        "update index_cursors c set xid = i.xid, event_id = i.id from (select xid, id from index_events "
        "order by xid desc, id desc limit 1) i"
    )


# --- (e) what is counted at activation -----------------------------------------------------------------------------


@BOTH
def test_an_activation_that_believes_its_bookkeeping(
    bench: FaultBench, monkeypatch: pytest.MonkeyPatch, mutated: bool
) -> None:
    """Rows vanish between verifying and activating: only the anti-join in the activating transaction sees it."""
    bench.reach("activate", "side_by_side")
    bench.execute(f"delete from embeddings where record_id = 3 and space_id = {bench.space(B)}")
    if mutated:
        monkeypatch.setattr(store, "count_missing", lambda *_, **__: store.Missing(0, 0, 0))
    bench.finish()
    judged(bench, mutated)


# --- (f) the canary in every call ----------------------------------------------------------------------------------


@BOTH
def test_weights_that_change_and_change_back(bench: FaultBench, monkeypatch: pytest.MonkeyPatch, mutated: bool) -> None:
    """Two calls are answered by another model of the same name and length; no check before or after them sees it."""
    if mutated:
        monkeypatch.setattr(batches, "require_canary", lambda *_: None)
    bench.reach("embeddings", "side_by_side")
    servers.other_weights_after_the_check(bench)
    bench.finish()
    judged(bench, mutated)
