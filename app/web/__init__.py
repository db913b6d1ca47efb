"""The pages: one blueprint per file, named like its template folder. A new one is added to the list below.

A blueprint holds its whole addresses. Every page needs a signed-in person unless its view is marked `public`
(`app/edge/context.py`); what a person may do is checked in the services.
"""

from __future__ import annotations

from flask import Blueprint, Flask

from app.web import ai, auth, documentation, locale, pages, people, queues, records, search, settings
from app.web.filters import FILTERS

BLUEPRINTS: tuple[Blueprint, ...] = (
    ai.blueprint,
    auth.blueprint,
    documentation.blueprint,
    locale.blueprint,
    pages.blueprint,
    people.blueprint,
    queues.blueprint,
    records.blueprint,
    search.blueprint,
    settings.blueprint,
)


def register(app: Flask) -> None:
    """Add every page, the filters of the templates and what each layout shows."""
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    app.jinja_env.filters.update(FILTERS)
    app.context_processor(pages.layout)
    app.extensions["changeover"].strip = ai.strip
