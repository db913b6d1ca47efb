"""The checked-in description of the API: `make openapi` writes it, `test_openapi.py` compares it."""

from __future__ import annotations

from pathlib import Path

from apiflask import APIFlask
from pydantic import SecretStr

from app.api.openapi.document import written
from app.core.config import Config
from app.factory import create_app

FILE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "openapi.json"


def generated(app: APIFlask) -> str:
    """The document of these routes; no database is asked."""
    with app.app_context():
        return written(app, app.extensions["changeover"].registry)


def main() -> None:
    config = Config(
        database_url="postgresql://nobody@127.0.0.1:1/none",
        redis_url="redis://127.0.0.1:1/0",
        secret_key=SecretStr("nothing is signed with this"),
        changeover_env="test",
    )
    FILE.write_text(generated(create_app(config)), encoding="utf-8")


if __name__ == "__main__":
    main()
