"""What ``flask rag`` prints of a run: the table, what failed, and the change against a baseline (seed 002)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.documentation.suite_runs import SuiteReport
    from app.documentation.suites import CaseResult

DASH = "\N{EN DASH}"
ARROW = "\N{RIGHTWARDS ARROW}"
CROSS = "\N{BALLOT X}"
DOWN = "\N{DOWNWARDS ARROW}"


def lines(report: SuiteReport) -> Iterator[str]:
    """The whole report."""
    asked = report.asked
    cases = counted(len(report.results), "case")
    yield f"Suite '{report.suite.name}': {cases} at k={asked.k}, collection {asked.collection}."
    yield ""
    yield from _metrics(report)
    if report.failed:
        yield ""
        yield f"{counted(len(report.failed), 'case')} failed:"
        for one in report.failed:
            yield from _failure(one)
    known = [one.case.id for one in report.results if one.case.expect_fail and not one.passed]
    if known:
        yield ""
        yield f"Known to be red, not counted: {', '.join(known)}"
    if report.mended:
        yield ""
        yield f"Said to be red, but green now: {', '.join(one.case.id for one in report.mended)}"
    if report.baseline is not None:
        yield from _baseline(report)


def _metrics(report: SuiteReport) -> Iterator[str]:
    rows = []
    for name, value in report.metrics.items():
        floor = report.floors.get(name)
        verdict = "" if floor is None else "BELOW" if name in report.breaches else "pass"
        n = len(report.counted) if name == "pass_rate" else report.answerable
        rows.append((name, f"{value:.3f}", DASH if floor is None else f"{floor:.3f}", verdict, str(n)))
    yield from table(("metric", "score", "floor", "", "cases"), rows)


def _failure(one: CaseResult) -> Iterator[str]:
    yield ""
    yield f"  {CROSS} {one.case.id}"
    yield f"    query: {one.case.query}"
    for broken in one.violations:
        yield f"    {ARROW} {broken.sentence}"


def _baseline(report: SuiteReport) -> Iterator[str]:
    yield ""
    yield "Against the baseline:"
    yield ""
    for change in report.changes:
        yield f"  {change.metric:<16} {change.before:.3f} {ARROW} {change.now:.3f}  {change.delta:+.3f}"
    if report.regressions:
        yield ""
        yield f"{counted(len(report.regressions), 'metric')} regressed:"
        yield ""
        for change in report.regressions:
            moved = f"{change.before:.4f} -> {change.now:.4f}"
            yield f"  {DOWN} {change.metric} dropped {abs(change.delta):.4f} ({moved})"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table of plain signs, so that a log of a build shows it too."""
    widths = [max(len(row[n]) for row in (head, *rows)) for n in range(len(head))]
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"

    def line(row: Sequence[str]) -> str:
        return "|" + "|".join(f" {cell:<{width}} " for cell, width in zip(row, widths, strict=True)) + "|"

    yield from (rule, line(head), rule, *(line(row) for row in rows), rule)


def counted(number: int, word: str) -> str:
    """``1 case``, ``2 cases``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
