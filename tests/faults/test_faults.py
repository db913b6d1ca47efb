"""Each fault of the catalogue alone, in each of its phases and both modes; the checker looks after every one.

`make faults SIZE=full` runs all of them and writes the table; the ordinary test run takes one case of each.
"""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet

from app.core.contracts.actor import SYSTEM
from app.core.errors import Conflict
from app.core.queue import DEFAULT, Wake
from app.embeddings.ahead import IN_DOUBT
from app.embeddings.checkpoints import NAMES
from tests.faults import people
from tests.faults.breaking import wake_of
from tests.faults.catalogue import CASES, KNOWN, Fault, some_cases
from tests.faults.harness import MODES, SIZE, FaultBench
from tests.fixtures.bench import A, B, C

SELECTED = CASES if SIZE == "full" else some_cases()


def _case(fault: Fault, phase: str, mode: str) -> ParameterSet:
    marks = [pytest.mark.xfail(reason=KNOWN[fault.name], strict=True)] if fault.name in KNOWN else []
    return pytest.param(fault, phase, mode, id=f"{fault.name}-{phase}-{mode}", marks=marks)


@pytest.mark.parametrize(("fault", "phase", "mode"), [_case(*case) for case in SELECTED])
def test_fault(bench: FaultBench, fault: Fault, phase: str, mode: str) -> None:
    bench.reach(phase, mode)
    before = bench.serving
    fault.action(bench)
    assert bench.checker.violations() == []
    reasons = bench.finish()
    assert set(reasons) <= set(fault.reasons), bench.broken[-1:]
    assert not bench.points.waiting, "the fault never happened"
    bench.heal()
    bench.go_on()
    assert bench.checker.violations_at_rest() == []
    assert bench.serving == before or bench.last.status in ("activated", "abandoned")


@pytest.mark.parametrize("mode", MODES)
def test_every_checkpoint_is_passed_by_an_ordinary_life(bench: FaultBench, mode: str) -> None:
    bench.reach("verify", mode)
    bench.write(3, "text of record 3, edited")
    people.failed_and_resumed(bench)
    bench.go_on()
    bench.reach("embeddings", "in_place", C)
    bench.ai.switching.abandon(SYSTEM)
    bench.go_on()
    bench.reach("verify", "in_place", C)
    bench.go_on()
    bench.reach("indexes", "side_by_side", B)
    bench.go_on()
    assert set(NAMES) - set(bench.points.seen) == set()
    assert bench.checker.violations_at_rest() == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("point", ["start.before_insert", "start.before_commit", "start.committed"])
def test_a_start_that_dies_is_wholly_done_or_not_at_all(bench: FaultBench, point: str, mode: str) -> None:
    bench.points.once(point, bench.die)
    assert not bench.command(lambda: bench.ai.switching.start(SYSTEM, B, mode))
    assert bench.checker.violations() == []
    bench.queue.sent.clear()
    assert bench.finish() == []
    started = point == "start.committed"
    assert bench.serving.endswith("beta" if started else "alpha")
    assert bench.checker.violations_at_rest() == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("turn", range(10 if SIZE == "full" else 1))
def test_two_start_at_once_and_one_does(bench: FaultBench, mode: str, turn: int) -> None:
    starts = [lambda key=key: bench.ai.switching.start(SYSTEM, key, mode) for key in (B, C)]
    outcomes = bench.together(*starts)
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 1
    assert bench.finish() == []
    assert bench.checker.violations_at_rest() == []


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_embedded_twice_but_the_batches_in_doubt(bench: FaultBench, mode: str) -> None:
    """A worker may have two batches sent and not committed; here each of two deaths costs two batches of two texts."""
    bench.reach("embeddings", mode)
    server = bench.servers["beta"]
    server.reset()
    bench.ai.servers.limit(bench.ai.profiles.get(B)).declared(3)  # two texts and the canary
    for point in ("chunk.embedded", "chunk.batch_committed"):
        bench.points.once(point, bench.die)
    bench.finish()
    assert bench.deaths == 2
    assert server.counters.largest_batch == 3
    sent = {text: count for text, count in bench.servers["beta"].counters.embedded.items() if "Record " in text}
    assert len(sent) == 12
    assert sum(sent.values()) <= 12 + 2 * IN_DOUBT * 2
    assert bench.checker.violations_at_rest() == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("phase", ["verify", "activated"])
def test_a_clean_up_that_sleeps_while_people_switch_back(bench: FaultBench, phase: str, mode: str) -> None:
    """It has decided that nobody reads the former model's index; when it wakes up, somebody does, or soon will."""
    bench.reach("activate", "side_by_side")
    while bench.state == "running":
        bench.run_one()
    with bench.paused(Wake("jobs.upkeep.tidy", DEFAULT), "tidy.before_drop") as there:
        assert there
        bench.start(A, mode)
        while bench.state == "running" and bench.phase != phase:
            if not bench.run_one():
                bench.tick()
    reasons = bench.finish()
    assert set(reasons) <= {"switch.failed.verify"}
    assert bench.serving == A
    assert bench.checker.violations_at_rest() == []


def test_a_step_that_sleeps_over_an_abandon_drops_no_serving_index(bench: FaultBench) -> None:
    """In place, the step that drops the serving model's index wakes up after the way back has rebuilt it."""
    bench.reach("indexes", "in_place")
    with bench.paused(wake_of(bench, "jobs.embeddings_switch.advance"), "step.claimed"):
        bench.ai.switching.abandon(SYSTEM)
        bench.go_on()
        assert bench.indexes() == {f"emb_{bench.space(A)}_cms_contents"}
    assert bench.indexes() == {f"emb_{bench.space(A)}_cms_contents"}
    assert bench.checker.violations_at_rest() == []
