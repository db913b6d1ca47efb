"""A second look at the best hits of a search: how well does each text answer the question?

Called by `search` after fusion; answered by the heuristic of `search/rerank.py`, or by a cross-encoder that
`embeddings` reaches over HTTP. Absence (None in the strategy) means that fusion has the last word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Safe for threads. ``name`` is what the meta shows: ``heuristic``, or the model of a cross-encoder."""

    @property
    def name(self) -> str: ...

    def scores(self, query: str, texts: Sequence[str], timeout: float) -> Sequence[float]:
        """One score in [0, 1] per text, in the order of the texts, within ``timeout`` seconds for all of them.

        Raises :class:`app.core.errors.Unavailable` (a :class:`ModelServerFailed` where a server was asked), and then
        the order of before stands.
        """
        ...
