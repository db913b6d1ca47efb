"""What the public tools of ``baselines.json`` do, rebuilt: BM25 (Lucene, k1 1.2, b .75, stemmed, without stop words),
exact vectors, and both by reciprocal rank (60).

``baselines.json`` has means only; a paired bootstrap needs each question's figure. Stems and stop words are
PostgreSQL's Snowball ones, the vectors those that the product has.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

K1, B = 1.2, 0.75
RRF = 60
DEPTH = 100
LANGUAGES = {"en": "english", "it": "italian"}
_TOKEN = re.compile(r"\b\w\w+\b")


class Stems:
    """Words to their stems; None for a stop word."""

    def __init__(self, connection: psycopg.Connection[Any], locale: str) -> None:
        self._connection = connection
        self._dictionary = f"{LANGUAGES[locale]}_stem"
        self._known: dict[str, str | None] = {}

    def of(self, text: str) -> list[str]:
        """The stems of a text, without stop words."""
        tokens = _TOKEN.findall(text.lower())
        self._learn({token for token in tokens if token not in self._known})
        return [stem for token in tokens if (stem := self._known[token]) is not None]

    def _learn(self, tokens: Iterable[str]) -> None:
        asked = sorted(tokens)
        if asked:
            rows = self._connection.execute(
                "select word, ts_lexize(%s, word) from unnest(%s::text[]) word", (self._dictionary, asked)
            )
            self._known |= {word: (stems[0] if stems else None) for word, stems in rows}


class Bm25:
    """An index of stemmed documents."""

    def __init__(self, names: Sequence[str], documents: Sequence[Sequence[str]]) -> None:
        self.names = names
        lengths = np.array([len(one) for one in documents], dtype=np.float64)
        self._norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9))
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, words in enumerate(documents):
            for word, times in Counter(words).items():
                found[word].append((place, times))
        self._postings = {word: np.array(rows, dtype=np.int64) for word, rows in found.items()}

    def scores(self, words: Sequence[str]) -> NDArray[np.float64]:
        """One score per document, 0 where no word occurs."""
        total = np.zeros(len(self.names))
        for word, times in Counter(words).items():
            rows = self._postings.get(word)
            if rows is None:
                continue
            idf = np.log1p((len(self.names) - len(rows) + 0.5) / (len(rows) + 0.5))
            tf = rows[:, 1].astype(np.float64)
            total[rows[:, 0]] += times * idf * tf / (tf + self._norm[rows[:, 0]])
        return total


class Dense:
    """Exact cosines of unit vectors; a document's is that of its best passage."""

    def __init__(self, names: Sequence[str], vectors: Sequence[NDArray[np.float32]]) -> None:
        """``vectors``: (passages, dimensions) per document; a document without passages is never found."""
        self.names = names
        self._starts = np.cumsum([0, *(len(one) for one in vectors)])
        some = [one for one in vectors if len(one)]
        self._matrix = np.concatenate(some) if some else np.zeros((0, 0), dtype=np.float32)

    def scores(self, vector: NDArray[np.float32]) -> NDArray[np.float64]:
        """One cosine per document, -1 for one without passages."""
        cosines = (self._matrix @ vector).astype(np.float64)
        return np.array(
            [cosines[start:end].max(initial=-1.0) for start, end in zip(self._starts, self._starts[1:], strict=False)]
        )


def ranking(names: Sequence[str], scores: NDArray[np.float64], least: float, depth: int = DEPTH) -> list[str]:
    """The best ``depth`` documents above ``least``, ties in their order."""
    order = np.argsort(-scores, kind="stable")[:depth]
    return [names[place] for place in order if scores[place] > least]


def fused(rankings: Sequence[Sequence[str]]) -> list[str]:
    """Reciprocal rank fusion."""
    total: dict[str, float] = defaultdict(float)
    for one in rankings:
        for place, name in enumerate(one, start=1):
            total[name] += 1 / (RRF + place)
    return sorted(total, key=lambda name: (-total[name], name))[:DEPTH]


def baseline(rows: Sequence[Mapping[str, Any]], name: str, qrels: str, begins: str) -> Mapping[str, Any] | None:
    """The public row of a set whose system begins so, like with like: the same judgements."""
    for row in rows:
        same = row["ds"] == name and row.get("qrels", "qrels.tsv") == qrels
        if same and str(row["system"]).startswith(begins):
            return row
    return None
