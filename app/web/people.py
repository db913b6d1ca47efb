"""Who may use the console."""

from __future__ import annotations

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.transactions import in_unit

blueprint = Blueprint("people", __name__)


@blueprint.get("/people")
@in_unit
def index(*, unit: Unit) -> ResponseReturnValue:
    """Everybody with their roles."""
    return render_template("people/index.html", people=container().access.people(unit, actor()))
