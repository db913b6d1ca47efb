"""The fault list of `faults.md` B3 as far as it concerns the switch: each fault with its phases and what it does.

A fault is called with the switch in its phase, before any step of it; what it hangs up happens later. The numbers are
those of the list; a letter tells variants apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.faults import breaking, editing, people, servers
from tests.faults.harness import MODES, PHASES, FaultBench
from tests.faults.servers import MISBEHAVIOURS

Action = Callable[[FaultBench], None]


@dataclass(frozen=True)
class Fault:
    """One fault. ``reasons`` are those for which the switch may stop and wait for a person to resume."""

    name: str
    action: Action
    phases: tuple[str, ...] = PHASES
    modes: tuple[str, ...] = MODES
    reasons: tuple[str, ...] = ()

    def cases(self) -> Iterator[tuple[Fault, str, str]]:
        """(fault, phase, mode) of every case."""
        for phase in self.phases:
            for mode in self.modes:
                yield self, phase, mode


CHUNKS = ("embeddings",)
CATCHING_UP = ("indexes", "verify", "activate")
DEATHS = {
    "F01_dies_counted": ("preflight.counted", ("preflight",)),
    "F01_dies_with_the_step": ("step.claimed", PHASES),
    "F02_dies_after_the_state_write": ("step.committed", PHASES[:-1]),
    "F03_dies_before_the_state_write": ("step.before_commit", PHASES),
    "F04_dies_with_a_chunk": ("chunk.claimed", CHUNKS),
    "F04_dies_having_read": ("chunk.read", CHUNKS),
    "F04_dies_with_the_answer": ("chunk.embedded", CHUNKS),
    "F06_dies_in_the_write": ("chunk.batch_before_commit", CHUNKS),
    "F05_dies_after_the_write": ("chunk.batch_committed", CHUNKS),
    "F05_dies_before_done": ("chunk.before_done", CHUNKS),
    "F05_dies_after_done": ("chunk.done", CHUNKS),
    "F07_dies_with_an_index": ("indexes.claimed", ("indexes",)),
    "F07_dies_before_the_build": ("indexes.before_build", ("indexes",)),
    "F07_dies_after_the_build": ("indexes.built", ("indexes",)),
    "F06_dies_before_verifying": ("verify.claimed", ("verify",)),
    "F06_dies_after_verifying": ("verify.checked", ("verify",)),
    "F08_dies_before_activating": ("activate.before_update", ("activate",)),
    "F08_dies_in_activating": ("activate.before_commit", ("activate",)),
    "F08_dies_activated": ("activate.committed", ("activate",)),
}
EVENT_DEATHS = {
    "F56_dies_with_events": "events.claimed",
    "F56_dies_having_applied": "events.applied",
    "F56_dies_having_moved": "events.moved",
    "F56_dies_with_the_answer": "chunk.embedded",
    "F56_dies_after_the_write": "chunk.batch_committed",
}
PAUSES = {
    "F11_stopped_counted": ("jobs.embeddings_switch.advance", "preflight.counted", ("preflight",)),
    "F11_stopped_with_the_step": ("jobs.embeddings_switch.advance", "step.claimed", PHASES),
    "F11_stopped_with_a_chunk": ("jobs.embeddings.embed_chunk", "chunk.claimed", CHUNKS),
    "F11_stopped_having_read": ("jobs.embeddings.embed_chunk", "chunk.read", CHUNKS),
    "F11_stopped_with_the_answer": ("jobs.embeddings.embed_chunk", "chunk.embedded", CHUNKS),
    "F11_stopped_after_the_write": ("jobs.embeddings.embed_chunk", "chunk.batch_committed", CHUNKS),
    "F11_stopped_before_done": ("jobs.embeddings.embed_chunk", "chunk.before_done", CHUNKS),
    "F11_stopped_with_an_index": ("jobs.embeddings_index.index_chunk", "indexes.claimed", ("indexes",)),
    "F11_stopped_before_the_build": ("jobs.embeddings_index.index_chunk", "indexes.before_build", ("indexes",)),
    "F11_stopped_after_the_build": ("jobs.embeddings_index.index_chunk", "indexes.built", ("indexes",)),
    "F11_stopped_verifying": ("jobs.embeddings_index.index_chunk", "verify.claimed", ("verify",)),
    "F11_stopped_verified": ("jobs.embeddings_index.index_chunk", "verify.checked", ("verify",)),
    "F11_stopped_with_events": ("jobs.embeddings.apply_target", "events.claimed", CATCHING_UP),
    "F11_stopped_with_events_applied": ("jobs.embeddings.apply_target", "events.applied", CATCHING_UP),
}
DECISIONS = ("switch.failed.decisions",)
CHANGED = ("switch.failed.server_changed",)
SPANS = ("embeddings", "verify")
"""Phases in which the target's server has texts to embed: chunks, and the events of edits."""


