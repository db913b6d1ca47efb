"""The benchmarks' corpus: Zipf-like words, 20 to 400 tokens, two locales, one document in a hundred a duplicate.

The seed is fixed: every run of every size has the same texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import psycopg

from app.core.documents.text import clean_text, text_hash
from app.embeddings.passages import Passage, split
from app.embeddings.store import Key
from evaluations.bench.stub_server import digest

ENTITY = "cms.contents"
LOCALES = ("en", "it")
SEED = 20_261_130
VOCABULARY = 20_000
DUPLICATES = 0.01
WINDOW = 220
SYLLABLES = {
    "en": ("th", "er", "on", "an", "re", "he", "in", "ed", "nd", "ha", "at", "en", "es", "of", "or", "nt", "ti", "st"),
    "it": ("la", "re", "to", "ne", "co", "di", "ri", "no", "ta", "te", "ra", "si", "ca", "pro", "con", "per", "sta"),
}
COLUMNS = "entity, record_id, locale, title, body, text_hash, embeddable, revision"


@dataclass
class Corpus:
    """What was loaded: every document's passages, and how many passages have each text (by `digest`)."""

    passages: list[tuple[Key, Passage]] = field(default_factory=list)
    occurrences: Counter[str] = field(default_factory=Counter)
    documents: int = 0


def documents(count: int) -> Iterator[tuple[int, str, str, str]]:
    """(record, locale, title, body) of ``count`` documents, that is ``count / 2`` records in two locales."""
    rng = np.random.default_rng(SEED)
    words = {locale: _vocabulary(rng, syllables) for locale, syllables in SYLLABLES.items()}
    shares = 1 / (np.arange(VOCABULARY) + 2.7) ** 1.07
    steps = np.cumsum(shares / shares.sum())
    earlier: dict[str, list[tuple[str, str]]] = {locale: [] for locale in LOCALES}
    for number in range(count):
        record, locale = number // len(LOCALES) + 1, LOCALES[number % len(LOCALES)]
        seen = earlier[locale]
        if seen and rng.random() < DUPLICATES:
            yield record, locale, *seen[int(rng.integers(len(seen)))]
            continue
        length = 4 + int(8 + 190 * rng.random() ** 3)
        chosen = words[locale][np.minimum(np.searchsorted(steps, rng.random(length)), VOCABULARY - 1)]
        title, body = " ".join(chosen[:4]).capitalize(), _sentences(list(chosen[4:]))
        if len(seen) < 1000:
            seen.append((title, body))
        yield record, locale, title, body


def load(connection: psycopg.Connection[Any], count: int) -> Corpus:
    """Write the documents as the outbox would (without its words, which the switch does not read)."""
    corpus = Corpus(documents=count)
    with connection.cursor().copy(f"copy search_documents ({COLUMNS}) from stdin") as copy:
        for record, locale, title, body in documents(count):
            title, body = clean_text(title), clean_text(body)
            key = Key(ENTITY, record, locale, text_hash(title, body))
            copy.write_row((ENTITY, record, locale, title, body, key.text_hash, True, 1))
            corpus.passages += [(key, passage) for passage in split(title, body, WINDOW)]
    connection.commit()
    corpus.occurrences.update(digest(passage.text) for _, passage in corpus.passages)
    return corpus


def _vocabulary(rng: np.random.Generator, syllables: tuple[str, ...]) -> np.ndarray[Any, Any]:
    """Frequent words are short."""
    sizes = 1 + (np.arange(VOCABULARY) > 40).astype(int) + rng.integers(0, 3, VOCABULARY)
    return np.array(["".join(rng.choice(syllables, size)) for size in sizes])


def _sentences(words: list[str]) -> str:
    parts = [words[start : start + 14] for start in range(0, len(words), 14)]
    return " ".join(" ".join(part).capitalize() + "." for part in parts)
