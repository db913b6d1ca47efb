from app.core.access.actor import covered, role_permissions
from app.core.registry import Entity, Registry


def entity(name: str) -> Entity:
    return Entity(name=name, label=name, label_plural=name, model=object, fields=(), title_field="title")


REGISTRY = Registry([entity("cms.contents"), entity("sao.tickets"), entity("documentation.developer")])


def test_an_editor_changes_records_of_the_edited_modules_and_reads_the_user_documentation() -> None:
    editor = role_permissions(REGISTRY)["editor"]
    assert "sao.tickets.delete" in editor
    assert "cms.contents.insert" in editor
    assert "documentation.user.select" in editor
    assert not any("developer" in permission or "forceDelete" in permission for permission in editor)


def test_a_reader_only_reads() -> None:
    reader = role_permissions(REGISTRY)["reader"]
    assert reader == ["cms.contents.select", "documentation.user.select", "sao.tickets.select"]


def test_an_administrator_may_do_all() -> None:
    assert role_permissions(REGISTRY)["administrator"] == ["*"]


def test_scopes_cover_reading_too_and_unknown_ones_nothing() -> None:
    assert covered(["write"]) == {"read", "write"}
    assert covered(["admin"]) == {"read", "admin"}
    assert covered(["read", "sudo"]) == {"read"}
    assert covered([]) == frozenset()
