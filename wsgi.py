"""The WSGI entry point: ``gunicorn wsgi:app`` and ``flask --app wsgi``."""

from __future__ import annotations

import sys

from app.core.config import read_config
from app.core.errors import ConfigurationError
from app.factory import create_app

WRONG_CONFIGURATION = 2
WORKER_FAILED_TO_BOOT = 3
"""The one code after which gunicorn gives up instead of starting the worker again and again."""

try:
    app = create_app(read_config())
except ConfigurationError as error:
    print(*error.problems, sep="\n", file=sys.stderr)
    raise SystemExit(WORKER_FAILED_TO_BOOT if "gunicorn.arbiter" in sys.modules else WRONG_CONFIGURATION) from None
