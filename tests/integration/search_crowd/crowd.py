"""Five thousand records with vectors, people with random rules, and what plain Python says of both.

Nothing of the product decides here what may be seen: rules are evaluated by `plain_rules.py`, words by a split.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np
from sqlalchemy import text

from app.container import Container
from app.core.access.models import Role, RowRule, User
from app.core.contracts.actor import Actor
from app.core.contracts.documents import Document
from app.embeddings.query import VectorQueries
from app.search.answer import SearchResponse
from tests.fakes.chat_model import FakeChatModel
from tests.fakes.clock import START
from tests.integration.access.plain_rules import DATES, PlainRole, Who, reaches
from tests.integration.search.conftest import DIMENSIONS, Stage, StageParts

CONTENTS, TICKETS = "cms.contents", "sao.tickets"
COUNTS = {CONTENTS: 4000, TICKETS: 1000}
POOL = ["anna", "Anna", "zoe", "émile", "50%", "a_b", "desk", "~"]
"""Values of the fields that rules name."""
HERMIT = "hermit"
"""The author of one content in a hundred; their vectors lie opposite to everybody's."""
EVERYWHERE = "everwok"
"""A word of every text."""
WORDS = (
    *("bandok", "celfug", "dirmap", "folguk", "gasbrik", "hutmog", "jeltrap", "kofdig", "lumzak", "motsig"),
    *("nelkub", "pagruk", "quifob", "ritmuz", "sogbap", "tulkig", "vefmak", "wudrig", "xafmok", "zolbug"),
)
"""Far from each other, and no language's stems change one into another; the first are frequent, the last rare."""
EXPANSION = WORDS[6]
"""What the language model adds to every question of a deep search."""
PLAN = {
    "strategy": "hybrid",
    "retrieval": {"use_vector": True},
    "ensemble": {"keyword_weight": 0.7, "vector_weight": 0.3, "rrf_weight": 0.2, "agreement_boost": 0.1},
    "ranking": {"use_reranker": True, "rerank_top_k": 30, "rerank_blend": 0.5},
    "vector": {"enabled": True},
    "retry_policy": {"enabled": True, "max_attempts": 3, "threshold_avg_score": 1},
}
"""Its plan: every step that there is, and no answer good enough, so that each is looked for again."""
STATUSES = ("open", "in_progress", "waiting", "resolved", "closed")
SEED = 20_261_130
_COLUMNS = {
    "cms_contents": "id, key, category, author, status, valid_from, valid_to, revision, deleted_at",
    "cms_content_translations": "content_id, locale, title, body",
    "sao_tickets": "id, number, subject, description, locale, status, priority, requester, assignee, created_at,"
    " deleted_at",
    "embeddings": 'entity, record_id, locale, space_id, n, "of", start, "end", text_hash, passage_hash, embedding',
}
_EMPTIED = ("row_rules", "field_rules", "user_roles", "roles", "users")

Row = dict[str, Any]


@dataclass(frozen=True)
class Person:
    """Somebody who asks, with the roles that they have."""

    roles: Mapping[str, PlainRole]
    who: Who


class Meaning:
    """Stands where `ModelServers` does: a text's vector follows from its letters; ``fixed`` ones are chosen."""

    def __init__(self) -> None:
        self.fixed: dict[str, Sequence[float]] = {}

    def client(self, profile: Any) -> Meaning:
        return self

    def embed(self, texts: Sequence[str], kind: str, timeout: float | None = None) -> Any:
        vectors = [self.fixed.get(one) or direction(one) for one in texts]
        return type("Embedded", (), {"vectors": np.array(vectors, dtype=np.float32)})()


class Scores:
    """A second ranking that follows from the texts' letters."""

    name = "fake"

    def scores(self, query: str, texts: Sequence[str], timeout: float) -> Sequence[float]:
        return [blake2b(one.encode(), digest_size=1).digest()[0] / 255 for one in texts]


def direction(of: str) -> tuple[float, ...]:
    """A direction in the half of the space where the first number is positive: no hermit lives there."""
    raw = [byte / 255 - 0.5 for byte in blake2b(of.encode(), digest_size=DIMENSIONS).digest()]
    raw[0] = abs(raw[0]) + 0.05
    length = sum(number * number for number in raw) ** 0.5
    return tuple(number / length for number in raw)


@cache
def words(said: str) -> frozenset[str]:
    """The words of a text, lower-cased. Each text of the crowd is asked for hundreds of times."""
    return frozenset(re.findall(r"[^\W_]+", said.lower()))


