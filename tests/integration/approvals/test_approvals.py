"""Captured changes: who votes, what is applied, once, and what stands in the way."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text

from app.container import Container
from app.core.access.models import Role, RowRule, User
from app.core.approvals.ask import ApprovalAsk
from app.core.contracts.actor import SYSTEM
from app.core.crud.service import Captured
from app.core.errors import Conflict, Forbidden, Invalid, NotFound
from app.core.settings.schema import EMBEDDING_MODEL, EXPIRE_DAYS, PAGE_SIZE
from tests.fakes.clock import FakeClock
from tests.fakes.queue import RecordingQueue
from tests.fixtures.clients import People
from tests.integration.approvals.conftest import BOTH, CONTENTS, Desk, Voters

TITLE = {"translations": {"it": {"title": "Ferie 2027"}}}


def test_a_captured_change_is_applied_by_the_vote_that_it_needs(desk: Desk, author: User, voter: User) -> None:
    record = desk.content()
    waiting = desk.capture(author, record, **TITLE)
    assert desk.read(record) == record
    assert desk.vote(voter, waiting) == "applied"
    now = desk.read(record)
    assert (now.revision, now.translations["it"]["title"]) == (2, "Ferie 2027")
    assert now.translations["en"] == BOTH["en"]
    assert desk.audited() == [
        ("system", "insert", CONTENTS),
        ("author", "capture", CONTENTS),
        ("voter0", "approve", CONTENTS),
        ("author", "update", CONTENTS),
    ]


def test_the_capture_holds_old_and_new_by_locale_and_the_revision_it_was_made_on(
    container: Container, desk: Desk, author: User
) -> None:
    waiting = desk.capture(author, desk.content(), category="rules", **TITLE)
    with container.units() as unit:
        found = container.approvals.get(unit, desk.actor(author), waiting)
    assert found.diff == {"category": ["news", "rules"], "translations.it.title": ["Piano ferie", "Ferie 2027"]}
    assert (found.base_revision, found.author_id, found.votes_needed) == (1, author.id, 1)


def test_the_same_form_twice_is_one_capture(desk: Desk, author: User) -> None:
    record = desk.content()
    assert desk.capture(author, record, **TITLE) == desk.capture(author, record, **TITLE)
    assert desk.capture(author, record, category="rules") != desk.capture(author, record, **TITLE)


def test_it_waits_until_all_needed_votes_are_there(desk: Desk, author: User, voters: Voters) -> None:
    one, two = voters(2)
    record = desk.content()
    waiting = desk.capture(author, record, category="rules")
    desk.need(waiting, 2)
    assert desk.vote(one, waiting) == "pending"
    assert desk.vote(one, waiting) == "pending"
    assert desk.read(record).fields["category"] == "news"
    assert desk.vote(two, waiting) == "applied"
    assert desk.read(record).fields["category"] == "rules"


def test_the_vote_of_somebody_who_was_disabled_counts_no_more(
    container: Container, desk: Desk, author: User, voters: Voters
) -> None:
    one, two, three = voters(3)
    waiting = desk.capture(author, desk.content(), category="rules")
    desk.need(waiting, 2)
    desk.vote(one, waiting)
    _disable(container, one)
    assert desk.vote(two, waiting) == "pending"
    assert desk.vote(three, waiting) == "applied"


def test_the_author_does_not_vote(container: Container, desk: Desk, people: People) -> None:
    author = people.user("chief", "administrator", needs_approval=True)
    waiting = desk.capture(author, desk.content(), category="rules")
    with pytest.raises(Forbidden) as refusal:
        desk.vote(author, waiting)
    assert refusal.value.code == "approval.own"
    assert desk.status(waiting) == ("pending", None)


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"scopes": frozenset({"read", "write"}), "token_id": 1}, "approval.token"),
        ({"is_guest": True}, "approval.guest"),
        ({"impersonator_id": 99, "impersonator_login": "root"}, "approval.impersonator"),
    ],
)
def test_only_a_person_at_a_browser_votes(
    container: Container, desk: Desk, author: User, voter: User, how: dict[str, object], code: str
) -> None:
    waiting = desk.capture(author, desk.content(), category="rules")
    with pytest.raises(Forbidden) as refusal, container.units() as unit:
        container.approvals.vote(unit, replace(desk.actor(voter), **how), waiting, True)  # type: ignore[arg-type]
    assert refusal.value.code == code
    assert desk.status(waiting) == ("pending", None)


def test_without_the_permission_to_approve_there_is_nothing_to_see(
    container: Container, desk: Desk, author: User, people: People
) -> None:
    waiting = desk.capture(author, desk.content(), category="rules")
    with pytest.raises(NotFound):
        desk.vote(people.user("reader", "reader"), waiting)


def test_a_disapproval_needs_a_reason_and_ends_it(desk: Desk, author: User, voters: Voters) -> None:
    one, two = voters(2)
    record = desk.content()
    waiting = desk.capture(author, record, category="rules")
    with pytest.raises(Invalid) as refusal:
        desk.vote(one, waiting, approves=False, reason="  ")
    assert [problem.path for problem in refusal.value.fields] == ["reason"]
    assert desk.vote(one, waiting, approves=False, reason="Not now") == "disapproved"
    with pytest.raises(Conflict) as late:
        desk.vote(two, waiting)
    assert late.value.code == "approval.resolved"
    assert desk.read(record) == record


def test_a_captured_field_that_has_changed_since_is_a_conflict(
    container: Container, desk: Desk, author: User, voter: User
) -> None:
    record = desk.content()
    waiting = desk.capture(author, record, category="rules", **TITLE)
    changed = desk.change(record, translations={"it": {"title": "Piano"}})
    assert desk.vote(voter, waiting) == "conflict"
    assert desk.read(record) == changed
    with container.units() as unit:
        found = container.approvals.get(unit, desk.actor(voter), waiting)
    assert (found.error_code, found.error_values) == ("approval.moved", {"fields": "translations.it.title"})


def test_another_field_that_has_changed_since_is_none(desk: Desk, author: User, voter: User) -> None:
    record = desk.content()
    waiting = desk.capture(author, record, category="rules")
    desk.change(record, translations={"it": {"title": "Piano"}})
    assert desk.vote(voter, waiting) == "applied"
    now = desk.read(record)
    assert (now.fields["category"], now.translations["it"]["title"], now.revision) == ("rules", "Piano", 3)


def test_a_record_that_was_removed_for_good_is_a_conflict(
    container: Container, desk: Desk, author: User, voter: User
) -> None:
    record = desk.content()
    waiting = desk.capture(author, record, category="rules")
    with container.units() as unit:
        container.records.force_delete(unit, SYSTEM, CONTENTS, record.id)
    assert desk.vote(voter, waiting) == "conflict"
    assert desk.status(waiting) == ("conflict", "approval.record_gone")


def test_the_authors_rights_are_those_of_the_deciding_vote(
    container: Container, desk: Desk, author: User, voter: User
) -> None:
    record = desk.content()
    waiting = desk.capture(author, record, category="rules")
    with container.units() as unit:
        unit.session.execute(text("delete from user_roles where user_id = :id"), {"id": author.id})
    assert desk.vote(voter, waiting) == "failed"
    assert desk.status(waiting)[1] in ("access.forbidden", "record.not_found")
    assert desk.read(record) == record


def test_a_disabled_author_is_the_reason(container: Container, desk: Desk, author: User, voter: User) -> None:
    record = desk.content()
    waiting = desk.capture(author, record, category="rules")
    _disable(container, author)
    assert desk.vote(voter, waiting) == "failed"
    assert desk.status(waiting) == ("failed", "approval.author_gone")
    assert desk.read(record) == record


def test_what_a_refused_write_had_begun_is_gone_and_wakes_nobody(
    container: Container, desk: Desk, author: User, voter: User, queue: RecordingQueue
) -> None:
    record = desk.content()
    with container.units() as unit:
        waiting = container.approvals.capture(
            unit,
            desk.actor(author),
            container.registry.get(CONTENTS),
            "update",
            record.id,
            1,
            {"category": ["news", "rules"], "status": ["published", "no such status"]},
        ).id
    queue.sent.clear()
    assert desk.vote(voter, waiting) == "failed"
    assert desk.status(waiting) == ("failed", "input.invalid")
    assert desk.read(record) == record
    assert queue.sent == []


@pytest.mark.parametrize("operation", ["delete", "restore"])
def test_deleting_and_restoring_are_captured_too(
    container: Container, desk: Desk, author: User, voter: User, operation: str
) -> None:
    record = desk.content()
    if operation == "restore":
        with container.units() as unit:
            container.records.delete(unit, SYSTEM, CONTENTS, record.id)
    with container.units() as unit:
        made = getattr(container.records, operation)(unit, desk.actor(author), CONTENTS, record.id)
    assert isinstance(made, Captured)
    assert (desk.read(record).deleted_at is None) == (operation == "delete")
    assert desk.vote(voter, made.modification.id) == "applied"
    assert (desk.read(record).deleted_at is None) == (operation == "restore")


def test_a_new_record_is_made_by_the_vote(container: Container, desk: Desk, author: User, voter: User) -> None:
    values = {"translations": {"en": {"title": "Fire drill"}}, "category": "news"}
    with container.units() as unit:
        made = container.records.create(unit, desk.actor(author), CONTENTS, values)
    assert isinstance(made, Captured)
    assert desk.vote(voter, made.modification.id) == "applied"
    with container.units() as unit:
        found = container.approvals.get(unit, desk.actor(voter), made.modification.id)
        record = container.records.get(unit, SYSTEM, CONTENTS, int(found.applied_record_id or 0))
    assert (record.title, found.applied_revision) == ("Fire drill", 1)


def test_an_edit_takes_the_present_record_as_its_base_and_resets_the_votes(
    container: Container, desk: Desk, author: User, voters: Voters
) -> None:
    one, two = voters(2)
    record = desk.content()
    waiting = desk.capture(author, record, category="rules")
    desk.need(waiting, 2)
    desk.vote(one, waiting)
    desk.change(record, category="other")
    with container.units() as unit:
        edited = container.approvals.edit(unit, desk.actor(author), waiting, {"category": "help"})
        assert (edited.diff, edited.base_revision, edited.round) == ({"category": ["other", "help"]}, 2, 2)
    assert desk.vote(two, waiting) == "pending"
    assert desk.vote(one, waiting) == "applied"
    assert desk.read(record).fields["category"] == "help"


def test_who_read_the_change_before_its_edit_does_not_approve_the_new_one(
    container: Container, desk: Desk, author: User, voter: User
) -> None:
    waiting = desk.capture(author, desk.content(), category="rules")
    with container.units() as unit:
        container.approvals.edit(unit, desk.actor(author), waiting, {"category": "help"}, seen=1)
    with pytest.raises(Conflict) as refusal, container.units() as unit:
        container.approvals.vote(unit, desk.actor(voter), waiting, True, seen=1)
    assert refusal.value.code == "approval.edited"


def test_an_edit_is_checked_like_a_write_and_only_the_authors(
    container: Container, desk: Desk, author: User, voter: User
) -> None:
    waiting = desk.capture(author, desk.content(), category="rules")
    with pytest.raises(Invalid) as refusal, container.units() as unit:
        container.approvals.edit(unit, desk.actor(author), waiting, {"status": "no such"})
    assert [problem.path for problem in refusal.value.fields] == ["status"]
    with pytest.raises(Invalid) as nothing, container.units() as unit:
        container.approvals.edit(unit, desk.actor(author), waiting, {"category": "news"})
    assert nothing.value.code == "approval.changes_nothing"
    with pytest.raises(Forbidden), container.units() as unit:
        container.approvals.edit(unit, desk.actor(voter), waiting, {"category": "mine"})
    assert desk.audited()[-1] == ("author", "capture", CONTENTS)


def test_a_withdrawn_change_is_over(container: Container, desk: Desk, author: User, voter: User) -> None:
    waiting = desk.capture(author, desk.content(), category="rules")
    with pytest.raises(Forbidden), container.units() as unit:
        container.approvals.withdraw(unit, desk.actor(voter), waiting)
    for _ in range(2):
        with container.units() as unit:
            assert container.approvals.withdraw(unit, desk.actor(author), waiting).status == "withdrawn"
    with pytest.raises(Conflict):
        desk.vote(voter, waiting)
    assert desk.audited()[-1] == ("author", "withdraw", CONTENTS)


def test_past_its_date_it_can_not_be_voted_on_and_is_closed_by_the_clean_up(
    container: Container, desk: Desk, author: User, voter: User, clock: FakeClock
) -> None:
    with container.units() as unit:
        container.settings.update(unit, SYSTEM, EXPIRE_DAYS, 3)
    waiting = desk.capture(author, desk.content(), category="rules")
    clock.advance(timedelta(days=3).total_seconds())
    with pytest.raises(Conflict) as refusal:
        desk.vote(voter, waiting)
    assert refusal.value.code == "approval.expired"
    with container.units() as unit:
        assert container.approvals.inbox.waiting(unit, desk.actor(voter)) == 0
        assert container.approvals.tidy(unit) == 1
    assert desk.status(waiting) == ("expired", None)
    assert desk.audited()[-1] == ("system", "expire", CONTENTS)


def test_a_setting_is_captured_and_applied(container: Container, desk: Desk, voter: User, people: People) -> None:
    author = people.user("chief", "administrator", needs_approval=True)
    with container.units() as unit:
        saved = container.settings.update(unit, desk.actor(author), PAGE_SIZE, 50)
    assert saved.changed == ()
    waiting = saved.captured[PAGE_SIZE]
    with container.units() as unit:
        assert container.settings.value(unit, PAGE_SIZE) == 20
    assert desk.vote(voter, waiting) == "applied"
    with container.units() as unit:
        assert container.settings.value(unit, PAGE_SIZE) == 50
    assert ("chief", "update", "settings") in desk.audited()


def test_a_setting_that_was_changed_meanwhile_is_a_conflict(
    container: Container, desk: Desk, voter: User, people: People
) -> None:
    author = people.user("chief", "administrator", needs_approval=True)
    with container.units() as unit:
        waiting = container.settings.update(unit, desk.actor(author), PAGE_SIZE, 50).captured[PAGE_SIZE]
        container.settings.update(unit, SYSTEM, PAGE_SIZE, 30)
    assert desk.vote(voter, waiting) == "conflict"
    with container.units() as unit:
        assert container.settings.value(unit, PAGE_SIZE) == 30


def test_an_approved_embedding_model_is_a_wish_and_starts_nothing(
    container: Container, desk: Desk, voter: User, people: People, queue: RecordingQueue
) -> None:
    author = people.user("chief", "administrator", needs_approval=True)
    definition = container.settings.definition(EMBEDDING_MODEL)
    container.settings.definitions[EMBEDDING_MODEL] = replace(definition, choices=lambda: ["a:one"])
    with container.units() as unit:
        saved = container.settings.update(unit, desk.actor(author), EMBEDDING_MODEL, "a:one")
    queue.sent.clear()
    assert desk.vote(voter, saved.captured[EMBEDDING_MODEL]) == "applied"
    with container.units() as unit:
        assert container.settings.value(unit, EMBEDDING_MODEL) == "a:one"
        assert unit.session.scalar(text("select count(*) from switches")) == 0
    assert queue.sent == []


def test_nobody_approves_what_they_may_not_read(container: Container, desk: Desk, author: User, voter: User) -> None:
    waiting = desk.capture(author, desk.content(), category="rules", **TITLE)
    half = replace(desk.actor(voter), readable={CONTENTS: frozenset({"category"})})
    with container.units() as unit:
        shown = container.approvals.inbox.one(unit, half, container.approvals.get(unit, half, waiting))
        assert (dict(shown.diff), shown.hidden) == ({"category": ["news", "rules"]}, 1)
        with pytest.raises(Forbidden) as refusal:
            container.approvals.vote(unit, half, waiting, True)
    assert refusal.value.code == "approval.hidden"


def test_a_voter_sees_changes_of_the_records_within_their_rows(
    container: Container, desk: Desk, author: User, voter: User
) -> None:
    news, rules = desk.content(), desk.content(category="rules")
    mine, other = desk.capture(author, news, **TITLE), desk.capture(author, rules, **TITLE)
    _restrict(container, "cms.contents.select", {"property": "category", "operator": "=", "value": "news"})
    with container.units() as unit:
        found = container.approvals.inbox.page(unit, desk.actor(voter), ApprovalAsk())
        assert [shown.id for shown in found.items] == [mine]
        assert container.approvals.inbox.waiting(unit, desk.actor(voter)) == 1
    with pytest.raises(NotFound):
        desk.vote(voter, other)


def _disable(container: Container, user: User) -> None:
    with container.units() as unit:
        unit.session.execute(text("update users set is_active = false where id = :id"), {"id": user.id})


def _restrict(container: Container, permission: str, condition: dict[str, object]) -> None:
    with container.units() as unit:
        role = unit.session.query(Role).filter_by(name="approver").one()
        unit.session.add(RowRule(role_id=role.id, permission=permission, condition=condition))
