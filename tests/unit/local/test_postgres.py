"""What the embedded PostgreSQL is given of a machine."""

from __future__ import annotations

import pytest

from app.local.postgres import buffers_mb

GB = 1024**3


@pytest.mark.parametrize(
    ("memory", "expected"), [(GB, 256), (2 * GB, 256), (4 * GB, 512), (8 * GB, 1024), (64 * GB, 1024)]
)
def test_an_eighth_of_the_memory_within_bounds(memory: int, expected: int) -> None:
    assert buffers_mb(memory) == expected
