"""The rebuilt public systems on one set, question by question (`quality_reference.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from app.core.documents.text import clean_text
from app.embeddings.passages import split
from app.embeddings.profiles import SHIPPED, read_profiles
from evaluations.bench.quality_reference import Bm25, Dense, Stems, fused, ranking
from evaluations.bench.quality_sets import RetrievalSet, Text
from evaluations.bench.vector_cache import MODEL, VectorCache

PROFILE = read_profiles(SHIPPED)[f"openai_compatible:{MODEL}"]
Rankings = dict[str, list[str]]


def passages_of(document: Text) -> list[str]:
    """The texts that the product sends for a document."""
    return [one.text for one in split(clean_text(document.title), clean_text(document.text), PROFILE.window)]


def wording(question: Text) -> str:
    """What the product sends for a question that holds no syntax of a search."""
    return " ".join(clean_text(question.text).split())


class Rebuilt:
    """Both legs over the documents of a set, or over those of one language of it."""

    def __init__(
        self, stems: Mapping[str, Stems], cache: VectorCache, documents: Sequence[Text], language: str
    ) -> None:
        """``language`` is that of the index; empty: each text's own."""
        names = [one.id for one in documents]
        self._language = language
        self._stems = stems
        self._cache = cache
        texts = [self._words(one, f"{one.title} {one.text}") for one in documents]
        self._words_index = Bm25(names, texts)
        passages = [] if cache is None else [_vectors(cache, "passage", passages_of(one)) for one in documents]
        self._dense = Dense(names, passages)

    def words(self, question: Text) -> list[str]:
        """BM25's ranking."""
        scores = self._words_index.scores(self._words(question, question.text))
        return ranking(self._words_index.names, scores, 0.0)

    def vectors(self, question: Text) -> list[str]:
        """The ranking by exact cosine."""
        return ranking(self._dense.names, self.cosines(question), -1.0)

    def cosines(self, question: Text) -> NDArray[np.float64]:
        """One cosine per document."""
        assert self._cache is not None
        return self._dense.scores(_vectors(self._cache, "query", [wording(question)])[0])

    def _words(self, text: Text, content: str) -> list[str]:
        return self._stems[self._language or text.locale].of(content)


def rebuilt(
    connection: psycopg.Connection[Any], cache: VectorCache | None, retrieval: RetrievalSet
) -> Iterator[tuple[str, Rankings]]:
    """``bm25``, and with a ``cache`` ``dense`` and ``rrf``, with a ranking for each judged question."""
    stems = {locale: Stems(connection, locale) for locale in ("en", "it")}
    locales = sorted({one.locale for one in retrieval.documents}) if retrieval.kind.own_language else [""]
    found: dict[str, Rankings] = {"bm25": {}} if cache is None else {"bm25": {}, "dense": {}, "rrf": {}}
    for locale in locales:
        documents = [one for one in retrieval.documents if not locale or one.locale == locale]
        legs = Rebuilt(stems, cache, documents, locale or retrieval.kind.stems or "")
        for question in retrieval.judged:
            if locale and question.locale != locale:
                continue
            words = found["bm25"][question.id] = legs.words(question)
            if cache is not None:
                vectors = found["dense"][question.id] = legs.vectors(question)
                found["rrf"][question.id] = fused([words, vectors])
    yield from found.items()


def _vectors(cache: VectorCache, kind: str, texts: Sequence[str]) -> NDArray[np.float32]:
    if not texts:
        return np.zeros((0, PROFILE.dimensions), dtype=np.float32)
    return np.stack([np.frombuffer(one, dtype="<f4") for one in cache.vectors(kind, texts)])
