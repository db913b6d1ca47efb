import pytest

from app.core.errors import Invalid
from app.core.settings.schema import EMBEDDING_MODEL, PAGE_SIZE, SettingDefinition, declared

DEFINITIONS = {definition.name: definition for definition in declared(lambda: ("a:one", "b:two"))}


def flag() -> SettingDefinition:
    return SettingDefinition("flag", "Search", "Flag", "", "bool", default=False)


@pytest.mark.parametrize(
    ("value", "expected"), [(True, True), ("on", True), ("1", True), ("true", True), (False, False), ("off", False)]
)
def test_a_bool_is_read_from_json_and_from_a_form(value: object, expected: bool) -> None:
    assert flag().check(value) is expected


@pytest.mark.parametrize("value", [1, 0, "yes", "", [], {}])
def test_a_bool_refuses_what_is_none(value: object) -> None:
    with pytest.raises(Invalid) as refusal:
        flag().check(value)
    assert refusal.value.path == "flag"


@pytest.mark.parametrize(("value", "expected"), [(10, 10), ("100", 100), (" 20 ", 20)])
def test_an_integer_within_its_bounds(value: object, expected: int) -> None:
    assert DEFINITIONS[PAGE_SIZE].check(value) == expected


@pytest.mark.parametrize("value", [9, 101, "-1", True, "1e2", 20.5, "٢٠", "9" * 30, None, ""])
def test_an_integer_out_of_bounds_or_form(value: object) -> None:
    with pytest.raises(Invalid):
        DEFINITIONS[PAGE_SIZE].check(value)


def test_a_choice_must_be_among_the_options_of_now_unless_the_program_writes_it() -> None:
    model = DEFINITIONS[EMBEDDING_MODEL]
    assert model.check("a:one") == "a:one"
    assert model.check("") is None
    assert model.typed("c:gone") == "c:gone"
    with pytest.raises(Invalid) as refusal:
        model.check("c:gone")
    assert refusal.value.code == "input.choice"


def test_every_default_passes_its_own_check() -> None:
    for definition in DEFINITIONS.values():
        assert definition.check(definition.default) == definition.default
