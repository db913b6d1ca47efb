import pytest
from tests.faults.harness import *
@pytest.mark.parametrize("mode", MODES)
def test_plain(bench, mode):
    bench.reach("verify", mode)
    assert bench.checker.violations()==[]
    assert bench.finish()==[]
    assert bench.checker.violations_at_rest()==[]
    print(bench.history.states, bench.broken)
@pytest.mark.parametrize("mode", MODES)
def test_die(bench, mode):
    bench.reach("embeddings", mode)
    bench.points.once("chunk.embedded", bench.die)
    assert bench.finish()==[]
    assert bench.deaths==1
    assert bench.checker.violations_at_rest()==[]
