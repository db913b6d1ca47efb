"""Who may read a page of documentation (`seed-facts.md` 17.1, 17.2). Fails closed. Pure."""

from __future__ import annotations

from app.core.errors import Invalid
from app.documentation.front_matter import AUDIENCES, Declared

CLASSIFICATION = "user_safe"
CLASSIFICATION_VERSION = "in-app-docs-v1"
NEEDED_TEXTS = ("module", "locale", "canonical_source", "safe_source_label", "version")


def check_audience(file: str, declared: Declared) -> None:
    """An audience outside the known ones stops the whole indexing; an absent or empty one is not an error here."""
    audience = declared.get("audience")
    if audience in (None, "") or audience in AUDIENCES:
        return
    raise Invalid("documentation.unknown_audience", path=file, file=file, audience=str(audience)[:60])


def admit_user(declared: Declared, locale: str) -> Declared:
    """What is declared, when all of the policy holds for the user corpus; else :class:`Invalid`, naming the field.

    Pages for particular permissions or one tenant are refused as long as search can't filter by them.
    """
    if declared.get("audience") not in ("user", "shared"):
        raise _needs("audience", "user or shared")
    for name in NEEDED_TEXTS:
        value = declared.get(name)
        if not isinstance(value, str) or not value.strip():
            raise _needs(name, "a text that is not blank")
    fixed = (
        ("locale", locale),
        ("policy_classification", CLASSIFICATION),
        ("policy_classification_version", CLASSIFICATION_VERSION),
    )
    for name, value in fixed:
        if declared.get(name) != value:
            raise _needs(name, value)
    for name in ("required_permissions", "heading_breadcrumb"):
        if not isinstance(declared.get(name), list):
            raise _needs(name, "a list, which may be empty")
    if declared.get("tenant_scope") != "global" or declared.get("tenant_id") is not None:
        raise _needs("tenant_scope", "global, without tenant_id")
    if declared["required_permissions"]:
        raise _needs("required_permissions", "an empty list")
    return declared


def admit_developer(declared: Declared, locale: str, source: str) -> Declared:
    """Every page, with neutral values where nothing or only blanks are declared."""
    defaults: Declared = {
        "audience": "shared",
        "module": "app",
        "locale": locale,
        "canonical_source": source,
        "heading_breadcrumb": [],
        "source_type": "file",
    }
    given = {name: value for name, value in declared.items() if value is not None and str(value).strip()}
    return {**defaults, **given}


def _needs(field: str, expected: str) -> Invalid:
    return Invalid("documentation.field", path=field, field=field, expected=expected)
