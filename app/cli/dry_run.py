"""``flask embeddings switch KEY --dry-run``: runs everything up to activation on the workers, shows it, undoes it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from app.core.contracts.actor import SYSTEM
from app.core.errors import Conflict
from app.edge.context import container

if TYPE_CHECKING:
    from app.embeddings.parts import EmbeddingParts

POLL_SECONDS = 0.5
UNDO_SECONDS = 60.0


def run(ai: EmbeddingParts, profile: str, mode: str) -> dict[str, Any]:
    """Start, wait for the end, wait until rows and indexes are gone; Ctrl-C ends it early and undoes it too.

    Who is killed here leaves nothing either: the workers go on to the end and undo it by themselves.
    """
    switch = ai.switching.start(SYSTEM, profile, mode, dry_run=True)
    clock = container().clock
    try:
        while _open(ai, switch.id):
            clock.sleep(POLL_SECONDS)
    except KeyboardInterrupt:
        with suppress(Conflict):  # it may have ended just now
            ai.switching.abandon(SYSTEM)
    until = clock.monotonic() + UNDO_SECONDS
    while (left := ai.switching.left_of_dry_run(switch.id)) and clock.monotonic() < until:
        clock.sleep(POLL_SECONDS)
    ended = ai.switching.find(switch.id)
    assert ended is not None
    return ai.views.dry_run(ended, left)


def _open(ai: EmbeddingParts, switch_id: int) -> bool:
    found = ai.switching.find(switch_id)
    return found is not None and found.status in ("running", "failed")


def lines(shown: dict[str, Any]) -> dict[str, Any]:
    """The report as a person reads it: estimated against actual, and what was undone."""
    estimated = shown["estimated"]
    nothing = "nothing to embed: every document had its vectors already" if shown["embedded"] == 0 else None
    span = estimated["seconds"]
    recalls = [index["recall"] for index in shown["indexes"] if index["recall"] is not None]
    took, built = shown["seconds"], sum(index["seconds"] for index in shown["indexes"])
    size = sum(index["bytes"] for index in shown["indexes"])
    removed = f"{shown['bytes_removed']} bytes" if not shown["left"] else "not yet; the next clean-up does it"
    return {
        "dry_run": f"{shown['outcome']}, nothing was activated",
        "reason": shown["reason"],
        "to": shown["to"],
        "documents": f"{shown['documents']}, {shown['already_done']} done before",
        "embedded": nothing or f"{shown['embedded']} documents, {estimated['documents']} estimated",
        "passages": f"{shown['passages']}, {estimated['passages']} estimated",
        "calls": shown["calls"],
        "characters": shown["characters"],
        "tokens": "not known: servers count them, and nobody keeps their count",
        "need_a_decision": shown["undecided"],
        "took": None if took is None else f"{took:.1f} s, estimated {_span(span)}",
        "phases": {name: f"{seconds:.1f} s" for name, seconds in shown["phases"].items()},
        "rate": None if shown["rate"] is None else f"{shown['rate']} passages/s",
        "indexes": f"{len(shown['indexes'])} in {built:.1f} s, {size} bytes",
        "verified": f"yes, recall of the index {min(recalls):.3f} at least" if recalls else shown["verified"] or "no",
        "written": f"{shown['bytes_written']} bytes",
        "removed": removed,
        "kept": f"{shown['rows_kept']} rows stood before and stay as long as they would have"
        * bool(shown["rows_kept"]),
    }


def _span(span: list[float] | None) -> str:
    return "nothing" if span is None else f"{span[0]:.0f} to {span[1]:.0f} s"
