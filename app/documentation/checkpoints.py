"""Every point at which an indexer may die, by name; the crash tests enumerate them."""

from __future__ import annotations

NAMES = (
    "docs.read",  # every file is read, nothing is written
    "docs.cut",  # a batch is cut
    "docs.locked",  # its transaction has begun
    "docs.pages_written",
    "docs.passages_written",
    "docs.batch_before_commit",
    "docs.batch_committed",
    "docs.removed_before_commit",
    "docs.faults_before_commit",
    "docs.done",
)
