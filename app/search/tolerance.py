"""How forgiving words are: kinds of tokens, and how many of them a hit must have (`seed-facts.md` 5). Pure.

``auto`` orders hits and removes none: as a filter the same rules left 44 to 75 % of real questions without any hit
(`search-measured.md` 1). ``strict``, ``balanced`` and ``tolerant`` filter. A *protected* token is never fuzzed; under
the three that filter it also makes every token necessary.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from app.core.contracts.strategy import Matching
from app.search.stopwords import STOP_WORDS

MATCHINGS: tuple[Matching, ...] = get_args(Matching)
Profile = Literal["strict", "balanced", "tolerant", "keywords", "natural"]

SHORTEST_WORD = 4
"""A shorter word is protected: one letter more or less makes another word of it."""
NATURAL = 2
"""So many stop words make a sentence of a question."""
TWO_TYPOS_FROM = 5
"""Significant tokens of a sentence from which on two of them may be misspelt."""

_STEPS = (2, 3, 4, 8)
"""The columns of the table: up to so many significant tokens, and beyond."""
COVERAGE: Mapping[Profile, tuple[int, int, int, int, int]] = {
    "strict": (100, 100, 100, 100, 100),
    "balanced": (100, 100, 75, 65, 60),
    "tolerant": (100, 66, 75, 55, 50),
    "keywords": (100, 100, 75, 70, 65),
    "natural": (100, 66, 75, 65, 60),
}
"""Percent of the significant tokens; the last two rows are those of ``auto`` (`seed-facts.md` 5.3)."""
FUZZY: Mapping[Profile, int] = {"strict": 1, "balanced": 2, "tolerant": 3, "keywords": 1, "natural": 1}

_ACRONYM = re.compile(r"(?=[0-9]*[^\W\d_a-z])[^\W_a-z]{2,8}")


@dataclass(frozen=True)
class Analysis:
    """Counts of a question's free tokens by kind; ``natural``: it reads like a sentence."""

    kinds: Mapping[str, int]
    significant: int
    protected: int
    natural: bool

    @property
    def eligible(self) -> int:
        """Words that may be misspelt."""
        return self.significant - self.protected


@dataclass(frozen=True)
class Rules:
    """What follows for one question. ``coverage``: the percent of its tokens that a hit must have, None: any one.

    ``fuzzy`` is how many of its words may be corrected by one letter.
    """

    requested: Matching
    effective: Matching
    coverage: int | None
    would_cover: int
    fuzzy: int

    def needed(self, tokens: int) -> int:
        """How many of ``tokens``, to the nearest and at least one; 66 % of three are two."""
        percent = 0 if self.coverage is None else self.coverage
        return min(tokens, max(1, (tokens * percent + 50) // 100))


def finer_kind(kind: str, raw: str) -> str:
    """``word`` told apart further: acronyms by their capitals, short words by their length."""
    if kind != "word":
        return kind
    if _ACRONYM.fullmatch(raw):
        return "acronym"
    return "short" if len(raw) < SHORTEST_WORD else "word"


def analyse(tokens: Iterable[tuple[str, str]]) -> Analysis:
    """Count (normalised text, kind) pairs; stop words are counted as such and are not significant."""
    kinds: Counter[str] = Counter()
    stops = 0
    for text, kind in tokens:
        if text in STOP_WORDS:
            stops += 1
        elif any(character.isalnum() for character in text):
            kinds[kind] += 1
    significant = sum(kinds.values())
    return Analysis(dict(sorted(kinds.items())), significant, significant - kinds["word"], stops >= NATURAL)


def rules(requested: Matching, found: Analysis) -> Rules:
    """The rules for a question, by precedence: preset, then what the question itself excludes."""
    profile: Profile = ("natural" if found.natural else "keywords") if requested == "auto" else requested
    strict = found.protected > 0 or found.significant == 0
    percent = 100 if strict else COVERAGE[profile][sum(found.significant > step for step in _STEPS)]
    most = 2 if profile == "natural" and found.significant >= TWO_TYPOS_FROM else FUZZY[profile]
    return Rules(
        requested=requested,
        effective=_effective(requested, found),
        coverage=None if requested == "auto" else percent,
        would_cover=percent,
        fuzzy=0 if found.protected and requested != "auto" else min(most, found.eligible),
    )


def _effective(requested: Matching, found: Analysis) -> Matching:
    if requested != "auto":
        return requested
    return "strict" if found.eligible == 0 else "balanced"


def described(found: Analysis, rule: Rules, demands: Mapping[str, int], degraded: Iterable[str] = ()) -> dict[str, Any]:
    """``meta.search.matching``: counts, never a word of the question (`seed-facts.md` 5.6)."""
    return {
        "requested_preference": rule.requested,
        "effective_preference": rule.effective,
        "filters": rule.coverage is not None,
        "significant_token_count": found.significant,
        "token_kinds": dict(found.kinds),
        "protected_token_count": found.protected,
        "eligible_token_count": found.eligible,
        "fuzzy_token_limit": rule.fuzzy,
        **{f"{name}_count": count for name, count in demands.items()},
        "options": {
            "operator": "and" if rule.coverage == 100 else "or",
            "minimum_should_match": rule.coverage or 0,
            "typo_tolerance": rule.fuzzy > 0,
            "max_edits": 1 if rule.fuzzy else 0,
        },
        "degraded": list(degraded),
    }
