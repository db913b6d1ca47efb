"""Reading modifications: lists for voters and authors, and one of them as the reader may see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from app.core.approvals import store
from app.core.approvals.ask import ApprovalAsk
from app.core.approvals.diff import as_json, field_of, locale_of, moved
from app.core.approvals.models import Modification
from app.core.approvals.parts import EXPIRED, PENDING, RECORD, Parts, state_of
from app.core.approvals.rights import hidden, is_voter
from app.core.contracts.actor import Actor
from app.core.unit import Unit

MOST_COUNTED = 100


@dataclass(frozen=True)
class Vote:
    """One vote. ``counts`` is false for one of an earlier round, before the author's edit."""

    user_id: int
    voter: str
    approves: bool
    reason: str
    at: datetime
    counts: bool


@dataclass(frozen=True)
class Shown:
    """A modification as one reader sees it. ``diff`` lacks the paths that they may not read; ``hidden`` counts those.

    ``title`` is that of the record. ``current`` holds the value now of each path of a pending update, and ``moved`` the
    paths that have changed since the capture; a vote that would apply it ends in a conflict then.
    """

    id: int
    kind: str
    subject: str
    record_id: int | None
    operation: str
    state: str
    round: int
    votes_needed: int
    author_id: int
    author: str
    created_at: datetime
    expires_at: datetime
    resolved_at: datetime | None
    reason: str
    error_code: str | None
    error_values: Mapping[str, Any]
    applied_revision: int | None
    diff: Mapping[str, Any]
    hidden: int
    votes: tuple[Vote, ...]
    is_mine: bool
    may_vote: bool
    title: str = ""
    current: Mapping[str, object] | None = None
    moved: tuple[str, ...] = ()

    @property
    def approvals(self) -> int:
        return sum(vote.approves and vote.counts for vote in self.votes)


@dataclass(frozen=True)
class ApprovalPage:
    """One page, newest first. ``next_cursor`` is None on the last one."""

    items: tuple[Shown, ...]
    next_cursor: str | None


class Inbox:
    """Runs in the caller's unit and writes nothing."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    def page(self, unit: Unit, actor: Actor, ask: ApprovalAsk) -> ApprovalPage:
        """The actor's own modifications, and those on what they may vote on, that match ``ask``."""
        conditions = store.asked(self.parts.registry, actor, ask, self.parts.clock.now())
        found = store.page(unit.session, conditions, ask.before, ask.size)
        shown = found[: ask.size]
        more = str(shown[-1].id) if len(found) > ask.size else None
        return ApprovalPage(self._shown(unit, actor, shown), more)

    def waiting(self, unit: Unit, actor: Actor) -> int:
        """How many wait for this person's vote; counting ends at 100."""
        if not is_voter(self.parts.registry, actor):
            return 0
        ask = ApprovalAsk(to_vote=True)
        conditions = store.asked(self.parts.registry, actor, ask, self.parts.clock.now())
        return store.count(unit.session, conditions, MOST_COUNTED)

    def of_record(self, unit: Unit, actor: Actor, entity: str, record_id: int) -> tuple[Shown, ...]:
        """What waits for votes on one record, as far as the actor may see it."""
        ask = ApprovalAsk(state=PENDING, subject=entity, record_id=record_id)
        return self.page(unit, actor, ask).items

    def one(self, unit: Unit, actor: Actor, modification: Modification) -> Shown:
        """A modification that the actor may see, with the values of now."""
        shown = self._shown(unit, actor, [modification])[0]
        if shown.state not in (PENDING, EXPIRED) or modification.operation == "insert":
            return shown
        current = self.parts.appliers[modification.kind].current(unit, modification)
        if current is None:
            return shown
        now = {path: as_json(current.get(path)) for path in shown.diff}
        changed = tuple(moved(shown.diff, current))
        return replace(shown, current=now, moved=changed)

    def _shown(self, unit: Unit, actor: Actor, rows: Sequence[Modification]) -> tuple[Shown, ...]:
        votes = store.votes(unit.session, [row.id for row in rows])
        names = store.names(unit.session, [row.author_id for row in rows])
        shown = [self._one(actor, row, names[row.author_id], votes.get(row.id, [])) for row in rows]
        titles = self._titles(unit, actor, shown)
        return tuple(replace(one, title=titles.get((one.subject, one.record_id), "")) for one in shown)

    def _titles(self, unit: Unit, actor: Actor, shown: Sequence[Shown]) -> Mapping[tuple[str, int | None], str]:
        wanted: dict[str, set[int]] = {}
        for one in shown:
            if one.kind == RECORD and one.record_id is not None and one.subject in self.parts.registry:
                wanted.setdefault(one.subject, set()).add(one.record_id)
        return {
            (name, record_id): title
            for name, ids in wanted.items()
            for record_id, title in store.titles(
                unit.session, self.parts.registry.get(name), actor, sorted(ids)
            ).items()
        }

    def _one(self, actor: Actor, row: Modification, author: str, votes: Sequence[store.NamedVote]) -> Shown:
        kept_back = set(hidden(self.parts.registry, actor, row))
        state = state_of(row, self.parts.clock.now())
        cast = tuple(
            Vote(vote.user_id, name, vote.approves, vote.reason or "", vote.at, vote.round == row.round)
            for vote, name in votes
        )
        voted = any(vote.counts and vote.user_id == actor.id for vote in cast)
        return Shown(
            id=row.id,
            kind=row.kind,
            subject=row.subject,
            record_id=row.record_id or row.applied_record_id,
            operation=row.operation,
            state=state,
            round=row.round,
            votes_needed=row.votes_needed,
            author_id=row.author_id,
            author=author,
            created_at=row.created_at,
            expires_at=row.expires_at,
            resolved_at=row.resolved_at,
            reason=row.reason or "",
            error_code=row.error_code,
            error_values=row.error_values,
            applied_revision=row.applied_revision,
            diff={path: row.diff[path] for path in self._ordered(row) if path not in kept_back},
            hidden=len(kept_back),
            votes=cast,
            is_mine=row.author_id == actor.id,
            may_vote=state == PENDING and not voted and is_voter(self.parts.registry, actor, row),
        )

    def _ordered(self, row: Modification) -> list[str]:
        """The paths in the order of the entity's fields: JSON of the database keeps none."""
        if row.kind != RECORD or row.subject not in self.parts.registry:
            return sorted(row.diff)
        order = {item.name: number for number, item in enumerate(self.parts.registry.get(row.subject).fields)}
        return sorted(row.diff, key=lambda path: (locale_of(path) or "", order.get(field_of(path), 0), path))
