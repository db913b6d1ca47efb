"""The vector half of search: its guard, the question's vector, the nearest passages (`switch.md`, "Read path")."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from app.core.contracts.conditions import Filter
from app.core.contracts.vectors import Guard, Leave, PassageHit, QueryVector, ServingChanged, Unavailability
from app.core.documents.text import clean_text
from app.core.errors import Conflict, Unavailable
from app.core.recent import Recent
from app.core.unit import Units
from app.embeddings import serving_store, store
from app.embeddings.client import ModelServers
from app.embeddings.indexes.pgvector_nearest import PgvectorIndex
from app.embeddings.indexes.ports import Lookup, PassageIndex, Rows, Target
from app.embeddings.profiles import Profile
from app.embeddings.questions import Asked, QuestionVectors, asked
from app.embeddings.serving_store import Guarded

FILTERS_KEPT = 1024

CompileFilter = Callable[[str, Filter | None], ColumnElement[bool]]


class VectorQueries:
    """The :class:`~app.core.contracts.vectors.VectorSearch` of the product. Safe for threads."""

    def __init__(
        self,
        units: Units,
        servers: ModelServers,
        compile_filter: CompileFilter,
        enabled: Callable[[Session], bool],
        index: PassageIndex | None = None,
    ) -> None:
        self._units = units
        self._servers = servers
        self._compile = compile_filter
        self._enabled = enabled
        self._index = index or PgvectorIndex()
        self._questions = QuestionVectors()
        self._filters: Recent[tuple[str, Filter | None], ColumnElement[bool]] = Recent(FILTERS_KEPT)

    def guard(self, session: Session, export: bool = False) -> Guard:
        """See the contract; one statement beside the setting."""
        if not self._enabled(session):
            return Guard("disabled")
        serving = serving_store.guarded(session, export)
        return Guard(_reason(serving), serving, serving.snapshot if serving else None)

    def known_vector(self, text: str, guard: Guard) -> QueryVector | None:
        """See the contract."""
        if not isinstance(guard.serving, Guarded):
            return None
        _, question = _question(guard.serving, text)
        vector = self._questions.get(guard.serving.epoch, question)
        return None if vector is None else _vector(guard.serving, vector)

    def query_vector(self, text: str, timeout: float, guard: Guard | None = None) -> QueryVector:
        """Embed a question as the serving space declares it, not as today's profile does."""
        serving = guard.serving if guard else None
        if not isinstance(serving, Guarded):
            with self._units() as unit:
                serving = serving_store.guarded(unit.session)
        if serving is None:
            raise Unavailable("vectors.none_serving")
        profile, question = _question(serving, text)
        vector = self._questions.get(serving.epoch, question)
        if vector is None:
            vector = self._embed(profile, question.wording, timeout)
            self._questions.put(serving.epoch, question, vector)
        return _vector(serving, vector)

    def settings(self, query: QueryVector, window: int) -> str:
        """See the contract."""
        return self._index.settings(query.space_id, window)

    def nearest(
        self,
        session: Session,
        query: QueryVector,
        scope: Mapping[str, Filter | None],
        locale: str | None,
        window: int,
        leave: Leave | None = None,
        seen: Guard | None = None,
    ) -> list[PassageHit]:
        """The best ``window`` records; see :class:`~app.core.contracts.vectors.VectorSearch`."""
        serving = seen.serving if seen else None
        target = target_of(session, query, serving if isinstance(serving, Guarded) else None)
        if not scope:
            return []
        rows = {entity: Rows(tree, self._compiled(entity, tree)) for entity, tree in scope.items()}
        return self._index.nearest(session, Lookup(target, query.vector, rows, locale, window, leave))

    def _compiled(self, entity: str, tree: Filter | None) -> ColumnElement[bool]:
        """The same condition for the same tree: statements are kept by it."""
        return self._filters.of((entity, tree), lambda: self._compile(entity, tree))

    def _embed(self, profile: Profile, wording: str, timeout: float) -> Sequence[float]:
        try:
            embedded = self._servers.client(profile).embed([wording], "query", timeout=timeout)
        except Conflict as error:
            raise Unavailable("vectors.no_server", profile=profile.key) from error
        return tuple(float(number) for number in embedded.vectors[0])


def _reason(serving: Guarded | None) -> Unavailability | None:
    """In the order of `seed-facts.md` 6."""
    if serving is None:
        return "no_vectors"
    if serving.suspended_reason:
        return "switching" if serving.suspended_reason == "switching" else "suspended"
    if not serving.fits:
        return "dimension_mismatch"
    return None if serving.filled else "no_vectors"


def _question(serving: Guarded, text: str) -> tuple[Profile, Asked]:
    profile = serving.profile
    return profile, asked(serving.space_id, profile, " ".join(clean_text(text).split()))


def _vector(serving: Guarded, vector: Sequence[float]) -> QueryVector:
    return QueryVector(serving.space_id, serving.epoch, vector, serving.model_key)


def serving_model(session: Session) -> str | None:
    """The key of the model that answers now, None before the first."""
    serving = store.serving(session)
    return serving.model_key if serving else None


def target_of(session: Session, query: QueryVector, seen: Guarded | None = None) -> Target:
    """Where the vector of a question may be looked for. Raises :class:`ServingChanged` unless what it was made under
    serves still, as was ``seen`` in the same snapshot or stands in the serving row now."""
    serving = seen or serving_store.current(session)
    if (
        serving is None
        or serving.suspended_reason
        or (serving.space_id, serving.epoch) != (query.space_id, query.epoch)
    ):
        raise ServingChanged
    return Target(serving.space_id, serving.dimensions, serving.similarity)
