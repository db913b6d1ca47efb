"""The described API: the document for machines, and the page to read it on. Both need somebody signed in."""

from __future__ import annotations

from typing import cast

from apiflask import APIBlueprint, APIFlask
from flask import Blueprint, Response, current_app, render_template, request
from flask.typing import ResponseReturnValue

from app.api.openapi import document as openapi
from app.api.openapi.page import page_context
from app.api.openapi.parts import Json
from app.edge.context import container

blueprint = APIBlueprint("openapi_api", __name__, url_prefix="/api/v1")
page = Blueprint("api_docs", __name__)


@blueprint.get("/openapi.json")
def show() -> ResponseReturnValue:
    """This document: OpenAPI 3.1."""
    return current_app.json.response(document())


@page.get("/api/docs")
def index() -> ResponseReturnValue:
    """Every operation and schema, to read and to search on one page."""
    return Response(render_template("api/index.html", **page_context(document(), request.host_url)))


def document() -> Json:
    """The document of the running application; it is made once, for routes don't change."""
    extensions = current_app.extensions
    if "openapi" not in extensions:
        app = cast(APIFlask, current_app._get_current_object())  # type: ignore[attr-defined]
        extensions["openapi"] = openapi.document(app, container().registry)
    return cast(Json, extensions["openapi"])
