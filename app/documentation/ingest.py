"""Files and uploads become sources of a named collection: planned first, so that its cost is known, then done.

A folder's sources begin with the collection's name; those of uploads stand below ``uploads/`` and have no file that
could be gone, so no run over folders removes them.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.core.contracts.actor import Actor
from app.core.errors import ConfigurationError, Conflict, Forbidden, Invalid
from app.core.unit import Unit, Units
from app.documentation import collections, store
from app.documentation.entities import entity_of
from app.documentation.indexer import Indexer, IndexReport
from app.documentation.indexer import Plan as Planned
from app.documentation.places import UPLOADS, Collection, Place, collection_places
from app.documentation.reader import LONGEST_EXTRACTED, Fault

PERMISSION = "documentation.ingest"
THRESHOLD = 100_000
"""Tokens to embed above which is asked first (`seed-facts.md` 27.1)."""
_SOURCE = re.compile(r"[^\x00-\x1f\x7f/\\]{1,150}(/[^\x00-\x1f\x7f/\\]{1,150}){0,7}")


@dataclass(frozen=True)
class Plan:
    """What a run would do. ``files`` were read, ``changed`` of them are to be cut and embedded for ``model``."""

    collection: Collection
    planned: Planned
    model: str | None

    @property
    def files(self) -> int:
        return len(self.planned.reading.texts) + len(self.planned.faults)

    @property
    def faults(self) -> int:
        return len(self.planned.faults)

    @property
    def changed(self) -> int:
        return self.planned.sources

    @property
    def passages(self) -> int:
        return self.planned.passages

    @property
    def tokens(self) -> int:
        return self.planned.tokens


@dataclass(frozen=True)
class Uploaded:
    """What became of an upload: ``created``, ``updated`` or ``unchanged``."""

    collection: str
    source: str
    outcome: str
    passages: int
    tokens: int


class Ingest:
    """Opens its own units, as the indexer does. ``serving`` names the model that will embed."""

    def __init__(self, units: Units, indexer: Indexer, serving: Callable[[Any], str | None]) -> None:
        self._units = units
        self._indexer = indexer
        self._serving = serving

    def plan(
        self, name: str, path: Path, pattern: str, locale: str | None = None, max_words: int | None = None
    ) -> Plan:
        """What it would be to read a folder or a file into a collection, which is made on its first use.

        ``locale`` and ``max_words`` belong to the collection and change it. Raises :class:`Invalid` for a name that no
        collection may have, and what `reader.read` raises.
        """
        with self._units() as unit:
            self._settled(unit, name, locale, max_words)
            found = collections.with_folder(unit, name, path, pattern if path.is_dir() else "")
            others = _prefixes(collections.find(unit, name), found)
        return self._planned(found, collection_places(found), spared=others)

    def plan_again(self, name: str, max_words: int | None = None) -> Plan:
        """Every stored source of the collection, read and cut anew. Nothing new comes in, and nothing goes: a source
        without a file is a fault of the plan. Raises :class:`ConfigurationError` for a folder that is not there."""
        with self._units() as unit:
            found = self._settled(unit, name, None, max_words)
        gone = [str(one.path) for one in found.folders if not one.path.exists()]
        if gone:
            raise ConfigurationError([f"{path} is not there; it was read into {name}" for path in gone])
        plan = self._planned(found, collection_places(found), full=True)
        for work in plan.planned.work:
            work.wanted = {source: one for source, one in work.wanted.items() if source not in work.created}
            plan.planned.reading.faults.extend(_lost(name, source) for source in work.gone)
            work.gone = []
        return plan

    def run(self, plan: Plan) -> IndexReport:
        """Do what was planned."""
        return self._indexer.apply(self._units, plan.planned)

    def documents(self, name: str) -> int:
        """How many sources a collection holds; 0 for one that there is not."""
        with self._units() as unit:
            return store.counts(unit.session).get(name, (0, 0, 0))[0]

    @staticmethod
    def entity(name: str) -> str:
        """The kind of record that the pages of a collection are of."""
        return entity_of(name).name

    def upload(
        self, actor: Actor, name: str, source: str, data: bytes, locale: str | None = None, force: bool = False
    ) -> Uploaded:
        """Bring one file that was sent into a collection, in place of what was uploaded under this name before.

        Raises :class:`Forbidden` without ``documentation.ingest``, :class:`Invalid` for a name that is none or a file
        that can't be read, and :class:`Conflict` (with the tokens in its details) for one that costs more than
        `THRESHOLD` unless ``force`` is set.
        """
        if not actor.may(PERMISSION):
            raise Forbidden("access.forbidden", permission=PERMISSION)
        _check_source(source, data)
        with self._units() as unit:
            known = store.named_collection(unit.session, collections.check_name(name))
            found = collections.find(unit, name) if known else collections.save(unit, Collection(name))
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="changeover-upload-")))
            above, _, last = source.rpartition("/")
            file = folder / last
            file.write_bytes(data)
            before = f"{name}/{UPLOADS}{above}/" if above else f"{name}/{UPLOADS}"
            place = Place(file, found, locale, before, before.rstrip("/"))
            plan = self._planned(found, [place])
            if plan.planned.faults:
                raise plan.planned.faults[0].error
            if not plan.files:
                raise Invalid("documentation.source_kind", path="source", source=last[-60:])
            if plan.tokens > THRESHOLD and not force:
                raise Costly(plan.tokens, plan.passages)
            report = self.run(plan)
        outcome = "created" if report.created else "updated" if report.updated else "unchanged"
        return Uploaded(name, before.removeprefix(f"{name}/") + last, outcome, report.passages, plan.tokens)

    def _settled(self, unit: Unit, name: str, locale: str | None, max_words: int | None) -> Collection:
        """The collection with what is wished of it."""
        collections.check_name(name)
        known = store.named_collection(unit.session, name)
        found = collections.find(unit, name) if known else Collection(name)
        wished = replace(found, locale=locale or found.locale, max_words=max_words or found.max_words)
        return found if known and wished == found else collections.save(unit, wished)

    def _planned(
        self, collection: Collection, places: list[Place], full: bool = False, spared: tuple[str, ...] = ()
    ) -> Plan:
        planned = self._indexer.plan(self._units, places, full, spared)
        with self._units() as unit:
            return Plan(collection, planned, self._serving(unit.session))


def _lost(collection: str, source: str) -> Fault:
    """A stored source without a file; what is stored of it stays."""
    return Fault(source, Invalid("documentation.unreadable"), collection, source=source, kept=True)


class Costly(Conflict):
    """The upload costs more tokens than are spent without asking; ``details`` say how many."""

    def __init__(self, tokens: int, passages: int) -> None:
        super().__init__("documentation.costly", tokens=tokens, limit=THRESHOLD)
        self.details = {"tokens": tokens, "passages": passages, "limit": THRESHOLD}


def _prefixes(whole: Collection, own: Collection) -> tuple[str, ...]:
    """What the sources of the collection's other folders begin with."""
    mine = {one.prefix for one in own.folders}
    return tuple(f"{whole.name}/{one.prefix}" for one in whole.folders if one.prefix and one.prefix not in mine)


def _check_source(source: str, data: bytes) -> None:
    parts = source.split("/")
    if not _SOURCE.fullmatch(source) or any(part.strip(". ") == "" or part.startswith(".") for part in parts):
        raise Invalid("documentation.source_name", path="source", source=source[:60])
    if not data.strip():
        raise Invalid("input.required", path="file")
    if len(data) > LONGEST_EXTRACTED:
        raise Invalid("documentation.too_long", path="file", limit=LONGEST_EXTRACTED)
