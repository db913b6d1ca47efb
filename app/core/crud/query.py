"""What a list of records may be asked, and its checks. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from app.core.access.conditions import SYSTEM_FIELDS, read_filter, write_filter
from app.core.contracts.conditions import Filter
from app.core.crud.cursor import Cursor, digest, read_cursor
from app.core.errors import ChangeoverError, Invalid
from app.core.locale import DEFAULT_LOCALE, LOCALES
from app.core.registry import Entity, Field

SIZE, MOST = 25, 200
DEEPEST = 10_000
"""Rows that can be reached by page number; what lies deeper is reached by cursor."""
SORTS = 3
"""Fields that one list is ordered by at most; the id always ends the order."""
DEFAULT_SORT = "-updated_at"


@dataclass(frozen=True)
class SortKey:
    """One field of an order."""

    name: str
    descending: bool = False


@dataclass(frozen=True)
class Ask:
    """One list. ``fields`` are the entity's own fields to answer with; a ``cursor`` goes before ``page``.

    ``digest`` says which list it is, for its cursors. ``sort`` ends with the id. ``searched`` are the fields that
    ``q`` may look into.
    """

    q: str = ""
    filter: Filter | None = None
    sort: tuple[SortKey, ...] = (SortKey("updated_at", True), SortKey("id", True))
    page: int = 1
    size: int = SIZE
    cursor: Cursor | None = None
    deleted: bool = False
    fields: frozenset[str] = frozenset()
    searched: frozenset[str] = frozenset()
    locale: str = DEFAULT_LOCALE
    digest: str = ""

    def wanted(self, entity: Entity) -> frozenset[str]:
        """The fields to be read: those asked for, and the title and reference of every record in a list."""
        return self.fields | ({entity.title_field, str(entity.reference_field)} & self.searched)

    @property
    def sort_text(self) -> str:
        """The order as it is written in an address; the id that only breaks ties is left out."""
        keys = self.sort[:-1] if len(self.sort) > 1 else self.sort
        return ",".join(f"{'-' * key.descending}{key.name}" for key in keys)


def sortable(entity: Entity, readable: Collection[str] | None = None) -> dict[str, Field]:
    """Fields by which a list may be ordered: all but long texts, and those that every record has."""
    columns = entity.model.__table__.columns
    system = {name: item for name, item in SYSTEM_FIELDS.items() if name in columns}
    declared = {item.name: item for item in entity.fields if item.kind != "text"}
    return {name: item for name, item in (system | declared).items() if readable is None or name in readable}


def read_ask(
    entity: Entity, raw: Mapping[str, object], readable: Collection[str] | None = None, locale: str = DEFAULT_LOCALE
) -> Ask:
    """An :class:`Ask` from ``q, filter, sort, page, size, cursor, deleted, fields, locale``.

    ``readable`` are the fields that the asker may read (None: all); any other is as unknown as one that is not there.
    Raises :class:`Invalid` with the path of everything that is wrong.
    """
    everything = frozenset(item.name for item in entity.fields) | frozenset(SYSTEM_FIELDS)
    readable = everything if readable is None else frozenset(readable)
    problems: list[ChangeoverError] = []
    q = _words(entity, raw.get("q"), readable, problems)
    tree = read_where(entity, raw.get("filter"), readable, problems)
    sort = _sort(sortable(entity, readable), raw.get("sort"), problems)
    page = _number("page", raw.get("page"), 1, DEEPEST, problems)
    size = _number("size", raw.get("size"), SIZE, MOST, problems)
    deleted = _flag("deleted", raw.get("deleted"), problems)
    fields = read_fields(entity, raw.get("fields"), readable, problems)
    shown = read_locale(raw.get("locale"), locale, problems)
    cursor: Cursor | None = None
    mark = ""
    if not problems:
        written = None if tree is None else write_filter(tree)
        mark = digest(entity.name, q, written, [(key.name, key.descending) for key in sort], deleted, shown)
        cursor = _cursor(entity, raw.get("cursor"), sort, mark, problems)
    if not problems and cursor is None and (page - 1) * size > DEEPEST:
        problems.append(Invalid("input.too_far", path="page", limit=DEEPEST))
    if problems:
        raise Invalid("input.invalid", fields=problems)
    return Ask(q, tree, sort, page, size, cursor, deleted, fields, readable, shown, mark)


def _words(entity: Entity, raw: object, readable: Collection[str], problems: list[ChangeoverError]) -> str:
    if raw in (None, ""):
        return ""
    if not isinstance(raw, str):
        problems.append(Invalid("input.type", path="q", expected="text"))
        return ""
    if entity.title_field not in readable:
        problems.append(Invalid("input.unknown_field", path="q", field=entity.title_field))
    if "\0" in raw or (not raw.isprintable() and any("\ud800" <= sign <= "\udfff" for sign in raw)):
        problems.append(Invalid("input.wrong", path="q"))
        return ""
    return raw.strip()[:200]


def read_where(
    entity: Entity, raw: object, readable: Collection[str], problems: list[ChangeoverError]
) -> Filter | None:
    """A filter: a tree of conditions, or an object of equalities. What is wrong goes to ``problems``."""
    if raw in (None, "", {}):
        return None
    if not isinstance(raw, Mapping):
        problems.append(Invalid("input.json", path="filter"))
        return None
    try:
        return read_filter(entity, raw, "filter", fields=readable)
    except Invalid as refused:
        problems.extend(refused.fields or (refused,))
        return None


def _sort(known: Mapping[str, Field], raw: object, problems: list[ChangeoverError]) -> tuple[SortKey, ...]:
    text = str(raw or (DEFAULT_SORT if "updated_at" in known else "id"))
    keys: list[SortKey] = []
    for part in text.split(","):
        key = SortKey(part.strip().removeprefix("-"), part.strip().startswith("-"))
        if key.name not in known:
            problems.append(Invalid("input.unknown_field", path="sort", field=key.name[:100]))
        elif all(key.name != other.name for other in keys):
            keys.append(key)
    if len(keys) > SORTS:
        problems.append(Invalid("input.too_many", path="sort", limit=SORTS))
    names = [key.name for key in keys]
    if "id" in names:
        return tuple(keys[: names.index("id") + 1])
    return (*keys, SortKey("id", keys[-1].descending if keys else False))


def read_fields(
    entity: Entity, raw: object, readable: Collection[str], problems: list[ChangeoverError]
) -> frozenset[str]:
    """The chosen fields, comma-separated or a list; all readable ones when none is named."""
    if raw in (None, "", ()):
        return frozenset(readable)
    names = raw.split(",") if isinstance(raw, str) else raw if isinstance(raw, list | tuple | set | frozenset) else [""]
    chosen = [str(name).strip() for name in names]
    for name in chosen:
        if name not in readable and name not in SYSTEM_FIELDS:
            problems.append(Invalid("input.unknown_field", path="fields", field=name[:100]))
    return frozenset(chosen) & frozenset(readable)


def read_locale(raw: object, default: str, problems: list[ChangeoverError]) -> str:
    """The language of titles and texts; ``default`` when none is named."""
    if raw in (None, ""):
        return default if default in LOCALES else DEFAULT_LOCALE
    if raw not in LOCALES:
        problems.append(Invalid("input.choice", path="locale", value=str(raw)[:20], allowed=", ".join(LOCALES)))
    return str(raw)


def _flag(name: str, raw: object, problems: list[ChangeoverError]) -> bool:
    text = str(raw or "0").lower()
    if text not in ("0", "1", "true", "false"):
        problems.append(Invalid("input.choice", path=name, value=text[:20], allowed="true, false"))
    return text in ("1", "true")


def _number(name: str, raw: object, default: int, most: int, problems: list[ChangeoverError]) -> int:
    if raw in (None, ""):
        return default
    text = str(raw)
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        problems.append(Invalid("input.range", path=name, least=1, most=most))
        return default
    return int(text)


def _cursor(
    entity: Entity, raw: object, sort: tuple[SortKey, ...], mark: str, problems: list[ChangeoverError]
) -> Cursor | None:
    if raw in (None, ""):
        return None
    known = sortable(entity)
    found = read_cursor(str(raw), [known[key.name].kind for key in sort], mark)
    if found is None:
        problems.append(Invalid("input.cursor", path="cursor"))
    return found
