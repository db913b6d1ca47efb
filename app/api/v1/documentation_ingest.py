"""Uploads into collections of documentation."""

from __future__ import annotations

import base64
import binascii
from typing import Literal

from apiflask import APIBlueprint
from flask import jsonify
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, ConfigDict, Field

from app.core.errors import Invalid, NotFound
from app.core.idempotency.service import Resource
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.idempotency import Remember, idempotent_apart
from app.edge.limits import costly
from app.edge.transactions import origin

blueprint = APIBlueprint("documentation_ingest_api", __name__, url_prefix="/api/v1/documentation")

LONGEST_TEXT = 2 * 1024 * 1024
LONGEST_BASE64 = 56 * 1024 * 1024


class Upload(BaseModel):
    """One file. ``source`` is its name in the collection, whose ending says what it is: Markdown, text, HTML, PDF or
    docx. Either ``content`` (text) or ``content_base64`` (bytes). ``force``: also when embedding it costs much."""

    model_config = ConfigDict(extra="forbid", strict=True)

    collection: str = Field(min_length=1, max_length=60)
    source: str = Field(min_length=1, max_length=500)
    content: str | None = Field(default=None, max_length=LONGEST_TEXT)
    content_base64: str | None = Field(default=None, max_length=LONGEST_BASE64)
    locale: Literal["en", "it"] | None = None
    force: bool = False


def _again(unit: Unit, made: Resource) -> ResponseReturnValue:
    """The outcome once more, for someone who may still upload."""
    if not actor().may("documentation.ingest"):
        raise NotFound("documentation.no_collection", name=str(made["collection"]))
    return dict(made)


@blueprint.post("/ingest")
@costly
@blueprint.input(Upload, location="json", arg_name="sent")
@idempotent_apart(_again, status=201)
def ingest(sent: Upload, *, remember: Remember) -> ResponseReturnValue:
    """Bring a file into a collection, which is made on its first use; it replaces what was sent under this name before.

    The workers embed it afterwards; what is unchanged costs nothing. 409 when it would take more tokens than are spent
    without ``force``. Needs `documentation.ingest`.
    """
    service = container().ingest
    if service is None:
        raise NotFound("documentation.not_installed")
    done = service.upload(actor(), sent.collection, sent.source, _data(sent), sent.locale, sent.force)
    shown = {
        "collection": done.collection,
        "source": done.source,
        "outcome": done.outcome,
        "passages": done.passages,
        "tokens": done.tokens,
    }
    with container().units(origin=origin()) as unit:
        changes = {"collection": [None, done.collection], "source": [None, done.source]}
        container().audit.write(unit, actor(), "insert", "documentation.named", changes=changes)
        remember(unit, shown)
    response = jsonify(shown)
    response.status_code = 201
    return response


def _data(sent: Upload) -> bytes:
    if (sent.content is None) == (sent.content_base64 is None):
        raise Invalid("input.invalid", fields=[Invalid("input.required", path="content")])
    if sent.content is not None:
        return sent.content.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(str(sent.content_base64), validate=True)
    except (binascii.Error, ValueError):
        raise Invalid("input.type", path="content_base64", expected="base64") from None
