"""Who may read a page of documentation (`seed-facts.md` 17.1, 17.2). Fails closed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.contracts.actor import Actor
from app.core.errors import Invalid
from app.documentation.front_matter import AUDIENCES, Declared

CLASSIFICATION = "user_safe"
CLASSIFICATION_VERSION = "in-app-docs-v1"
USER_AUDIENCES = ("user", "shared")
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
    if declared.get("audience") not in USER_AUDIENCES:
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
    return {**declared, "permissions_metadata_validated": True, "required_permissions_count": 0}


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


@dataclass(frozen=True)
class Reach:
    """What of a corpus or named collection a caller may be answered from (`seed-facts.md` 17.3).

    ``permissions`` None: all of them; ``tenant`` None sees what is global; ``module`` None sees every module.
    ``audience`` is that of a named collection.
    """

    corpus: str
    locale: str
    tenant: str | None = None
    permissions: frozenset[str] | None = frozenset()
    module: str | None = None
    audience: str = ""

    @property
    def strict(self) -> bool:
        """Whether the policy of the user corpus holds: for the user guide, and for collections that are for users."""
        return "user" in (self.corpus, self.audience)

    @property
    def locale_only(self) -> str | None:
        """The one locale that texts must have: users are answered in theirs only, developers in what there is."""
        return self.locale if self.strict else None


def reach_of(actor: Actor, corpus: str, locale: str, module: str | None = None) -> Reach:
    """What the actor reaches; a guest's permissions are those that a guest may use."""
    held = None if actor.may("*") else frozenset(one for one in actor.permissions if actor.may(one))
    tenant = None if actor.tenant_id is None else str(actor.tenant_id)
    return Reach(corpus, locale, tenant, held, module)


def permits(metadata: Mapping[str, Any], reach: Reach) -> bool:
    """Whether a stored text may be shown, by all of the policy in plain Python. Developer pages: always.

    Asked again of everything that the database let through: one text that fails makes the whole answer unavailable.
    """
    elsewhere = reach.module is not None and metadata.get("module") != reach.module
    if elsewhere and metadata.get("cross_cutting_user") is not True:
        return False
    if not reach.strict:
        return True
    texts = all(isinstance(metadata.get(name), str) and metadata[name].strip() for name in NEEDED_TEXTS)
    classified = (metadata.get("policy_classification"), metadata.get("policy_classification_version"))
    return bool(
        texts
        and metadata.get("audience") in USER_AUDIENCES
        and metadata.get("locale") == reach.locale
        and classified == (CLASSIFICATION, CLASSIFICATION_VERSION)
        and _permissions_held(metadata, reach)
        and _tenant_fits(metadata, reach)
    )


def _permissions_held(metadata: Mapping[str, Any], reach: Reach) -> bool:
    needed = metadata.get("required_permissions")
    if not isinstance(needed, list) or not all(isinstance(one, str) and one.strip() for one in needed):
        return False
    if metadata.get("permissions_metadata_validated") is not True:
        return False
    if metadata.get("required_permissions_count") != len(needed):
        return False
    return reach.permissions is None or set(needed) <= reach.permissions


def _tenant_fits(metadata: Mapping[str, Any], reach: Reach) -> bool:
    scope, tenant = metadata.get("tenant_scope"), metadata.get("tenant_id")
    if scope == "global":
        return tenant is None
    return scope == "tenant" and isinstance(tenant, str) and bool(tenant.strip()) and tenant == reach.tenant


def _needs(field: str, expected: str) -> Invalid:
    return Invalid("documentation.field", path=field, field=field, expected=expected)
