"""The pages: one blueprint per file, named like its template folder. A new one is added to the list below.

A blueprint holds its whole addresses. Every page needs a signed-in person unless its view is marked `public`
(`app/edge/context.py`); what a person may do is checked in the services.
"""

from __future__ import annotations

from flask import Blueprint, Flask

from app.web import (
    account,
    ai,
    approvals,
    audit,
    auth,
    documentation,
    documentation_ask,
    evaluations,
    locale,
    pages,
    people,
    queues,
    record_bulk,
    records,
    roles,
    search,
    search_health,
    settings,
    vector_health,
)
from app.web.access_words import ACCESS_FILTERS
from app.web.filters import FILTERS

BLUEPRINTS: tuple[Blueprint, ...] = (
    approvals.blueprint,
    audit.blueprint,
    account.blueprint,
    ai.blueprint,
    auth.blueprint,
    documentation.blueprint,
    documentation_ask.blueprint,
    evaluations.blueprint,
    locale.blueprint,
    pages.blueprint,
    people.blueprint,
    queues.blueprint,
    record_bulk.blueprint,
    records.blueprint,
    roles.blueprint,
    search.blueprint,
    search_health.blueprint,
    settings.blueprint,
    vector_health.blueprint,
)


def register(app: Flask) -> None:
    """Add every page, the filters of the templates and what each layout shows."""
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    app.jinja_env.filters.update({**FILTERS, **ACCESS_FILTERS})
    app.context_processor(pages.layout)
    app.extensions["changeover"].strip = ai.strip
