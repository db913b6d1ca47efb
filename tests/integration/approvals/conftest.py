"""People who capture and people who vote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import text

from app.container import Container
from app.core.access.models import Role, User, UserRole
from app.core.contracts.actor import SYSTEM, Actor
from app.core.crud.serialise import Record
from app.core.crud.service import Captured
from tests.fixtures.clients import People

CONTENTS = "cms.contents"
BOTH = {"en": {"title": "Holiday plan", "body": "Ask early."}, "it": {"title": "Piano ferie", "body": "Chiedi presto."}}
VOTER = ("cms.contents.select", "cms.contents.approve", "settings.select", "settings.approve")

Voters = Callable[[int], Sequence[User]]


class Desk:
    """Captures, votes and looks, as people of the database."""

    def __init__(self, container: Container) -> None:
        self.container = container

    def actor(self, user: User) -> Actor:
        """The person as they are now."""
        with self.container.units() as unit:
            found = self.container.approvals.parts.authors(unit, user.id)
        assert found is not None
        return found

    def content(self, **values: Any) -> Record:
        with self.container.units() as unit:
            made = self.container.records.create(
                unit, SYSTEM, CONTENTS, {"translations": BOTH, "status": "published", "category": "news", **values}
            )
        assert isinstance(made, Record)
        return made

    def change(self, record: Record, **values: Any) -> Record:
        """Somebody else changes the record."""
        with self.container.units() as unit:
            done = self.container.records.update(unit, SYSTEM, CONTENTS, record.id, values, self.read(record).revision)
        assert isinstance(done, Record)
        return done

    def read(self, record: Record) -> Record:
        with self.container.units() as unit:
            return self.container.records.get(unit, SYSTEM, CONTENTS, record.id)

    def capture(self, author: User, record: Record, **values: Any) -> int:
        """The author's update is captured; the modification's id."""
        with self.container.units() as unit:
            made = self.container.records.update(
                unit, self.actor(author), CONTENTS, record.id, values, self.read(record).revision
            )
        assert isinstance(made, Captured)
        return made.modification.id

    def vote(self, voter: User, modification_id: int, approves: bool = True, reason: str = "") -> str:
        """The status afterwards."""
        with self.container.units() as unit:
            return self.container.approvals.vote(unit, self.actor(voter), modification_id, approves, reason).status

    def status(self, modification_id: int) -> tuple[str, str | None]:
        """Status and error code as they are stored."""
        with self.container.units() as unit:
            row = unit.session.execute(
                text("select status, error_code from modifications where id = :id"), {"id": modification_id}
            ).one()
        return row[0], row[1]

    def need(self, modification_id: int, votes: int) -> None:
        """Let it need so many votes."""
        with self.container.units() as unit:
            unit.session.execute(
                text("update modifications set votes_needed = :votes where id = :id"),
                {"votes": votes, "id": modification_id},
            )

    def audited(self) -> list[tuple[str, str, str]]:
        """(who, action, entity) of everything about records and settings, oldest first."""
        about = "select actor_login, action, entity from audit_entries where entity in ('cms.contents', 'settings')"
        with self.container.units() as unit:
            rows = unit.session.execute(text(f"{about} order by id"))
            return [(row[0], row[1], row[2]) for row in rows]


@pytest.fixture
def desk(container: Container) -> Desk:
    return Desk(container)


@pytest.fixture
def author(people: People) -> User:
    """An editor whose changes need approval."""
    return people.user("author", "editor", display_name="Aldo Author", needs_approval=True)


@pytest.fixture
def voters(container: Container, people: People) -> Voters:
    """So many people who may vote on contents and settings, and nothing else."""
    with container.units() as unit:
        role = Role(name="approver", permissions=list(VOTER))
        unit.session.add(role)
        unit.session.flush()
        role_id = role.id

    def make(count: int) -> Sequence[User]:
        made = [people.user(f"voter{number}") for number in range(count)]
        with container.units() as unit:
            unit.session.add_all([UserRole(user_id=user.id, role_id=role_id) for user in made])
        return made

    return make


@pytest.fixture
def voter(voters: Voters) -> User:
    return voters(1)[0]
