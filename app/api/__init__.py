"""The JSON twins of the pages. `v1` lists its resources."""

from __future__ import annotations

from apiflask import APIFlask

from app.api import docs
from app.api.v1 import BLUEPRINTS


def register(app: APIFlask) -> None:
    """Add every resource of every version, and their description."""
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    app.register_blueprint(docs.blueprint)
    app.register_blueprint(docs.page)
