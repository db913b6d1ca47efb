"""The console with packages blocked from import, asked as people, scripts and jobs would; prints what came, as JSON.

Run by `test_deletion.py` in a process of its own: what is imported once can't be blocked any more.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

BLOCKED = ("app.ai", "app.assistant", "app.capabilities", "app.documentation", "app.embeddings")


class Gone(MetaPathFinder):
    """Answers for the blocked packages as if their folders had been deleted."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if any(fullname == name or fullname.startswith(f"{name}.") for name in BLOCKED):
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


def main() -> None:
    from app.container import build_container
    from app.core.config import read_config
    from app.core.contracts.documents import Document
    from app.factory import create_app
    from jobs import schedule
    from tests.fakes.queue import RecordingQueue
    from tests.fixtures.clients import Api, Browser, People

    config = read_config()
    parts = build_container(config, queue=RecordingQueue())
    app = create_app(config, parts)
    people = People(parts)
    admin = people.user("admin", "administrator", display_name="Ada Admin")
    api, browser = Api(app, people.token(admin, "all")), Browser(app).login_as(admin)
    with parts.units() as unit:  # left behind by the package when it was there
        parts.outbox.put(unit, "documentation.user", 1, [Document("documentation.user", 1, "en", "Printer", "x", 1)])
    made = api.post(
        "/api/v1/insert/cms/contents",
        json={
            "category": "it",
            "status": "published",
            "translations": {"en": {"title": "The printer on the second floor", "body": "It needs toner."}},
        },
    )
    found = api.get("/api/v1/search", query_string={"q": "printers"})
    schedule.tick(parts, 0)
    print(
        json.dumps(
            {
                "loaded": sorted(name for name in sys.modules if name.startswith(BLOCKED)),
                "alive": Browser(app).get("/healthz").status_code,
                "made": made.status_code,
                "found": found.json,
                "found_fast": api.get("/api/v1/search", query_string={"q": "printers", "cost": "fast"}).json,
                "models": _answer(api.get("/api/v1/embedding-models")),
                "ai_page": _answer(browser.get("/settings/ai")),
                "pages": {path: browser.get(path).status_code for path in _addresses(app, browser=True)},
                "resources": {path: api.get(path).status_code for path in _addresses(app, browser=False)},
                "command": _command(app),
            }
        )
    )


def _answer(response: Any) -> tuple[int, str]:
    return response.status_code, response.get_data(as_text=True)


def _addresses(app: Any, *, browser: bool) -> list[str]:
    """Every address that takes no argument, of the pages or of the API."""
    return sorted(
        rule.rule
        for rule in app.url_map.iter_rules()
        if "GET" in (rule.methods or ()) and not rule.arguments and rule.rule.startswith("/api/") is not browser
    )


def _command(app: Any) -> tuple[int, str]:
    done = app.test_cli_runner().invoke(args=["embeddings", "status"])
    return done.exit_code, done.output


if __name__ == "__main__":
    sys.meta_path.insert(0, Gone())
    main()
