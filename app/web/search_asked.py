"""What the search page was asked, as its address says it, and the addresses of other searches beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from flask import request, url_for

FIELDS = ("q", "entity", "locale", "mode", "cost", "matching", "page", "explain")


@dataclass(frozen=True)
class Asked:
    """``values`` of the single fields, empty where nothing was said; ``only`` narrows by declared fields."""

    values: Mapping[str, str]
    only: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> str:
        return self.values[name]

    def address(self, *, only: tuple[str, ...] | None = None, **changed: str | int) -> str:
        """The first page of this search with something changed."""
        values = {**self.values, "page": "", **changed}
        pairs = [(name, str(value)) for name, value in values.items() if value]
        pairs += [("only", value) for value in (self.only if only is None else only)]
        return "?".join((url_for("search.index"), urlencode(pairs)))

    def with_value(self, name: str, value: str) -> str:
        return Asked({**self.values, name: value}, self.only).address()

    def with_only(self, value: str) -> str:
        return self.address(only=(*self.only, value))

    def without_only(self, value: str) -> str:
        return self.address(only=tuple(one for one in self.only if one != value))

    def hidden(self, *shown: str) -> list[tuple[str, str]]:
        """What a form beside the search must send along, but for the fields that it ``shown``."""
        kept = [(name, value) for name, value in self.values.items() if value and name not in ("page", *shown)]
        return kept + [("only", value) for value in self.only]


def read_asked() -> Asked:
    """From the request's address; blank ones are nothing."""
    values = {name: request.args.get(name, "") for name in FIELDS}
    return Asked(values, tuple(one for one in dict.fromkeys(request.args.getlist("only")) if one))