class Crowd:
    """The records in the database of ``parts``, and beside it as plain rows; ``space`` where it is filled already."""

    def __init__(self, parts: Container, space: int | None = None) -> None:
        self.parts = parts
        self.stage = Stage(parts, space)
        self.meaning = Meaning()
        self.index: Any = getattr(parts.vectors, "_index", None)  # the console's own: that of the chosen engine
        self.stage.vectors = VectorQueries(
            parts.units,
            self.meaning,  # type: ignore[arg-type]
            self.stage.filters,
            lambda session: True,
            self.index,
        )
        rng = random.Random(SEED)
        self.secrets = _secrets(rng)
        self.rows: dict[str, dict[int, Row]] = {
            CONTENTS: {row["id"]: row for row in _contents(rng, self.secrets)},
            TICKETS: {row["id"]: row for row in _tickets(rng, self.secrets)},
        }
        self.search = self.stage.search()
        intent, plan = ({"keywords": [], "expanded": EXPANSION}, PLAN)
        with_models = StageParts(
            intent=FakeChatModel(json.dumps(intent)),
            planner=FakeChatModel(json.dumps(plan)),
            reranker=Scores(),
            calibration=(0.1, 0.9),
        )
        self.deep = self.stage.search(with_parts=with_models, rerank=True)

    # --- filling -------------------------------------------------------------------------------------------------

    def fill(self) -> None:
        """Everything as it would stand after imports and a switch: the records by COPY, their texts by the outbox."""
        self._copy("cms_contents", (_content_line(row) for row in self.rows[CONTENTS].values()))
        self._copy(
            "cms_content_translations",
            (
                (row["id"], locale, *said)
                for row in self.rows[CONTENTS].values()
                for locale, said in row["texts"].items()
            ),
        )
        self._copy("sao_tickets", (_ticket_line(row) for row in self.rows[TICKETS].values()))
        for entity, rows in self.rows.items():
            with self.parts.units() as unit:
                documents = {row["id"]: _documents(entity, row) for row in rows.values()}
                self.parts.outbox.put_many(unit, entity, documents)
        self._copy("embeddings", self._vectors())
        assert not self.parts.word_statistics.refresh(seconds=None)
        for entity in self.rows:
            self.stage.index(entity)
        self.stage.execute("analyze")

    def _copy(self, table: str, lines: Iterator[tuple[Any, ...]]) -> None:
        with self.parts.units() as unit:
            raw = unit.session.connection().connection.cursor()
            with raw.copy(f"copy {table} ({_COLUMNS[table]}) from stdin") as copy:
                for line in lines:
                    copy.write_row(line)

    def _vectors(self) -> Iterator[tuple[Any, ...]]:
        with self.parts.units() as unit:
            found = unit.session.execute(text("select entity, record_id, locale, text_hash from search_documents"))
            keys = [tuple(row) for row in found]
        for entity, record, locale, text_hash in keys:
            vector = direction(f"{entity} {record} {locale}")
            if self.rows[entity][record].get("author") == HERMIT:
                vector = tuple(-number for number in vector)
            yield (entity, record, locale, self.stage.space, 0, 1, 0, 40, text_hash, text_hash, json.dumps(vector))

    # --- who asks, and what they may see --------------------------------------------------------------------------

    def come_in(self, person: Person) -> Actor:
        """Write the person and their roles, and let the product say who they are."""
        with self.parts.units() as unit:
            for table in _EMPTIED:
                unit.session.execute(text(f"delete from {table}"))
            who = person.who
            user = User(
                id=who.id, login=who.login, display_name="x", tenant_id=who.tenant, locale=who.locale, session_version=1
            )
            user.roles = [_role(name, role) for name, role in person.roles.items()]
            unit.session.add(user)
        with self.parts.units() as unit:
            actor = self.parts.access.actor_by_session(unit, person.who.id, 1)
            assert actor is not None
            return actor

    def seen_by(self, person: Person) -> dict[str, set[int]]:
        """What a list shows the person: their rows, drafts too, without what is deleted."""
        roles = list(person.roles.values())
        return {
            entity: {
                row["id"]
                for row in rows.values()
                if not row["deleted"] and reaches(row, entity, "select", roles, person.who)
            }
            for entity, rows in self.rows.items()
        }

    def findable(self, seen: Mapping[str, set[int]], locale: str | None = None) -> list[tuple[str, Row]]:
        """The rows among ``seen`` that a search may show."""
        return [
            (entity, self.rows[entity][record])
            for entity, records in seen.items()
            for record in sorted(records)
            if self.rows[entity][record]["searchable"]
            and (locale is None or locale in self.rows[entity][record]["texts"])
        ]

    def listed(self, actor: Actor, entity: str, ids: Sequence[int]) -> set[int]:
        """Which of ``ids`` the list of Core shows when it is asked for exactly them."""
        found: set[int] = set()
        with self.parts.units() as unit:
            for start in range(0, len(ids), 100):
                wanted = {"property": "id", "operator": "in", "value": list(ids[start : start + 100])}
                page = self.parts.records.page(unit, actor, entity, {"size": 100, "filter": wanted})
                found |= {record.id for record in page.records}
        return found

    # --- asking --------------------------------------------------------------------------------------------------

    def pages(self, actor: Actor, q: str, **options: Any) -> Iterator[SearchResponse]:
        """Every page of an answer, and the one behind the last."""
        page = 1
        while True:
            found = self.ask(actor, q, page=str(page), **options)
            yield found
            if page > found.pages:
                return
            page += 1

    def ask(self, actor: Actor, q: str, **options: Any) -> SearchResponse:
        """One page; with language models and a second ranking when it may be deep. Nothing is degraded here."""
        search = self.deep if options.get("cost") == "deep" else self.search
        found = search.search(actor, search.request(q=q, **options))
        assert found.meta.degraded_reason is None
        return found


