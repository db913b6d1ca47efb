"""What `bench_search` searches in: a console with texts, vectors and row rules of known shares, and its questions.

Texts are the benchmarks' (Zipf words, two languages, one passage each). Vectors are unit vectors in clusters: random
ones have no neighbours to speak of, and recall would mean nothing. A question is words of one text and a vector near
that text's own; its vector is there at once, as if the model took no time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.types.json import Jsonb
from pydantic import SecretStr

from app.container import Container, build_container
from app.core.config import Config, ServerSettings
from app.core.contracts.actor import Actor
from app.core.contracts.conditions import Condition
from app.core.documents.text import clean_text, text_hash
from app.core.settings.schema import BUDGET_BALANCED, BUDGET_FAST
from app.embeddings import store
from app.embeddings.indexes import pgvector
from app.embeddings.passages import Passage, passage_hash
from app.embeddings.profiles import Profile
from app.embeddings.store import Key, NewRow
from app.local.postgres import LocalPostgres
from evaluations.bench.corpus import ENTITY, SEED, documents
from evaluations.bench.laboratory import MEMORY_MB, OLD, PROFILE, plain
from evaluations.bench.stub_server import DIMENSIONS
from tests.fakes.queue import RecordingQueue
from tests.fixtures.databases import migrate
from tests.fixtures.servers import create_database

QUESTIONS = 100
WORDS_ASKED = (2, 3, 4, 5, 7)
COMMON = 40
"""The most frequent words stand for stop words, which the language configurations do not look for."""
CLUSTERS = 400
PATIENCE_MS = 30_000
SHARES = {"1": "one", "10": "ten", "100": None}
"""Percent of the records that an asker may see, and the category that they have; None: no rule."""

FILL = """insert into cms_contents (id, category, author, status)
    select n, case when n % 100 = 0 then 'one' when n % 100 <= 10 then 'ten' else 'news' end, 'anna', 'published'
    from generate_series(1, {records}) n"""
STAGE = "create unlogged table stage (record_id bigint, locale text, title text, body text, hash bytea)"
WRITE = """insert into search_documents
        (entity, record_id, locale, title, body, text_hash, embeddable, revision, words)
    select %s, record_id, locale, title, body, hash, true, 1,
        setweight(to_tsvector(('changeover_' || locale)::regconfig, title), 'A')
            || to_tsvector(('changeover_' || locale)::regconfig, body)
    from stage"""

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Asking:
    """A question: its words, and what the model says of them."""

    words: str
    vector: Vectors


@dataclass
class Field:
    """A filled console."""

    parts: Container
    url: str
    keys: list[tuple[int, str]]
    vectors: Vectors
    questions: list[Asking]

    def nearest(self, asking: Asking, share: str, most: int) -> list[int]:
        """The exact answer: the ids of the nearest records that the asker may see."""
        order = np.argsort(-(self.vectors @ asking.vector), kind="stable")
        found: dict[int, None] = {}
        for at in order:
            record = self.keys[at][0]
            if visible(record, share):
                found[record] = None
                if len(found) == most:
                    break
        return list(found)


def visible(record: int, share: str) -> bool:
    """As :data:`FILL` gives categories."""
    return share == "100" or (record % 100 == 0 if share == "1" else 1 <= record % 100 <= 10)


def asker(share: str) -> Actor:
    """Somebody who may see that share of the records."""
    category = SHARES[share]
    permission = f"{ENTITY}.select"
    rows = {permission: Condition("category", "=", category)} if category else {}
    return Actor(7, "anna", "Anna", permissions=frozenset({permission}), rows=rows)


class AtOnce:
    """Stands where a model's server does, and has every question's vector."""

    def __init__(self, known: dict[str, Vectors]) -> None:
        self._known = known

    def embed(self, texts: Sequence[str], kind: str, timeout: float | None = None) -> Any:
        return SimpleNamespace(vectors=np.stack([self._known[text] for text in texts]))


def unit_vectors(rng: np.random.Generator, centres: Vectors, chosen: NDArray[np.int64], spread: float) -> Vectors:
    """Around the chosen centres."""
    found = centres[chosen] + spread * rng.standard_normal((len(chosen), DIMENSIONS), dtype=np.float32) / np.float32(
        np.sqrt(DIMENSIONS)
    )
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)


@contextmanager
def field(postgres: LocalPostgres, folder: Path, passages: int) -> Iterator[Field]:
    """A console with so many passages, one for each text; half as many records."""
    url = create_database(postgres.url, f"search_{passages}")
    migrate(url)
    profiles = folder / "profiles.toml"
    profiles.write_text(PROFILE.format(key=OLD, size=DIMENSIONS))
    config = Config(
        database_url=url,
        redis_url="redis://127.0.0.1:1/0",
        secret_key=SecretStr("a secret key of the benchmark only"),
        changeover_env="test",
        ai_embeddings_servers={"stub": ServerSettings(url="http://127.0.0.1:1", slots=1)},
        ai_embeddings_profiles=profiles,
        ai_embeddings_initial=OLD,
    )
    parts = build_container(config, queue=RecordingQueue())
    try:
        yield _filled(parts, url, passages)
    finally:
        parts.engine.dispose()


def _filled(parts: Container, url: str, passages: int) -> Field:
    assert parts.ai is not None
    rng = np.random.default_rng(SEED)
    texts = [
        (record, locale, clean_text(title), clean_text(body)) for record, locale, title, body in documents(passages)
    ]
    centres = unit_vectors(rng, np.zeros((CLUSTERS, DIMENSIONS), np.float32), np.arange(CLUSTERS), 1.0)
    vectors = unit_vectors(rng, centres, rng.integers(0, CLUSTERS, passages), 0.7)
    with psycopg.connect(plain(url), autocommit=True) as connection:
        connection.execute(FILL.format(records=passages // 2))
        connection.execute("insert into cms_content_translations (content_id, locale, title, body)"
                           " select id, 'en', 'x', 'x' from cms_contents")  # fmt: skip
        connection.execute(STAGE)
        with connection.cursor().copy("copy stage from stdin") as copy:
            for record, locale, title, body in texts:
                copy.write_row((record, locale, title, body, text_hash(title, body)))
        connection.execute(WRITE, (ENTITY,))
        connection.execute("drop table stage")
    _store_vectors(parts, _serve(url), texts, vectors)
    parts.word_statistics.refresh(seconds=None)
    with parts.units() as unit:  # a busy machine shall give larger figures, not less of a search
        parts.settings.write_system(unit, BUDGET_FAST, PATIENCE_MS)
        parts.settings.write_system(unit, BUDGET_BALANCED, PATIENCE_MS)
    with psycopg.connect(plain(url), autocommit=True) as connection:
        connection.execute("vacuum (analyze)")
    questions = _questions(rng, texts, vectors)
    known = {one.words: one.vector for one in questions}
    servers: Any = parts.ai.servers
    servers.client = lambda profile: AtOnce(known)
    return Field(parts, url, [(record, locale) for record, locale, _, _ in texts], vectors, questions)


def _serve(url: str) -> int:
    """A space that serves; returns its id."""
    profile = Profile(OLD, "openai_compatible", "old", "stub", "", DIMENSIONS)
    with psycopg.connect(plain(url), autocommit=True) as connection:
        row = connection.execute(
            """with made as (insert into vector_spaces
                (model_key, fingerprint, dimensions, similarity, declaration, server_identity)
                values (%(key)s, 'stub', %(size)s, 'cosine', %(declaration)s, 'stub') returning id)
            insert into serving (id, space_id, model_key, dimensions, similarity)
            select 1, id, %(key)s, %(size)s, 'cosine' from made returning space_id""",
            {"key": OLD, "size": DIMENSIONS, "declaration": Jsonb(profile.declaration())},
        ).fetchone()
    assert row is not None
    return int(row[0])


def _store_vectors(
    parts: Container, space_id: int, texts: Sequence[tuple[int, str, str, str]], vectors: Vectors
) -> None:
    with parts.units() as unit:
        for start in range(0, len(texts), 2000):
            rows = []
            for at in range(start, min(start + 2000, len(texts))):
                record, locale, title, body = texts[at]
                whole = f"{title}\n\n{body}"
                passage = Passage(0, 1, 0, len(whole), whole)
                key = Key(ENTITY, record, locale, text_hash(title, body))
                rows.append(NewRow(key, passage, passage_hash(whole), vectors[at]))
            store.copy_rows(unit.session, space_id, rows)
    pgvector.build(parts.engine, space_id, ENTITY, DIMENSIONS, "cosine", memory_mb=MEMORY_MB)


def _questions(rng: np.random.Generator, texts: Sequence[tuple[int, str, str, str]], vectors: Vectors) -> list[Asking]:
    counts: Counter[str] = Counter()
    for _, _, title, body in texts[:4000]:
        counts.update(f"{title} {body}".lower().replace(".", "").split())
    common = {word for word, _ in counts.most_common(COMMON)}
    found = []
    for number in range(QUESTIONS):
        at = int(rng.integers(len(texts)))
        words = [word for word in f"{texts[at][2]} {texts[at][3]}".lower().replace(".", "").split()
                 if word not in common] or ["nothing"]  # fmt: skip
        chosen = rng.permutation(list(dict.fromkeys(words)))[: WORDS_ASKED[number % len(WORDS_ASKED)]]
        near = unit_vectors(rng, vectors[at : at + 1], np.zeros(1, np.int64), 0.3)[0]
        found.append(Asking(" ".join(chosen), near))
    return found
