"""Brings a store of passages to what the files say: new, changed and removed sources, each swapped whole.

Everything is read and admitted before anything is written. A batch never splits a source; it is one transaction, so a
process that dies leaves the old or the new version of each source, and the next run does the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.core.contracts.checkpoints import Checkpoint, no_checkpoint
from app.core.documents.tokens import estimated_tokens
from app.core.errors import Invalid
from app.core.unit import Unit, Units
from app.documentation import store
from app.documentation.cutting import DEFAULT_WINDOW, Splitter, cut
from app.documentation.places import Collection, Place
from app.documentation.ports import Change, Passages, SourceKey, SourceText, Version
from app.documentation.reader import Admitted, Fault, Reading, read

BATCH = 100
"""Sources of one unit."""
BATCH_PASSAGES = 1000
"""A batch is full with so many passages; a source that alone has more is one batch."""

Window = Callable[[Unit], int | None]
"""The window of the embedding profile that serves, in tokens; None where none does."""


@dataclass
class IndexReport:
    """Sources by what happened to them, the passages that were written, and the files that were left out."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    passages: int = 0
    faults: Sequence[Fault] = ()


@dataclass(frozen=True)
class _Wanted:
    """What is to become of a source: its new texts, the locales that stay as they are, and those that are stored."""

    texts: Sequence[Admitted]
    kept: frozenset[str]
    stored: frozenset[str]


@dataclass
class _Work:
    """What is to be done to one collection. ``gone`` are stored sources without a file."""

    collection: Collection
    splitter: Splitter
    wanted: dict[str, _Wanted] = field(default_factory=dict)
    created: set[str] = field(default_factory=set)
    gone: list[str] = field(default_factory=list)
    unchanged: int = 0
    _cut: dict[str, Change | None] = field(default_factory=dict)

    def changes(self, faults: list[Fault]) -> Iterator[tuple[str, Change]]:
        """The sources in order, each cut when its turn comes, so that the model works while the rest is cut; what can't
        be cut is added to ``faults``."""
        for source, wanted in sorted(self.wanted.items()):
            if source not in self._cut:
                self._cut[source] = self._change(source, wanted, faults)
            change = self._cut[source]
            if change is not None:
                yield source, change

    def _change(self, source: str, wanted: _Wanted, faults: list[Fault]) -> Change | None:
        texts: list[SourceText] = []
        kept = set(wanted.kept)
        for text in wanted.texts:
            try:
                texts.append(_cut(text, self.splitter))
            except Invalid as error:
                faults.append(Fault(text.file, error, self.collection.name, text.locale, source, kept=True))
                kept |= {text.locale} & wanted.stored
        if texts or kept != wanted.stored:
            return Change(texts, frozenset(kept))
        self.unchanged += bool(wanted.stored)
        return None


@dataclass(frozen=True)
class Plan:
    """What a run would do, before it does it. Nothing is written, nothing is embedded; cut is what is asked for."""

    reading: Reading
    work: Sequence[_Work]
    full: bool = False

    @property
    def faults(self) -> Sequence[Fault]:
        list(self._changes())  # what can't be cut is a fault, too
        names = {work.collection.name for work in self.work}
        return [fault for fault in self.reading.faults if fault.collection in names]

    @property
    def sources(self) -> int:
        """How many sources are new or changed."""
        return sum(1 for change in self._changes() if change.texts)

    @property
    def passages(self) -> int:
        return sum(len(text.passages) for text in self._texts())

    @property
    def tokens(self) -> int:
        """Of everything that will be embedded, by the estimate."""
        return sum(estimated_tokens(text.wording(one)) for text in self._texts() for one in text.passages)

    def _texts(self) -> Iterator[SourceText]:
        return (text for change in self._changes() for text in change.texts)

    def _changes(self) -> Iterator[Change]:
        return (change for work in self.work for _, change in work.changes(self.reading.faults))


