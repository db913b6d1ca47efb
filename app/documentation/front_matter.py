"""The front matter of a documentation file: YAML read strictly, so that what is stored is what was declared. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import frontmatter
import yaml

from app.core.errors import Invalid

Declared = Mapping[str, str | int | float | bool | list[str] | None]

AUDIENCES = ("user", "developer", "shared")
POLICY_LISTS = ("required_permissions", "heading_breadcrumb")
"""Lists that say who may read a page: a blank in one is a mistake. Elsewhere it is left out (`tags: [a, ""]`)."""


def split(text: str) -> tuple[Declared, str]:
    """(what is declared, the Markdown without it). A file without front matter declares nothing.

    Raises :class:`Invalid`: ``documentation.front_matter`` for YAML that can't be read, ``documentation.field`` for a
    value that is neither a scalar nor a list of texts (nesting could also hide an alias bomb).
    """
    try:
        metadata, body = frontmatter.parse(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise Invalid("documentation.front_matter") from None
    if not metadata and text.lstrip().startswith("---\n") and "\n---" in text.lstrip()[4:]:
        raise Invalid("documentation.front_matter")
    return checked(metadata), body


def checked(metadata: object) -> Declared:
    """What YAML said, when it is a mapping of plain values; raises as :func:`split`."""
    if not isinstance(metadata, dict):
        raise Invalid("documentation.front_matter")
    return {str(name): _value(str(name), value) for name, value in metadata.items()}


def _value(name: str, value: object) -> str | int | float | bool | list[str] | None:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        said = [str(item) for item in value if item.strip()]
        if len(said) == len(value) or name not in POLICY_LISTS:
            return said
    raise Invalid("documentation.field", path=name, field=name, expected="a text, a number or a list of texts")
