"""How well an answer fits its question, on one scale for search and documentation (`search-measured.md` 6). Pure."""

from __future__ import annotations


def quality(coverage: float, top_cosine: float | None, noise: float, span: float) -> float:
    """In [0, 1]: half the idf coverage, itself in [0, 1], half where the top cosine lies between noise and good.

    ``noise`` and ``span`` are the model's own; without a cosine, or a ``span`` of the model, words alone judge.
    """
    if top_cosine is None or span <= 0:
        return coverage
    near = min(max((top_cosine - noise) / span, 0.0), 1.0)
    return 0.5 * coverage + 0.5 * near
