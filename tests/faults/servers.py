"""Faults of the target's embedding server (faults 16, 41 to 54)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.fakes.embedding_server import Behaviour
from tests.faults.harness import FaultBench

TIMES = 2
"""Calls that go wrong, before the server is well again."""

MISBEHAVIOURS = {
    "F41_away": Behaviour(status=500),
    "F41_hangs": Behaviour(delay=0.6),
    "F41_drips_its_head": Behaviour(drip_head=0.02),
    "F41_drips_its_body": Behaviour(drip_body=0.002),
    "F42_wrong_length_in_one_vector": Behaviour(wrong_dims_at=0),
    "F42_wrong_length": Behaviour(dims=7),
    "F43_nan": Behaviour(nan_at=0),
    "F43_infinite": Behaviour(infinite_at=0),
    "F43_too_large_a_number": Behaviour(huge_at=0),
    "F44_zero_vector": Behaviour(zero_at=0),
    "F45_not_of_length_one": Behaviour(norm=3.0),
    "F46_reordered": Behaviour(order="reversed"),
    "F46_repeated_index": Behaviour(indexes=[0] * 64),
    "F46_index_out_of_range": Behaviour(indexes=[99, *range(1, 64)]),
    "F47_one_missing": Behaviour(missing=1),
    "F47_one_too_many": Behaviour(extra=1),
    "F48_413": Behaviour(status=413),
    "F48_422": Behaviour(status=422),
    "F48_424": Behaviour(status=424),
    "F48_400_batch_too_large": Behaviour(status=400, error="batch not larger than 10"),
    "F49_429_with_retry_after": Behaviour(status=429, headers={"Retry-After": "7"}),
    "F49_503_with_retry_after": Behaviour(status=503, headers={"Retry-After": "2"}),
    "F50_drops_before": Behaviour(drop="before"),
    "F50_drops_in_the_head": Behaviour(drop="head"),
    "F50_drops_in_the_body": Behaviour(drop="body"),
    "F54_strings": Behaviour(encoding="strings"),
    "F54_no_json": Behaviour(body="<html>"),
    "F54_floats": Behaviour(encoding="float"),
}


def is_text(texts: Sequence[str]) -> bool:
    """Whether a call embeds documents, and not the probe text or a question."""
    return any("Record " in text for text in texts)


def edits(bench: FaultBench) -> None:
    """Later than the chunks, only events give the target's server something to do."""
    if bench.phase in ("verify", "activate"):
        for number in (2, 5, 9):
            bench.write(number, f"text of record {number}, edited")


def misbehaves(behaviour: Behaviour, model: str = "beta") -> Callable[[FaultBench], None]:
    """The next calls with texts to the target's server, or to that of ``model``, are answered so, then rightly."""

    def act(bench: FaultBench) -> None:
        edits(bench)
        left = TIMES

        def script(number: int, texts: Sequence[str]) -> Behaviour | None:
            nonlocal left
            if not left or not is_text(texts):
                return None
            left -= 1
            return behaviour

        bench.servers[model].script(script)
        bench.go_on()
        assert left < TIMES, "the fault never happened"

    return act


def stops_and_starts(bench: FaultBench) -> None:
    """Nobody listens at the server's address for a while."""
    edits(bench)
    server = bench.servers["beta"]
    server.stop()
    begun = bench.clock.slept
    sleep = bench.clock.sleep

    def sleep_and_wake(seconds: float) -> None:
        sleep(seconds)
        if bench.clock.slept > begun + 5 and server._http is None:
            server.start()

    bench.clock.sleep = sleep_and_wake  # type: ignore[method-assign]
    for _ in range(3):
        bench.tick()
        bench.drain(6)
    if server._http is None:
        server.start()


def _never_served(bench: FaultBench) -> None:
    bench.go_on()
    assert not bench.serving.endswith("beta"), "I1: a model serves whose server answers from another"


def other_model(bench: FaultBench) -> None:
    """The server says that it runs another model now, and does."""
    edits(bench)
    bench.servers["beta"].behaviour = Behaviour(model="gamma")
    _never_served(bench)


def other_weights(bench: FaultBench) -> None:
    """The server runs another model under the same name and with the same length."""
    edits(bench)
    bench.servers["beta"].behaviour = Behaviour(noise=0.5)
    _never_served(bench)


def other_weights_after_the_check(bench: FaultBench) -> None:
    """The weights change between the check at a chunk's start and its first batch, for two batches."""
    misbehaves(Behaviour(noise=0.5))(bench)


def other_weights_of_the_serving(bench: FaultBench) -> None:
    """The same at the serving model's server, while events are applied."""
    bench.write(3, "text of record 3, edited")
    misbehaves(Behaviour(noise=0.5), "alpha")(bench)


def trembles(bench: FaultBench) -> None:
    """The same text, a vector that differs in the last digits."""
    edits(bench)
    bench.servers["beta"].behaviour = Behaviour(noise=0.0005)
    bench.go_on()


def poison(bench: FaultBench) -> None:
    """One text ends the server's process each time; the others go through."""
    bench.write(5, "this is poison")
    bench.servers["beta"].behaviour = Behaviour(poison="poison", poison_status=0)
    bench.go_on()
