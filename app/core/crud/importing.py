"""An import: lines are read as a stream and written batch by batch, each batch in a unit of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import BinaryIO

from app.core.contracts.actor import Actor
from app.core.crud.bulk import BulkRecords, Given, Outcome, Refusal
from app.core.crud.lines import ImportLine, Line, Source, parse_line, read_lines
from app.core.errors import ChangeoverError, Forbidden, Invalid
from app.core.registry import Entity, Registry
from app.core.unit import Units

BATCH = 500
EXAMPLES = 20
"""Line numbers that the report names per reason."""


class _DryRun(Exception):
    """Leaves a unit without committing it."""


@dataclass
class Reason:
    """Why lines were refused: one of their errors, how many there were, and the first of them."""

    error: ChangeoverError
    count: int = 0
    lines: list[int] = field(default_factory=list)


@dataclass
class Tally:
    """The report of an import. ``refused`` is keyed by code and field."""

    read: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    refused: dict[str, Reason] = field(default_factory=dict)

    @property
    def refused_lines(self) -> int:
        return self.counts["refused"]

    def add(self, outcome: Outcome) -> None:
        """Count one batch."""
        self.counts.update(
            created=outcome.created, updated=outcome.updated, unchanged=outcome.unchanged, cut=outcome.cut
        )
        for refusal in outcome.refused:
            self.refuse(refusal)

    def refuse(self, refusal: Refusal) -> None:
        """Count one refused line under each of its reasons."""
        self.counts["refused"] += 1
        error = refusal.error
        for part in error.fields if isinstance(error, Invalid) and error.fields else (error,):
            reason = self.refused.setdefault(f"{part.code} {part.path or ''}", Reason(part))
            reason.count += 1
            if len(reason.lines) < EXAMPLES:
                reason.lines.append(refusal.line)


class Importer:
    """Called by the command line; the units are its own."""

    def __init__(self, registry: Registry, bulk: BulkRecords, units: Units) -> None:
        self.registry = registry
        self.bulk = bulk
        self.units = units

    def run(
        self,
        stream: BinaryIO,
        actor: Actor,
        name: str,
        source: Source,
        *,
        batch: int = BATCH,
        limit: int | None = None,
        dry_run: bool = False,
        progress: Callable[[int, Tally], None] = lambda end, tally: None,
    ) -> Tally:
        """Import ``stream`` into the entity ``name``; a ``dry_run`` checks everything and writes nothing.

        ``progress`` is told after each batch how many bytes were read. A batch that fails as a whole (the database is
        away) raises; the batches before it stand, and running the import again goes on where it stopped.
        """
        entity = self.registry.get(name)
        if entity.from_line is None:
            raise Forbidden("record.read_only", entity=name)
        tally = Tally()
        seen: set[int] = set()
        lines = islice(read_lines(stream), limit)
        while part := list(islice(lines, batch)):
            given = list(self._given(entity, part, source, tally))
            tally.add(self._load(actor, name, given, seen, dry_run))
            progress(part[-1].end, tally)
        return tally

    def _given(self, entity: Entity, part: list[Line], source: Source, tally: Tally) -> Iterator[Given]:
        assert entity.from_line is not None
        for line in part:
            tally.read += 1
            try:
                yield Given(line.number, entity.from_line(ImportLine(parse_line(line), source)))
            except Invalid as error:
                tally.refuse(Refusal(line.number, error))

    def _load(self, actor: Actor, name: str, given: list[Given], seen: set[int], dry_run: bool) -> Outcome:
        outcome = Outcome()
        try:
            with self.units() as unit:
                outcome = self.bulk.load(unit, actor, name, given, seen)
                if dry_run:
                    raise _DryRun
        except _DryRun:
            pass
        return outcome