def deaths() -> Iterator[Fault]:
    """SIGKILL at every checkpoint (faults 1 to 9); the parts of abandon, resume and start are in `people.py`."""
    for name, (point, phases) in DEATHS.items():
        yield Fault(name, breaking.dies(point), phases)
    yield Fault("F07_dies_without_serving_indexes", breaking.dies("indexes.dropped_serving"), ("indexes",), MODES[1:])
    yield Fault("F09_dies_before_tidying", breaking.dies("tidy.before_drop"), ("activate",), MODES[:1])
    yield Fault("F09_dies_after_tidying", breaking.dies("tidy.dropped"), ("activate",), MODES[:1])
    for name, point in EVENT_DEATHS.items():
        yield Fault(name, breaking.dies_with_events(point), CATCHING_UP)


def pauses() -> Iterator[Fault]:
    """SIGSTOP past the lease, an orphan, a pause (faults 10, 11, 23): others end the switch, or abandon it."""
    for name, (job, point, phases) in PAUSES.items():
        yield Fault(name, breaking.stopped(job, point), phases)
        yield Fault(name.replace("F11_", "F63_abandoned_while_"), breaking.stopped_and_abandoned(job, point), phases)


def deliveries() -> Iterator[Fault]:
    """Jobs twice, late, out of order, lost; two schedulers; warm stops (faults 12 to 15, 18 to 22, 71)."""
    yield Fault("F12_every_job_twice_at_once", breaking.twice_at_once)
    yield Fault("F13_all_jobs_again", breaking.all_again)
    yield Fault("F14_jobs_in_reverse", breaking.in_reverse)
    yield Fault("F15_no_worker_on_one_queue", breaking.no_worker)
    yield Fault("F18_warm_stop", breaking.warm_stop)
    yield Fault("F19_flushall", breaking.flushed)
    yield Fault("F20_old_dump_of_the_queue", breaking.old_dump)
    yield Fault("F21_queue_away", breaking.queue_away)
    yield Fault("F71_two_schedulers", breaking.two_schedulers)


def databases() -> Iterator[Fault]:
    """Restarts, serialization failures, cut connections, index builds that are ended (faults 7, 25 to 27, 30)."""
    yield Fault("F25_every_connection_ends", breaking.restarted)
    for state in ("40001", "40P01"):
        for nth in (1, 4):
            yield Fault(f"F26_{state}_on_statement_{nth}", breaking.refused_statement(state, nth))
    yield Fault("F27_cut_before_commit", breaking.cut_at_commit(after=False))
    yield Fault("F27_cut_after_commit", breaking.cut_at_commit(after=True))
    yield Fault("F07_build_ended", breaking.build_ended, ("indexes",))
    yield Fault("F07_invalid_index_left", breaking.invalid_index, ("embeddings", "indexes"))
    yield Fault("F30_older_transaction", breaking.older_transaction, ("indexes",))


def model_servers() -> Iterator[Fault]:
    """The embedding server misbehaves for some calls, then is well again (faults 41 to 54)."""
    for name, behaviour in MISBEHAVIOURS.items():
        yield Fault(name, servers.misbehaves(behaviour), SPANS)
    yield Fault("F41_stopped_and_started", servers.stops_and_starts, ("preflight", "embeddings", "verify"))
    yield Fault("F51_names_another_model", servers.other_model, ("preflight", "embeddings", "verify"), reasons=CHANGED)
    yield Fault("F51_silently_another_model", servers.other_weights, ("embeddings", "verify"), reasons=CHANGED)
    yield Fault("F51_silently_within_a_chunk", servers.other_weights_after_the_check, SPANS, reasons=CHANGED)
    yield Fault("F51_silently_while_it_serves", servers.other_weights_of_the_serving, SPANS)
    yield Fault("F52_last_digits_differ", servers.trembles, ("embeddings", "verify"))
    yield Fault("F16_poison", servers.poison, ("embeddings",), reasons=DECISIONS)


def editors() -> Iterator[Fault]:
    """People edit meanwhile, also in the narrowest gaps (faults 55 to 60, 65 to 67)."""
    for name, action in editing.EDITS.items():
        yield Fault(name, action)
    yield Fault("F57_first_of_its_entity", editing.first_of_its_entity)
    for point in ("chunk.read", "chunk.embedded", "chunk.batch_committed", "chunk.before_done"):
        yield Fault(f"F56_everything_at_{point}", editing.everything_at(point), ("embeddings",))
    for point in ("activate.before_update", "activate.before_commit"):
        yield Fault(f"F60_everything_at_{point}", editing.everything_at(point), ("activate",))


def administrators() -> Iterator[Fault]:
    """Administrators (faults 61, 63)."""
    for name, action in people.ACTIONS.items():
        yield Fault(name, action)
    for name, action in people.RESUMES.items():
        yield Fault(name, action, reasons=("switch.failed.stalled",))


FAULTS = [
    *deaths(),
    *pauses(),
    *deliveries(),
    *databases(),
    *model_servers(),
    *editors(),
    *administrators(),
]
KNOWN: dict[str, str] = {}
"""Violations that are on record and not mended yet: expected to fail, and an error once they no longer do."""
CASES = [case for fault in FAULTS for case in fault.cases()]


def some_cases() -> list[tuple[Fault, str, str]]:
    """One case of every fault, phases and modes by turns."""
    return [list(fault.cases())[place % len(list(fault.cases()))] for place, fault in enumerate(FAULTS)]
