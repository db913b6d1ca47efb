"""A bench for faults, and the sums that the sweeps and soaks print at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.harness import FaultBench
from tests.fixtures.bench import fake_servers


@pytest.fixture
def bench(database: str, tmp_path: Path) -> Iterator[FaultBench]:
    with fake_servers() as servers:
        made = FaultBench(database, tmp_path, servers)
        for number in range(1, 13):
            made.write(number, f"text of record {number}")
        made.go_on()
        made.pass_events()
        for server in servers.values():
            server.reset()
        yield made
        made.close()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    sums: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "call":
                sums.update({name: value for name, value in report.user_properties if isinstance(value, int)})
    for name, value in sorted(sums.items()):
        terminalreporter.write_line(f"{name}: {value}")