class Indexer:
    """Opens its own units: a collection may be larger than one transaction should be."""

    def __init__(
        self, passages: Passages, window: Window = lambda unit: None, checkpoint: Checkpoint = no_checkpoint
    ) -> None:
        self.passages = passages
        self._window = window
        self._checkpoint = checkpoint

    def splitter(self, unit: Unit, collection: Collection) -> Splitter:
        """How the texts of a collection are cut now."""
        return splitter_of(collection, self._window(unit) or DEFAULT_WINDOW)

    def run(
        self,
        units: Units,
        places: Sequence[Place],
        full: bool = False,
        spared: tuple[str, ...] = (),
        only: Sequence[str] | None = None,
    ) -> IndexReport:
        """`plan`, then `apply`."""
        return self.apply(units, self.plan(units, places, full, spared, only))

    def plan(
        self,
        units: Units,
        places: Sequence[Place],
        full: bool = False,
        spared: tuple[str, ...] = (),
        only: Sequence[str] | None = None,
    ) -> Plan:
        """Read and admit. Raises as `reader.read`; writes nothing. ``full`` takes every source for changed.

        Sources that begin with one of ``spared`` are left alone. Everything is read, also what is not to be written
        because its collection is none of ``only``: an unknown audience anywhere stops everything.
        """
        collections = {place.collection.name: place.collection for place in places}
        asked = {name: one for name, one in collections.items() if only is None or name in only}
        with units() as unit:
            window = self._window(unit) or DEFAULT_WINDOW
            stored = {name: self.passages.versions(unit, name) for name in asked}
        splitters = {name: splitter_of(one, window) for name, one in collections.items()}

        def known(collection: str, source: str, locale: str, content_hash: bytes) -> bool:
            if collection not in asked:
                return True
            version = stored[collection].get(source, {}).get(locale)
            return not full and version == Version(content_hash, splitters[collection].signature)

        reading = read(places, known)
        reading.spared = spared
        self._checkpoint("docs.read")
        work = [self._work(reading, one, splitters[name], stored[name], full) for name, one in sorted(asked.items())]
        return Plan(reading, work, full)

    def apply(self, units: Units, plan: Plan) -> IndexReport:
        """Write what was planned. Safe to run twice at once: what another run has done meanwhile is not done again."""
        report = IndexReport()
        for work in plan.work:
            for part in _batches(work.changes(plan.reading.faults)):
                self._checkpoint("docs.cut")
                with units() as unit:
                    self._write(unit, plan, work, part, report)
                    self._checkpoint("docs.batch_before_commit")
                self._checkpoint("docs.batch_committed")
            report.unchanged += work.unchanged
            with units() as unit:
                self._finish(unit, plan, work, report)
        report.faults = plan.faults
        self._checkpoint("docs.done")
        return report

    def _work(
        self,
        reading: Reading,
        collection: Collection,
        splitter: Splitter,
        stored: Mapping[str, Mapping[str, Version]],
        full: bool,
    ) -> _Work:
        work = _Work(collection, splitter)
        wanted: dict[str, dict[str, Admitted]] = defaultdict(dict)
        for text in reading.texts:
            if text.collection == collection.name:
                wanted[text.source][text.locale] = text
        for source, texts in sorted(wanted.items()):
            self._compare(reading, work, source, texts, stored.get(source, {}), full)
        for source in sorted(stored.keys() - wanted.keys()):
            if reading.covers(collection.name, source):
                self._compare(reading, work, source, {}, stored[source], False)
        return work

    def _compare(
        self,
        reading: Reading,
        work: _Work,
        source: str,
        texts: Mapping[str, Admitted],
        stored: Mapping[str, Version],
        full: bool,
    ) -> None:
        """Note what is to be done to one source."""
        name, signature = work.collection.name, work.splitter.signature
        kept = frozenset(code for code in stored if code not in texts and reading.keeps(name, source, code))
        same = all(stored.get(code) == Version(text.content_hash, signature) for code, text in texts.items())
        if same and not full and stored.keys() == texts.keys() | kept:
            work.unchanged += 1
            return
        if not texts and not kept:
            work.gone.append(source)
            return
        known = {code for code, text in texts.items() if text.pieces is None}  # as they are stored: not looked into
        open_ = [text for code, text in sorted(texts.items()) if code not in known]
        work.wanted[source] = _Wanted(open_, frozenset(kept | known), frozenset(stored))
        work.created |= {source} if not stored else set()

    def _write(self, unit: Unit, plan: Plan, work: _Work, part: Mapping[str, Change], report: IndexReport) -> None:
        name = work.collection.name
        self.passages.lock(unit, name)
        self._checkpoint("docs.locked")
        stored = self.passages.versions(unit, name, list(part))
        open_ = {
            source: change for source, change in part.items() if plan.full or not _stands(change, stored.get(source))
        }
        report.unchanged += len(part) - len(open_)
        report.created += len(open_.keys() & work.created)
        report.updated += len(open_.keys() - work.created)
        report.passages += sum(len(text.passages) for change in open_.values() for text in change.texts)
        if open_:
            self.passages.replace(unit, name, open_)

    def _finish(self, unit: Unit, plan: Plan, work: _Work, report: IndexReport) -> None:
        """Sources without a file go, and the files that were left out are noted."""
        name = work.collection.name
        self.passages.lock(unit, name)
        if work.gone:
            present = self.passages.versions(unit, name, work.gone)
            self.passages.remove(unit, name, sorted(present))
            report.removed += len(present)
        self._checkpoint("docs.removed_before_commit")
        rows = [_noted(fault) for fault in plan.reading.faults if fault.collection == name]
        store.replace_faults(unit.session, name, rows, lambda source: plan.reading.covers(name, source))
        self._checkpoint("docs.faults_before_commit")


def splitter_of(collection: Collection, window: int) -> Splitter:
    """How a collection is cut for a model of this window."""
    return Splitter(collection.driver, collection.max_words, collection.delimiter, window)


def _cut(text: Admitted, splitter: Splitter) -> SourceText:
    plain, passages = cut(text.title, text.pieces or (), splitter)
    return SourceText(
        key=SourceKey(text.collection, text.source),
        locale=text.locale,
        file=text.file,
        title=text.title,
        body=text.body,
        plain=plain,
        metadata=text.declared,
        content_hash=text.content_hash,
        splitter=splitter.signature,
        passages=passages,
    )


def _stands(change: Change, stored: Mapping[str, Version] | None) -> bool:
    """Whether another run has done this already."""
    wanted = {text.locale: Version(text.content_hash, text.splitter) for text in change.texts}
    found = {code: version for code, version in (stored or {}).items() if code not in change.kept}
    return wanted == found


def _batches(changes: Iterable[tuple[str, Change]]) -> Iterator[dict[str, Change]]:
    part: dict[str, Change] = {}
    passages = 0
    for source, change in changes:
        own = sum(len(text.passages) for text in change.texts)
        if part and (len(part) == BATCH or passages + own > BATCH_PASSAGES):
            yield part
            part, passages = {}, 0
        part[source] = change
        passages += own
    if part:
        yield part


def _noted(fault: Fault) -> dict[str, object]:
    return {
        "file": fault.file,
        "locale": fault.locale,
        "source": fault.source,
        "code": fault.error.code,
        "values": {name: value if isinstance(value, int | float) else str(value)
                   for name, value in fault.error.values.items()},
        "kept": fault.kept,
    }  # fmt: skip
