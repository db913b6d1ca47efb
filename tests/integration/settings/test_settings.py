from dataclasses import replace

import pytest

from app.container import Container
from app.core.contracts.actor import Actor
from app.core.errors import Conflict, Forbidden, Invalid, NotFound
from app.core.settings.schema import (
    EMBEDDING_MODEL,
    PAGE_SIZE,
    RETAIN_PREVIOUS_DAYS,
    VECTOR_ENABLED,
    VECTOR_MODEL,
    VECTOR_SUSPENDED,
    Confirmation,
    SettingAction,
    SettingDefinition,
    Value,
    declared,
)
from app.core.settings.service import Settings
from app.core.unit import Unit
from tests.fakes.clock import FakeClock
from tests.fakes.queue import RecordingQueue

ADMIN = Actor(id=1, login="admin", display_name="Admin", permissions=frozenset({"*"}))
READER = replace(ADMIN, permissions=frozenset({"cms.contents.select"}))


@pytest.fixture
def settings(clock: FakeClock) -> Settings:
    return Settings(declared(lambda: ("a:one", "b:two")), clock)


def test_a_value_is_the_default_until_it_is_written(container: Container, settings: Settings) -> None:
    with container.units() as unit:
        assert settings.value(unit, PAGE_SIZE) == 20
        assert settings.update(unit, ADMIN, PAGE_SIZE, "50")
    with container.units() as unit:
        assert settings.values(unit, (PAGE_SIZE, VECTOR_ENABLED)) == {PAGE_SIZE: 50, VECTOR_ENABLED: True}


def test_false_and_none_are_values_of_their_own(container: Container, settings: Settings) -> None:
    with container.units() as unit:
        settings.update(unit, ADMIN, VECTOR_ENABLED, False)
        settings.write_system(unit, VECTOR_SUSPENDED, "switching")
    with container.units() as unit:
        assert settings.value(unit, VECTOR_ENABLED) is False
        assert settings.value(unit, VECTOR_SUSPENDED) == "switching"
        settings.write_system(unit, VECTOR_SUSPENDED, None)
    with container.units() as unit:
        assert settings.value(unit, VECTOR_SUSPENDED) is None


def test_only_who_may(container: Container, settings: Settings) -> None:
    with container.units() as unit:
        with pytest.raises(Forbidden):
            settings.update(unit, READER, PAGE_SIZE, 50)
        with pytest.raises(Forbidden):
            settings.listing(unit, READER)
        with pytest.raises(Forbidden):
            settings.update(unit, replace(ADMIN, needs_approval=True), PAGE_SIZE, 50)


def test_unknown_and_managed_settings_are_refused(container: Container, settings: Settings) -> None:
    with container.units() as unit:
        with pytest.raises(NotFound):
            settings.update(unit, ADMIN, "no.such", 1)
        with pytest.raises(Conflict) as refusal:
            settings.update(unit, ADMIN, VECTOR_MODEL, "a:one")
    assert refusal.value.code == "setting.managed"


def test_the_model_is_changed_by_its_switch_only(container: Container, settings: Settings) -> None:
    with container.units() as unit:
        settings.write_system(unit, EMBEDDING_MODEL, "a:one", by=1)
        assert not settings.update(unit, ADMIN, EMBEDDING_MODEL, "a:one")
        with pytest.raises(Conflict) as refusal:
            settings.update(unit, ADMIN, EMBEDDING_MODEL, "b:two")
    assert refusal.value.code == "setting.locked"


def test_a_provider_answers_for_a_managed_setting(container: Container, clock: FakeClock) -> None:
    settings = Settings(declared(), clock, providers={VECTOR_MODEL: lambda unit: "from the serving row"})
    with container.units() as unit:
        assert settings.value(unit, VECTOR_MODEL) == "from the serving row"


def test_many_are_written_all_or_none(container: Container, settings: Settings) -> None:
    with container.units() as unit:
        with pytest.raises(Invalid) as refusal:
            settings.update_many(unit, ADMIN, {PAGE_SIZE: 50, RETAIN_PREVIOUS_DAYS: 91, VECTOR_MODEL: "x"})
        assert [field.path for field in refusal.value.fields] == [RETAIN_PREVIOUS_DAYS, VECTOR_MODEL]
        assert settings.value(unit, PAGE_SIZE) == 20
        assert settings.update_many(unit, ADMIN, {PAGE_SIZE: 50, RETAIN_PREVIOUS_DAYS: "7"}).changed == (PAGE_SIZE,)


def test_a_changed_value_sends_its_action_after_the_commit(
    container: Container, clock: FakeClock, queue: RecordingQueue
) -> None:
    action = SettingAction("jobs.x.run", "default")
    acted = SettingDefinition("x", "Search", "X", "", "integer", default=1, action=action)
    settings = Settings([acted], clock)
    with container.units() as unit:
        settings.update(unit, ADMIN, "x", 1)
    assert queue.jobs() == []
    with container.units() as unit:
        settings.update(unit, ADMIN, "x", 2)
        assert queue.jobs() == []
    assert queue.jobs("default") == ["jobs.x.run"]
    assert dict(queue.sent[0].ids) == {"setting": "x"}


class OnlyAboveTen:
    def warn(self, unit: Unit, definition: SettingDefinition, value: Value) -> Confirmation | None:
        return Confirmation("/somewhere", "it is large") if isinstance(value, int) and value > 10 else None


def test_a_confirmation_hook_decides_by_value(container: Container, clock: FakeClock) -> None:
    hooked = SettingDefinition("x", "Search", "X", "", "integer", default=1, confirmation="large")
    settings = Settings([hooked], clock, hooks={"large": OnlyAboveTen()})
    with container.units() as unit:
        assert settings.update(unit, ADMIN, "x", 5)
        with pytest.raises(Conflict):
            settings.update(unit, ADMIN, "x", 11)


def test_the_listing_says_what_is_stored_by_whom_and_what_is_no_choice_any_more(
    container: Container, settings: Settings
) -> None:
    with container.units() as unit:
        settings.write_system(unit, EMBEDDING_MODEL, "c:gone")
        listing = {state.definition.name: state for state in settings.listing(unit, ADMIN)}
    assert not listing[EMBEDDING_MODEL].listed
    assert listing[EMBEDDING_MODEL].changed is not None
    assert listing[PAGE_SIZE].changed is None
    assert listing[PAGE_SIZE].is_default
    assert not listing[VECTOR_MODEL].editable
