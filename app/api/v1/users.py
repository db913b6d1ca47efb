"""People as JSON: who they are, which roles they have, their passwords, sessions and tokens."""

from __future__ import annotations

from typing import Annotated, Literal

from apiflask import APIBlueprint
from flask import url_for
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, ConfigDict, Field

from app.api.v1.tokens import shown_token
from app.core.access.models import User
from app.core.access.passwords import LIMIT, SHORTEST
from app.core.access.people import LARGEST_ID, LARGEST_PAGE, LONGEST_EMAIL, LONGEST_NAME, PAGE, Asked
from app.core.idempotency.service import Resource
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.idempotency import Made, idempotent
from app.edge.transactions import in_unit

blueprint = APIBlueprint("users_api", __name__, url_prefix="/api/v1/users")

LOGIN = "^[a-z0-9][a-z0-9._@-]*$"
"""Told in the description; the service says in words what is wrong."""
Password = Annotated[str, Field(min_length=SHORTEST, max_length=LIMIT)]


class Listed(BaseModel):
    """What to list: words in login, name or address, a role, a state."""

    model_config = ConfigDict(extra="forbid")

    q: str = Field(default="", max_length=200)
    role: str | None = Field(default=None, max_length=40)
    state: Literal["active", "disabled"] | None = None
    page: int = Field(default=1, ge=1, le=100_000)
    size: int = Field(default=PAGE, ge=1, le=LARGEST_PAGE)


class PersonChange(BaseModel):
    """What to change of a person; what is left out stays."""

    model_config = ConfigDict(extra="forbid", strict=True)

    display_name: str = Field(default="", min_length=1, max_length=LONGEST_NAME)
    email: str | None = Field(default=None, max_length=LONGEST_EMAIL)
    locale: Literal["en", "it"] = "en"
    roles: list[Annotated[str, Field(max_length=40)]] = Field(default_factory=list, max_length=50)
    tenant_id: int | None = Field(default=None, ge=1, le=LARGEST_ID)
    needs_approval: bool = False
    is_guest: bool = False
    is_active: bool = True


class NewPerson(PersonChange):
    """A person to add. Without a password nobody can sign in as them."""

    login: str = Field(min_length=1, max_length=64, json_schema_extra={"pattern": LOGIN})
    password: Password | None = None


class NewPassword(BaseModel):
    """The password that a person has from now on."""

    model_config = ConfigDict(extra="forbid", strict=True)

    password: Password


@blueprint.get("")
@blueprint.input(Listed, location="query", arg_name="listed")
@in_unit
def index(listed: Listed, *, unit: Unit) -> ResponseReturnValue:
    """People by login. Needs `users.select`."""
    active = None if listed.state is None else listed.state == "active"
    asked = Asked(listed.q, listed.role, active, listed.page, listed.size)
    found, total = container().access.people.page(unit, actor(), asked)
    return {
        "items": [shown_person(user) for user in found],
        "total": total,
        "page": listed.page,
        "size": listed.size,
    }


def _made(unit: Unit, resource: Resource) -> ResponseReturnValue:
    return shown_person(container().access.people.get(unit, actor(), int(resource["id"] or 0)))


@blueprint.post("")
@blueprint.input(NewPerson, location="json", arg_name="wished")
@in_unit
@idempotent(_made)
def create(wished: NewPerson, *, unit: Unit) -> ResponseReturnValue | Made:
    """Add a person. Needs `users.update`; nobody gives roles that may do more than they."""
    values = wished.model_dump(exclude={"login", "password"}, exclude_unset=True)
    user = container().access.people.create(unit, actor(), wished.login, values, wished.password)
    where = {"Location": url_for(".show", user_id=user.id)}
    return Made((shown_person(user), 201, where), {"id": user.id})


@blueprint.get("/<int:user_id>")
@in_unit
def show(user_id: int, *, unit: Unit) -> ResponseReturnValue:
    """One person."""
    return shown_person(container().access.people.get(unit, actor(), user_id))


@blueprint.patch("/<int:user_id>")
@blueprint.input(PersonChange, location="json", arg_name="change")
@in_unit
def update(user_id: int, change: PersonChange, *, unit: Unit) -> ResponseReturnValue:
    """Change what is named. 409 for the last administrator; who is disabled is signed out at once."""
    values = change.model_dump(exclude_unset=True)
    return shown_person(container().access.people.update(unit, actor(), user_id, values))


@blueprint.put("/<int:user_id>/password")
@blueprint.input(NewPassword, location="json", arg_name="wished")
@in_unit
def set_password(user_id: int, wished: NewPassword, *, unit: Unit) -> ResponseReturnValue:
    """Give a new password; the person's sessions end."""
    container().access.people.set_password(unit, actor(), user_id, wished.password)
    return "", 204


@blueprint.delete("/<int:user_id>/sessions")
@in_unit
def end_sessions(user_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Sign the person out everywhere."""
    container().access.people.end_sessions(unit, actor(), user_id)
    return "", 204


@blueprint.get("/<int:user_id>/tokens")
@in_unit
def tokens(user_id: int, *, unit: Unit) -> ResponseReturnValue:
    """The person's tokens, without their secrets."""
    container().access.people.get(unit, actor(), user_id)
    return {"items": [shown_token(token) for token in container().tokens.of(unit, actor(), user_id)]}


@blueprint.delete("/<int:user_id>/tokens/<int:token_id>")
@in_unit
def revoke(user_id: int, token_id: int, *, unit: Unit) -> ResponseReturnValue:
    """End one of the person's tokens. Needs `users.update`."""
    container().tokens.revoke_of(unit, actor(), user_id, token_id)
    return "", 204


def shown_person(user: User) -> dict[str, object]:
    return {
        "id": user.id,
        "login": user.login,
        "display_name": user.display_name,
        "email": user.email,
        "locale": user.locale,
        "roles": sorted(role.name for role in user.roles),
        "tenant_id": user.tenant_id,
        "needs_approval": user.needs_approval,
        "is_guest": user.is_guest,
        "is_active": user.is_active,
        "created_at": user.created_at.isoformat() if user.created_at else None,
    }
