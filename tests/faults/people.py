"""Administrators who start, resume and abandon at every moment, also at once (faults 61, 63)."""

from __future__ import annotations

from collections.abc import Callable

from app.core.contracts.actor import SYSTEM
from app.core.errors import Conflict
from app.embeddings import ledger_store as ledger
from tests.faults.harness import FaultBench
from tests.fixtures.bench import B, C


def _conflict(action: Callable[[], object]) -> str:
    """The code with which an action is refused."""
    try:
        action()
    except Conflict as error:
        return error.code
    return ""


def abandoned(bench: FaultBench) -> None:
    """Abandoned, and the abandon abandoned."""
    bench.ai.switching.abandon(SYSTEM)
    assert _conflict(lambda: bench.ai.switching.abandon(SYSTEM)) in (
        "switch.return_cannot_stop",
        "switch.nothing_running",
    )
    bench.go_on()
    assert bench.serving.endswith("alpha")


def abandoned_and_tried_again(bench: FaultBench) -> None:
    """Abandoned, then started again: what was embedded is not embedded again."""
    done = len(bench.stored(B))
    abandoned(bench)
    bench.servers["beta"].reset()
    bench.start(B)
    bench.go_on()
    sent = [text for text in bench.servers["beta"].counters.embedded.elements() if "Record " in text]
    assert len(sent) <= 12 - done + 3, "the measuring of a preview takes a few texts"


def abandoned_for_another(bench: FaultBench) -> None:
    """Abandoned, then started towards a third model while jobs of the first are still in the queue."""
    bench.ai.switching.abandon(SYSTEM)
    late = list(bench.delivered)
    bench.go_on()
    bench.start(C)
    bench.queue.sent = late + bench.queue.sent
    bench.go_on()


def dies_abandoning(bench: FaultBench) -> None:
    """The process dies in the abandon, before and after its commit."""
    bench.points.once("abandon.before_commit", bench.die)
    assert not bench.command(lambda: bench.ai.switching.abandon(SYSTEM))
    assert bench.state == "running"
    bench.points.once("abandon.committed", bench.die)
    assert not bench.command(lambda: bench.ai.switching.abandon(SYSTEM))
    bench.queue.sent.clear()


def two_abandon(bench: FaultBench) -> None:
    """Two abandon at once: one does."""
    outcomes = bench.together(*[lambda: bench.ai.switching.abandon(SYSTEM)] * 2)
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 1


def abandoned_while_it_moves(bench: FaultBench) -> None:
    """An abandon at the same moment as the phase's steps."""
    step = bench.queue.sent.pop(0) if bench.queue.sent else None
    bench.together(
        lambda: bench.ai.switching.abandon(SYSTEM), lambda: bench.deliver(step) if step is not None else bench.tick()
    )


def started_while_running(bench: FaultBench) -> None:
    """Another start, and a resume, while it runs."""
    for action in (
        lambda: bench.ai.switching.start(SYSTEM, C),
        lambda: bench.ai.switching.start(SYSTEM, B),
        lambda: bench.ai.switching.resume(SYSTEM),
    ):
        assert _conflict(action)


def _fail(bench: FaultBench) -> None:
    switch = bench.last
    with bench.container.units() as unit:
        values = {"seconds": 900, "queue": "embeddings"}
        assert ledger.fail(unit.session, switch.id, switch.epoch, "switch.failed.stalled", values)


def failed_and_resumed(bench: FaultBench) -> None:
    """It fails from outside; edits go on; somebody resumes."""
    _fail(bench)
    bench.write(8, "text of record 8, edited while it had failed")
    bench.go_on()
    bench.ai.switching.resume(SYSTEM)


def failed_and_abandoned(bench: FaultBench) -> None:
    _fail(bench)
    bench.go_on()
    bench.ai.switching.abandon(SYSTEM)


def two_resume(bench: FaultBench) -> None:
    """Two resume at once: one does."""
    _fail(bench)
    outcomes = bench.together(*[lambda: bench.ai.switching.resume(SYSTEM)] * 2)
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 1


def resumed_and_abandoned(bench: FaultBench) -> None:
    """One resumes while another abandons: it goes on or is gone, never both."""
    _fail(bench)
    bench.together(lambda: bench.ai.switching.resume(SYSTEM), lambda: bench.ai.switching.abandon(SYSTEM))


def dies_resuming(bench: FaultBench) -> None:
    _fail(bench)
    bench.points.once("resume.before_commit", bench.die)
    assert not bench.command(lambda: bench.ai.switching.resume(SYSTEM))
    assert bench.state == "failed"
    bench.ai.switching.resume(SYSTEM)


def resumed_interrupted(bench: FaultBench) -> None:
    """It stood still for long without failing; a resume takes it over from whoever held it."""
    bench.execute("update switches set progress_at = progress_at - interval '2 hours', lease_until = null")
    bench.execute("update switch_chunks set progress_at = null, lease_until = null")
    if bench.ai.switching.status().interrupted:
        bench.ai.switching.resume(SYSTEM)


ACTIONS: dict[str, Callable[[FaultBench], None]] = {
    "F63_abandoned": abandoned,
    "F63_abandoned_and_tried_again": abandoned_and_tried_again,
    "F63_abandoned_for_another": abandoned_for_another,
    "F63_dies_abandoning": dies_abandoning,
    "F63_failed_and_abandoned": failed_and_abandoned,
    "F61_two_abandon": two_abandon,
    "F61_abandoned_while_it_moves": abandoned_while_it_moves,
    "F61_started_while_running": started_while_running,
    "F61_resumed_and_abandoned": resumed_and_abandoned,
}
RESUMES: dict[str, Callable[[FaultBench], None]] = {
    "F10_failed_and_resumed": failed_and_resumed,
    "F61_two_resume": two_resume,
    "F10_dies_resuming": dies_resuming,
    "F10_resumed_interrupted": resumed_interrupted,
}
