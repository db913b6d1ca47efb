"""Every reason why a search did less than was asked of it (`seed-facts.md` 4.3, 4.4); the reference lists them.

The strategy's own reason wins; else the first note of the search.
"""

from __future__ import annotations

from collections.abc import Mapping

RESOLUTION: Mapping[str, str] = {
    "mode_unavailable": "no package with embeddings is installed",
    "search_orchestration_disabled": "the setting `features.search_orchestration.enabled` is off: answered as fast",
    "deep_unavailable": "no language model is configured: answered as fast",
    "rate_limited": "more deep searches in this minute than `search.deep_per_minute`: answered as fast",
    "serving_changed": "the serving model changed twice during one search",
}
"""Known before anything ran."""
RUN_TIME: Mapping[str, str] = {
    "intent_unavailable": "the language model said nothing that can be read of what is meant: the words as typed",
    "intent_timeout": "the language model took too long to say what is meant: the words as typed",
    "planner_unavailable": "the language model made no plan, or none that can be read: the plan of the rules",
    "planner_timeout": "the language model took too long to plan: the plan of the rules",
    "vectors_unavailable": "`vector_disabled` says why",
    "embedder_unavailable": "the embedding model's server is away, or its answer can't be used: words alone",
    "embedder_timeout": "the embedding model's server was slower than its share of the budget: words alone",
    "vector_timeout": "the vector leg was not back within the budget: words alone",
    "vector_failed": "the vector leg was refused or failed: words alone",
    "words_timeout": "the word leg was not back within the budget: what the meaning found, else nothing",
    "words_failed": "the database refused the word leg: what the meaning found, else nothing",
    "engine_unavailable": "PostgreSQL answered in place of the chosen engine, for words or for meaning",
    "engine_timeout": "the chosen engine was too slow: PostgreSQL answered in its place, for words or for meaning",
    "reranker_failed": "the second ranking failed or gave no usable scores: the fused order",
    "reranker_timeout": "the second ranking was not back within the budget: the fused order",
}
"""Noted by the step that fell back; `mode_applied` stays what the strategy was."""
REASONS: Mapping[str, str] = {**RESOLUTION, **RUN_TIME}


class Notes:
    """What fell back during one search; the first is the one that is told. ``left_out``: ``corrections`` (did you
    mean), ``facets`` and counts of ``explain`` for which there was no time."""

    def __init__(self) -> None:
        self.first: str | None = None
        self.left_out: list[str] = []

    def add(self, reason: str | None) -> None:
        self.first = self.first or reason

    def leave_out(self, what: str) -> None:
        if what not in self.left_out:
            self.left_out.append(what)
