"""The degradation matrix: every part of a search, in every way of not being there, at every cost.

``EXPECTED`` is what each cell must answer: the mode that was applied and the reason that is told (None: nothing was
lost). ``None`` in place of a pair: there is no such cell. `test_matrix.py` holds every one of them against the code;
`report.py` writes the page from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

COSTS = ("fast", "balanced", "deep")
STATES = ("absent", "refused", "slow", "malformed")
COMPONENTS: Mapping[str, str] = {
    "embedder": "the server of the embedding model",
    "vector leg": "the search among vectors",
    "engine": "Elasticsearch, where it is the chosen engine",
    "word leg": "the search among words in PostgreSQL",
    "reranker": "the cross-encoder, while the second ranking is on",
    "intent": "the language model, asked what is meant",
    "plan": "the language model, asked for a plan",
    "counter": "Valkey, which counts deep searches",
}

Told = tuple[str, str | None]
Row = tuple[Told, Told, Told] | None


def _same(reason: str | None) -> Row:
    return ("fast", reason), ("balanced", reason), ("deep", reason)


def _beyond_words(reason: str | None) -> Row:
    """A fast search does not use the part."""
    return ("fast", None), ("balanced", reason), ("deep", reason)


def _deep(reason: str | None) -> Row:
    return ("fast", None), ("balanced", None), ("deep", reason)


NO_MODEL: Row = (("fast", None), ("balanced", None), ("fast", "deep_unavailable"))

EXPECTED: Mapping[str, Mapping[str, Row]] = {
    "embedder": {
        "absent": _beyond_words("vectors_unavailable"),
        "refused": _beyond_words("embedder_unavailable"),
        "slow": _beyond_words("embedder_timeout"),
        "malformed": _beyond_words("embedder_unavailable"),
    },
    "vector leg": {
        "absent": _beyond_words("vectors_unavailable"),
        "refused": _beyond_words("vector_failed"),
        "slow": _beyond_words("vector_timeout"),
        "malformed": _beyond_words("vector_failed"),
    },
    "engine": {
        "absent": _same("engine_unavailable"),
        "refused": _same("engine_unavailable"),
        "slow": _same("engine_timeout"),
        "malformed": _same("engine_unavailable"),
    },
    "word leg": {
        "absent": None,
        "refused": _same("words_failed"),
        "slow": _same("words_timeout"),
        "malformed": _same("words_failed"),
    },
    "reranker": {
        "absent": _same(None),
        "refused": _beyond_words("reranker_failed"),
        "slow": _beyond_words("reranker_timeout"),
        "malformed": _beyond_words("reranker_failed"),
    },
    "intent": {
        "absent": NO_MODEL,
        "refused": _deep("intent_unavailable"),
        "slow": _deep("intent_timeout"),
        "malformed": _deep("intent_unavailable"),
    },
    "plan": {
        "absent": NO_MODEL,
        "refused": _deep("planner_unavailable"),
        "slow": _deep("planner_timeout"),
        "malformed": _deep("planner_unavailable"),
    },
    "counter": {state: _same(None) for state in STATES},
}

MEANS: Mapping[str, Mapping[str, str]] = {
    "embedder": {
        "absent": "nothing is embedded yet",
        "refused": "refuses the connection",
        "slow": "never answers",
        "malformed": "answers what can't be used",
    },
    "vector leg": {
        "absent": "switched off in the settings",
        "refused": "the database refuses the statement",
        "slow": "never ends",
        "malformed": "gives rows of another shape",
    },
    "engine": {
        "absent": "its index was never built",
        "refused": "refuses the connection",
        "slow": "never answers",
        "malformed": "answers a page of HTML",
    },
    "word leg": {
        "absent": "is the console's own database",
        "refused": "the database refuses the statement",
        "slow": "is ended by its time limit",
        "malformed": "the database can't read a value",
    },
    "reranker": {
        "absent": "not configured: the heuristic orders",
        "refused": "refuses the connection",
        "slow": "never answers",
        "malformed": "gives one score too few",
    },
    "intent": {
        "absent": "not configured",
        "refused": "refuses the connection",
        "slow": "never answers",
        "malformed": "answers in prose",
    },
    "plan": {
        "absent": "not configured",
        "refused": "refuses the connection",
        "slow": "never answers",
        "malformed": "answers a plan without sections",
    },
    "counter": {
        "absent": "no such host",
        "refused": "refuses the connection",
        "slow": "never answers",
        "malformed": "answers what is no reply",
    },
}


def cells() -> Iterator[tuple[str, str, str]]:
    """(component, state, cost) of every cell that there is."""
    for component in COMPONENTS:
        for state in STATES:
            if EXPECTED[component][state] is not None:
                for cost in COSTS:
                    yield component, state, cost


def expected(component: str, state: str, cost: str) -> Told:
    row = EXPECTED[component][state]
    if row is None:
        raise KeyError((component, state))
    return row[COSTS.index(cost)]
