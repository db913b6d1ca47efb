"""What the word being typed may become: words of texts that the asker may see, and of no other text.

Called by the search page and ``GET /api/v1/search/suggestions`` with each pause in typing, so it asks the engine once
and no model at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.core.access import policy
from app.core.contracts.actor import Actor
from app.core.errors import Forbidden, Invalid
from app.core.locale import LOCALES
from app.core.registry import Registry
from app.core.unit import Units
from app.search.engines.ports import Scope, SearchEngine
from app.search.matching import QUESTION_LIMIT
from app.search.service import texts_of

SHORTEST = 2
"""Letters from which on a word is completed: one letter begins too much to be of use."""
SHOWN = 8
MOST = 20

_LAST_WORD = re.compile(r"(?:^|(?<=[\s\"(+]))[^\W\d_]+$")


@dataclass(frozen=True)
class Suggestion:
    """A completed ``word``, and the whole question with it in place of what was typed last."""

    word: str
    q: str


class Suggestions:
    """Completes questions. Opens its own unit."""

    def __init__(self, units: Units, registry: Registry, engine: SearchEngine) -> None:
        self._units = units
        self._registry = registry
        self._engine = engine

    def questions(
        self, actor: Actor, q: str, entities: Sequence[str] = (), locale: str | None = None, limit: int = SHOWN
    ) -> tuple[Suggestion, ...]:
        """The question with its last word completed, the word of most texts first.

        Nothing where no word is being typed: behind a blank, after a minus, in an identifier. Raises as :meth:`words`,
        and :class:`Invalid` for a question that is too long to be asked.
        """
        if len(q) > QUESTION_LIMIT:
            raise Invalid("input.invalid", fields=[Invalid("input.too_long", path="q", limit=QUESTION_LIMIT)])
        typed = _LAST_WORD.search(q)
        found = self.words(actor, typed.group() if typed else "", entities, locale, limit)
        return tuple(Suggestion(word, q[: typed.start()] + word) for word in found) if typed else ()

    def words(
        self, actor: Actor, beginning: str, entities: Sequence[str] = (), locale: str | None = None, limit: int = SHOWN
    ) -> tuple[str, ...]:
        """Words that begin so, of texts that the actor may find.

        Raises :class:`Invalid` for an unknown entity or locale and a limit beyond 20, :class:`Forbidden` for an entity
        that the actor may not search.
        """
        _check(locale, limit)
        scope = self._scope(actor, entities)
        prefix = beginning.strip().lower()
        if len(prefix) < SHORTEST or not scope:
            return ()
        with self._units("REPEATABLE READ") as unit:
            found = self._engine.suggestions(unit.session, prefix, scope, locale, limit + 1)
        return tuple(word for word in found if word != prefix)[:limit]

    def _scope(self, actor: Actor, entities: Sequence[str]) -> Scope:
        """As search has it: an entity whose texts a field rule hides is not searched, and so tells no words."""
        allowed = [one.name for one in self._registry if texts_of(one) <= policy.readable(one, actor)]
        for name in entities:
            if name not in self._registry:
                raise Invalid("input.choice", path="entity", value=name[:100], allowed=", ".join(allowed))
            if name not in allowed:
                raise Forbidden("access.forbidden", permission=self._registry.get(name).permission("select"))
        return {name: actor.rows_for(self._registry.get(name).permission("select")) for name in entities or allowed}


def _check(locale: str | None, limit: int) -> None:
    problems = []
    if locale is not None and locale not in LOCALES:
        problems.append(Invalid("input.choice", path="locale", value=locale[:100], allowed=", ".join(LOCALES)))
    if not 1 <= limit <= MOST:
        problems.append(Invalid("input.range", path="limit", least=1, most=MOST))
    if problems:
        raise Invalid("input.invalid", fields=problems)
