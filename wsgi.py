"""The WSGI entry point: ``gunicorn wsgi:app`` and ``flask --app wsgi``."""

from __future__ import annotations

import sys

from app.core.config import read_config
from app.core.errors import ConfigurationError
from app.factory import create_app

try:
    app = create_app(read_config())
except ConfigurationError as error:
    print(*error.problems, sep="\n", file=sys.stderr)
    raise SystemExit(2) from None
