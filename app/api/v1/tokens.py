"""The caller's own bearer tokens. A token is shown once, when it is made."""

from __future__ import annotations

from typing import Literal

from apiflask import APIBlueprint
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, ConfigDict, Field

from app.core.access.models import ApiToken
from app.core.access.tokens import LONGEST_DAYS
from app.core.idempotency.service import Resource
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.idempotency import Made, idempotent
from app.edge.transactions import in_unit

blueprint = APIBlueprint("tokens_api", __name__, url_prefix="/api/v1/tokens")


class NewToken(BaseModel):
    """What to make: ``days`` until it expires."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=100)
    scopes: list[Literal["read", "write", "admin", "all"]] = Field(min_length=1, max_length=4)
    days: int = Field(default=30, ge=1, le=LONGEST_DAYS)


@blueprint.get("")
@in_unit
def index(*, unit: Unit) -> ResponseReturnValue:
    """The caller's tokens, newest first, without their secrets."""
    return {"items": [shown_token(token) for token in container().tokens.mine(unit, actor())]}


def _made(unit: Unit, resource: Resource) -> ResponseReturnValue:
    """A repeat is told which token it was; its secret was shown once and is not stored."""
    return {**shown_token(container().tokens.own(unit, actor(), int(resource["id"] or 0))), "token": None}


@blueprint.post("")
@blueprint.input(NewToken, location="json", arg_name="wished")
@in_unit
@idempotent(_made)
def create(wished: NewToken, *, unit: Unit) -> ResponseReturnValue | Made:
    """Make a token; only a person who signed in with a browser may."""
    token, secret = container().tokens.mint(unit, actor(), wished.name, wished.scopes, wished.days)
    return Made(({**shown_token(token), "token": secret}, 201), {"id": token.id})


@blueprint.delete("/<int:token_id>")
@in_unit
def revoke(token_id: int, *, unit: Unit) -> ResponseReturnValue:
    """End one of the caller's tokens."""
    container().tokens.revoke(unit, actor(), token_id)
    return "", 204


def shown_token(token: ApiToken) -> dict[str, object]:
    return {
        "id": token.id,
        "name": token.name,
        "scopes": token.scopes,
        "created_at": token.created_at.isoformat(),
        "expires_at": token.expires_at.isoformat(),
        "last_used_at": token.last_used_at.isoformat() if token.last_used_at else None,
    }