def _role(name: str, role: PlainRole) -> Role:
    rules = [
        RowRule(permission=permission, condition=condition)
        for permission, conditions in role.rules.items()
        for condition in conditions
    ]
    return Role(name=name, permissions=sorted(role.permissions), row_rules=rules)


def _secrets(rng: random.Random) -> list[str]:
    """Words that few records have, each far from every other."""
    return ["".join(rng.choice("bdfgklmnprtvz") + rng.choice("aiou") for _ in range(4)) + "k" for _ in range(200)]


def _said(rng: random.Random, secrets: Sequence[str]) -> str:
    some = {WORDS[min(int(rng.expovariate(0.25)), len(WORDS) - 1)] for _ in range(4)}
    rare = [rng.choice(secrets)] if rng.random() < 0.1 else []
    return " ".join([EVERYWHERE, *sorted(some), *rare])


def _contents(rng: random.Random, secrets: Sequence[str]) -> Iterator[Row]:
    for number in range(1, COUNTS[CONTENTS] + 1):
        hermit = number % 100 == 0
        codes = rng.choice((("en",), ("it",), ("en", "it")))
        status = "published" if hermit or rng.random() < 0.93 else rng.choice(("draft", "archived"))
        deleted = not hermit and rng.random() < 0.04
        valid_from = rng.choice((None, *DATES)) if hermit or rng.random() < 0.95 else START + timedelta(days=1)
        yield {
            "id": number,
            "key": f"k{number}" if rng.random() < 0.2 else None,
            "category": rng.choice(POOL),
            "author": HERMIT if hermit else rng.choice(POOL),
            "valid_from": valid_from,
            "status": status,
            "deleted": deleted,
            "searchable": status == "published" and not deleted and (valid_from is None or valid_from <= START),
            "texts": {code: (f"Content {number} {code}", _said(rng, secrets)) for code in codes},
        }


def _tickets(rng: random.Random, secrets: Sequence[str]) -> Iterator[Row]:
    for number in range(1, COUNTS[TICKETS] + 1):
        locale, subject = rng.choice(("en", "it")), rng.choice(POOL)
        deleted = rng.random() < 0.04
        yield {
            "id": number,
            "number": number,
            "subject": subject,
            "requester": rng.choice(POOL),
            "assignee": rng.choice((None, *POOL)),
            "status": rng.choice(STATUSES),
            "locale": locale,
            "created_at": rng.choice(DATES),
            "deleted": deleted,
            "searchable": not deleted,
            "texts": {locale: (f"SAO-{number} {subject}", _said(rng, secrets))},
        }


def _content_line(row: Row) -> tuple[Any, ...]:
    deleted_at = START if row["deleted"] else None
    said = (row["id"], row["key"], row["category"], row["author"], row["status"], row["valid_from"])
    return (*said, None, 1, deleted_at)


def _ticket_line(row: Row) -> tuple[Any, ...]:
    ((locale, (_, body)),) = row["texts"].items()
    said = (row["id"], row["number"], row["subject"], body, locale, row["status"], "normal")
    return (*said, row["requester"], row["assignee"], row["created_at"], START if row["deleted"] else None)


def _documents(entity: str, row: Row) -> list[Document]:
    if not row["searchable"]:
        return []
    return [Document(entity, row["id"], code, title, body, 1) for code, (title, body) in row["texts"].items()]
