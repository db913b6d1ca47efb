"""Builds the web application from a configuration: container, edge, pages, API and commands; nothing else."""

from __future__ import annotations

from apiflask import APIFlask
from flask_babel import Babel
from flask_login import LoginManager

from app import api, cli, web
from app.container import Container, build_container
from app.core.config import Config
from app.core.locale import DEFAULT_LOCALE
from app.edge import context, errors, idempotency, limits, logs, security, transactions


def create_app(config: Config, container: Container | None = None) -> APIFlask:
    """The application; nothing is connected to before the first request. Tests may hand in a container."""
    logs.configure(config.changeover_log_level)
    app = APIFlask(
        "app",
        title="Changeover",
        version="1",
        docs_path=None,
        spec_path=None,
        json_errors=False,
        template_folder="../templates",
        static_folder="../static",
    )
    parts = container or build_container(config)
    app.extensions["changeover"] = parts
    parts.units.origin = transactions.origin
    app.config.update(
        BABEL_DEFAULT_LOCALE=DEFAULT_LOCALE,
        TEMPLATES_AUTO_RELOAD=config.changeover_env == "development",
        SEND_FILE_MAX_AGE_DEFAULT=3600,
    )
    logs.init(app)
    limits.init(app, config, parts.clock)
    context.init(app, Babel(), LoginManager())
    security.init(app, config)
    errors.init(app)
    idempotency.init(app)
    web.register(app)
    api.register(app)
    cli.register(app)
    return app
