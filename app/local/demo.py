"""The demo's data: where its lines stand, who its people are, and the administrator's password. Writes nothing."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.core.config import Config

SEED = Path(__file__).parent / "seed"
FILES: Mapping[str, Path] = {"cms.contents": SEED / "contents.jsonl", "sao.tickets": SEED / "tickets.jsonl"}
PASSWORD_FILE = "admin-password"
"""In the home folder, mode 0600, written by `make run`."""

WORKS_ON = ("author", "assignee")


@dataclass(frozen=True)
class Person:
    """Somebody whom the seed names. Who only asks is a reader, who writes or solves is an editor."""

    login: str
    display_name: str
    locale: str
    is_editor: bool


def seed_files() -> dict[str, Path]:
    """The files of lines by entity, those that are there."""
    return {entity: path for entity, path in FILES.items() if path.is_file()}


def seed_people() -> list[Person]:
    """Everybody named in the seed, by login; the language is the one of most of their tickets."""
    editors: set[str] = set()
    spoken: dict[str, Counter[str]] = defaultdict(Counter)
    for path in seed_files().values():
        with path.open(encoding="utf-8") as stream:
            for line in stream:
                record = json.loads(line)
                editors |= {record[name] for name in WORKS_ON if record.get(name)}
                if record.get("requester"):
                    spoken[record["requester"]][record.get("locale", "en")] += 1
    return [
        Person(login, _name(login), spoken[login].most_common(1)[0][0] if spoken[login] else "en", login in editors)
        for login in sorted(editors | spoken.keys())
    ]


def admin_password(config: Config) -> str | None:
    """The demo administrator's password: from the environment, else from the home folder, else None."""
    if config.changeover_admin_password is not None:
        return config.changeover_admin_password.get_secret_value()
    path = config.changeover_home / PASSWORD_FILE
    return path.read_text(encoding="utf-8").strip() or None if path.is_file() else None


def _name(login: str) -> str:
    return " ".join(part.capitalize() for part in login.replace("_", ".").split("."))
