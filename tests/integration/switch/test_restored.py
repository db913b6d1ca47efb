"""A database restored into another cluster amid a switch: each consumer finds what it lacks and loses no change."""

from __future__ import annotations

from tests.fixtures.bench import A, B, Bench


def restored_elsewhere(bench: Bench) -> None:
    """As after `pg_restore` into another cluster: cursors carry the old identifier and positions far ahead."""
    bench.execute("update index_cursors set system_identifier = '1', xid = '9000000000000'::xid8")
    bench.execute("update index_events set xid = '8000000000000'::xid8")


def test_a_change_between_the_two_reconciliations_reaches_the_serving_model(bench: Bench) -> None:
    bench.start()
    bench.run_to("verify")
    restored_elsewhere(bench)
    bench.ai.consumers.apply("serving", bench.stop)
    bench.write(3, "changed after the serving consumer looked")
    bench.ai.consumers.apply("target", bench.stop)
    bench.ai.consumers.apply("serving", bench.stop)
    assert bench.violations(A) == []
    bench.settle()
    assert bench.serving == B
    assert bench.violations(B) == []


def test_a_switch_goes_on_and_changes_made_before_any_process_ran_are_in(bench: Bench) -> None:
    bench.start()
    bench.run_to("indexes")
    restored_elsewhere(bench)
    bench.write(3, "changed before any process ran")
    bench.settle()
    assert bench.serving == B
    assert bench.violations(B) == []
    assert bench.value("select count(*) from index_cursors where system_identifier = '1'") == 0
