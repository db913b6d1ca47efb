"""Random schedules of faults and edits, each from a seed: `FAULTS_SEED=17 … test_soak.py` plays one again."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest

from app.core.contracts.actor import SYSTEM
from app.core.errors import ChangeoverError
from app.embeddings.checkpoints import NAMES
from tests.fakes.embedding_server import Behaviour
from tests.faults import breaking, editing
from tests.faults.harness import MODES, SIZE, FaultBench
from tests.faults.servers import MISBEHAVIOURS
from tests.fixtures.bench import A, B, C

SEEDS = [int(os.environ["FAULTS_SEED"])] if "FAULTS_SEED" in os.environ else range(200 if SIZE == "full" else 6)
STEPS = 25


class Soak:
    """One random life of a console."""

    def __init__(self, bench: FaultBench, seed: int) -> None:
        self.bench = bench
        self.random = random.Random(seed)
        self.done: list[str] = []

    def live(self) -> None:
        actions: list[Callable[[], object]] = [
            self.edit, self.edit, self.die, self.die, self.lose, self.expire, self.misbehave, self.twice, self.again,
            self.person, self.cut, self.refuse, self.work, self.work, self.work, self.work,
        ]  # fmt: skip
        self.start()
        for _ in range(STEPS):
            action = self.random.choice(actions)
            self.done.append(action.__name__)
            action()
            self.bench.expire()
        self.bench.points.clear()
        self.bench.heal()
        self.bench.finish()

    def start(self) -> None:
        target = self.random.choice([key for key in (A, B, C) if key != self.bench.serving])
        mode = self.random.choice(MODES)
        self.bench.command(lambda: self._try(lambda: self.bench.ai.switching.start(SYSTEM, target, mode)))

    @staticmethod
    def _try(action: Callable[[], object]) -> None:
        try:
            action()
        except ChangeoverError:
            return  # a refusal is an answer

    def work(self) -> None:
        self.bench.tick()
        for _ in range(self.random.randint(1, 8)):
            self.bench.run_one()

    def edit(self) -> None:
        names = sorted(set(editing.EDITS) - {"F55_held_open_across", "F56_all_deleted", "F66_blank", "F53_long"})
        editing.EDITS[self.random.choice(names)](self.bench)

    def die(self) -> None:
        self.bench.points.once(self.random.choice([name for name in NAMES if "." in name]), self.bench.die)
        self.work()

    def lose(self) -> None:
        self.bench.queue.sent.clear()

    def expire(self) -> None:
        self.bench.expire()

    def misbehave(self) -> None:
        wrong = MISBEHAVIOURS[self.random.choice(sorted(MISBEHAVIOURS))]
        server = self.bench.servers[self.random.choice(sorted(self.bench.servers))]
        server.script([wrong] * self.random.randint(1, 3) + [Behaviour()] * 1000)
        self.work()

    def twice(self) -> None:
        if self.bench.queue.sent:
            wake = self.bench.queue.sent.pop(0)
            self.bench.together(lambda: self.bench.deliver(wake), lambda: self.bench.deliver(wake))

    def again(self) -> None:
        if self.bench.delivered:
            self.bench.deliver(self.random.choice(self.bench.delivered))

    def person(self) -> None:
        switching = self.bench.ai.switching
        choice = self.random.choice(
            [self.start, lambda: switching.abandon(SYSTEM), lambda: switching.resume(SYSTEM), self.start]
        )
        self.bench.command(lambda: self._try(choice))

    def cut(self) -> None:
        self.bench.cut_connections()

    def refuse(self) -> None:
        state = self.random.choice(sorted(breaking.ERRORS))
        breaking.refused_statement(state, self.random.randint(1, 12))(self.bench)


@pytest.mark.parametrize("seed", SEEDS)
def test_soak(bench: FaultBench, seed: int, record_property: Callable[[str, object], None]) -> None:
    soak = Soak(bench, seed)
    where = f"seed {seed}"
    try:
        soak.live()
        assert bench.checker.violations() == [], where
        if bench.state == "failed":
            bench.command(lambda: bench.ai.switching.abandon(SYSTEM))
            bench.finish()
        assert bench.checker.violations_at_rest() == [], where
    except AssertionError:
        print(f"\nFAULTS_SEED={seed}: {' '.join(soak.done)}")
        raise
    record_property("soaks", 1)
