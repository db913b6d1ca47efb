"""The one door to Elasticsearch, for words and vectors alike: requests with a time limit, its errors as ours, and bulk
writes item by item.

No X-Pack feature, script, `_reindex` or `_update_by_query` is used (`libraries.md`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import structlog
from elastic_transport import TransportError
from elasticsearch import ApiError, Elasticsearch, UnsupportedProductError

from app.core.clock import Clock
from app.core.errors import Unavailable

AWAY_SECONDS = 5.0
"""After a request without an answer searches go straight to PostgreSQL for so long."""
SLOW = "ConnectionTimeout"
LEG_SHARE = 0.6
"""What Elasticsearch may take of a search leg's time, so that some is left for PostgreSQL to answer in its place."""
WRITE_SECONDS = 60.0
ATTEMPTS = 5
BULK_WEIGHT = 2_000
COMMON_STATISTICS: Mapping[str, Any] = {"search_type": "dfs_query_then_fetch"}
"""For words; with `knn` it may not be said."""
BACKOFF_SECONDS = 0.2
BUSY = frozenset({429, 503})
NOT_FOUND = "index_not_found_exception"
BLOCKED = "cluster_block_exception"
"""A full disk answers 429 like overload, and trying again does not help (`search-measured.md` 9)."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Action:
    """One item of a bulk: ``source`` None deletes. ``version`` is external; an older one never wins.

    ``weight`` is how much it carries, in passages with a vector: a request holds a bounded sum.
    """

    index: str
    key: str
    version: int
    source: Mapping[str, Any] | None
    weight: int = 0


@dataclass(frozen=True)
class BulkReport:
    """``refused`` are (index, key, kind of error) of items that no repetition helps; others are done or superseded."""

    done: int
    superseded: int
    refused: Sequence[tuple[str, str, str]]


class Cluster:
    """One Elasticsearch cluster and the names that are ours in it."""

    def __init__(self, url: str, prefix: str, clock: Clock, search_seconds: float) -> None:
        self.prefix = prefix
        self._clock = clock
        self._client = Elasticsearch(url, max_retries=0, retry_on_timeout=False, request_timeout=WRITE_SECONDS)
        self._search_seconds = search_seconds
        self._searching = self._client.options(request_timeout=search_seconds)
        self._away_until = -math.inf

    def search(self, index: str, body: Mapping[str, Any], seconds: float | None = None) -> Mapping[str, Any]:
        """One search over all shards, of words with common statistics, within ``seconds`` or the time of every search.

        Raises :class:`Unavailable` at once while it is away; ``kind`` tells a time that ran out (``SLOW``) from the
        rest.
        """
        self._not_away()
        limit = self._search_seconds if seconds is None else min(seconds, self._search_seconds)
        with self._asked(brief=limit < self._search_seconds):
            found: Mapping[str, Any] = (
                self._client.options(request_timeout=limit)
                .search(
                    index=index,
                    body=dict(body),
                    **({} if "knn" in body else COMMON_STATISTICS),
                    include_named_queries_score=True,
                    allow_partial_search_results=False,
                )
                .body
            )
        return found

    def _not_away(self) -> None:
        if self._clock.monotonic() < self._away_until:
            raise Unavailable("engine.away", kind="away")

    def add(self, alias: str, key: str, source: Mapping[str, Any], seconds: float) -> None:
        """Write one new document within ``seconds``; where no index has this alias, none is made.

        Raises :class:`Unavailable`, at once while the cluster is away.
        """
        self._not_away()
        with self._asked(brief=True):
            self._client.options(request_timeout=seconds).index(
                index=alias, id=key, document=dict(source), op_type="create", require_alias=True
            )

    def tokens(self, index: str, analyser: str, words: Sequence[str]) -> list[str | None]:
        """Each word as the index writes it; None for a stop word. Words hold no blanks."""
        with self._asked():
            answer = self._searching.indices.analyze(index=index, analyzer=analyser, text=" ".join(words)).body
        found: list[str | None] = [None] * len(words)
        for token in answer["tokens"]:
            if token["position"] < len(found):
                found[token["position"]] = token["token"]
        return found

    def bulk(self, actions: Sequence[Action]) -> BulkReport:
        """Write all; items that the server is too busy for are sent again, alone.

        Raises :class:`Unavailable` when it stays busy, is away, or refuses writes: then whatever was not done may be
        sent once more, since an external version makes repetition harmless.
        """
        parts = [self._bulk_part(part) for part in _parts(actions)]
        return BulkReport(
            sum(part.done for part in parts),
            sum(part.superseded for part in parts),
            [one for part in parts for one in part.refused],
        )

    def _bulk_part(self, actions: Sequence[Action]) -> BulkReport:
        waiting = list(actions)
        refused: list[tuple[str, str, str]] = []
        done = superseded = 0
        for attempt in range(ATTEMPTS):
            if attempt:
                self._clock.sleep(BACKOFF_SECONDS * 2**attempt)
            items = self._bulk(waiting)
            if items is None:
                continue
            again = []
            for action, item in zip(waiting, items, strict=True):
                status, kind = item["status"], str((item.get("error") or {}).get("type", ""))
                if kind == BLOCKED:
                    raise Unavailable("engine.blocked", kind=kind)
                if status in BUSY:
                    again.append(action)
                elif status == 409:
                    superseded += 1
                elif status < 300 or (status == 404 and action.source is None):
                    done += 1
                else:
                    refused.append((action.index, action.key, kind))
            waiting = again
            if not waiting:
                return BulkReport(done, superseded, refused)
        raise Unavailable("engine.busy", kind="busy")

    def _bulk(self, actions: Sequence[Action]) -> Sequence[Mapping[str, Any]] | None:
        """The answer item by item; None when the whole request met a busy server."""
        operations: list[Mapping[str, Any]] = []
        for one in actions:
            verb = "delete" if one.source is None else "index"
            at = {"_index": one.index, "_id": one.key, "version": one.version, "version_type": "external_gte"}
            operations.append({verb: at})
            if one.source is not None:
                operations.append(one.source)
        try:
            with self._asked():
                answer = self._client.bulk(operations=operations).body
        except Unavailable as error:
            if error.code == "engine.busy":
                return None
            raise
        items = [next(iter(item.values())) for item in answer["items"]]
        if len(items) != len(actions):
            raise Unavailable("engine.away", kind="items")
        return items

    def refresh(self, index: str) -> None:
        """Make everything written so far visible to searches: before any decision that counts."""
        with self._asked():
            self._client.indices.refresh(index=index)

    def count(self, index: str) -> int:
        with self._asked():
            return int(self._client.count(index=index).body["count"])

    def matching(self, index: str, query: Mapping[str, Any]) -> int:
        """How many documents match; nested ones count as the document that holds them."""
        with self._asked():
            return int(self._client.count(index=index, query=dict(query)).body["count"])

    def keys(self, index: str, field: str, query: Mapping[str, Any], after: int, limit: int) -> list[int]:
        """The next values, above ``after``, of a number that every document has once; of those that match."""
        with self._asked():
            answer = self._client.search(
                index=index,
                query=dict(query),
                size=limit,
                sort=[{field: "asc"}],
                search_after=[after],
                source=False,
                track_total_hits=False,
            ).body
        return [int(hit["sort"][0]) for hit in answer["hits"]["hits"]]

    def sizes(self, pattern: str) -> Mapping[str, int]:
        """Name to bytes on disk, of the indexes that match."""
        with self._asked():
            answer = self._client.indices.stats(index=pattern, metric="store").body
        return {name: int(one["primaries"]["store"]["size_in_bytes"]) for name, one in answer["indices"].items()}

    def indexes(self, pattern: str) -> Mapping[str, Mapping[str, Any]]:
        """Name to ``aliases`` and ``mappings`` of the indexes that match; none is no error."""
        with self._asked():
            found: Mapping[str, Mapping[str, Any]] = self._client.indices.get(
                index=pattern, allow_no_indices=True, ignore_unavailable=True
            ).body
        return found

    def create(self, index: str, body: Mapping[str, Any]) -> None:
        """``body``: ``settings``, ``mappings`` and, where wanted, ``aliases`` that it gets in the same step."""
        with self._asked():
            self._client.indices.create(
                index=index, settings=body["settings"], mappings=body["mappings"], aliases=body.get("aliases")
            )

    def note(
        self, index: str, meta: Mapping[str, object], properties: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        """Replace the ``_meta`` of an index; ``properties`` are fields that it gets beside those that it has."""
        more: Any = {} if properties is None else {"properties": dict(properties)}
        with self._asked():
            self._client.indices.put_mapping(index=index, meta=dict(meta), **more)

    def swap(self, actions: Sequence[Mapping[str, Any]]) -> None:
        """Move aliases, all in one call: no search ever sees none or two."""
        with self._asked():
            self._client.indices.update_aliases(actions=list(actions))

    def drop(self, indexes: Sequence[str]) -> None:
        if indexes:
            with self._asked():
                self._client.indices.delete(index=list(indexes), ignore_unavailable=True)

    def version(self) -> str:
        """The server's version; raises :class:`Unavailable`."""
        with self._asked():
            return str(self._client.info().body["version"]["number"])

    @contextmanager
    def _asked(self, *, brief: bool = False) -> Iterator[None]:
        """Errors as ours. A time that ran out in a ``brief`` request says nothing of whether the cluster is there."""
        try:
            yield
        except ApiError as error:
            kind = _kind(error)
            log.warning("search.engine_refused", status=error.status_code, kind=kind)
            if kind == BLOCKED:
                raise Unavailable("engine.blocked", kind=kind) from None
            if error.status_code in BUSY:
                raise Unavailable("engine.busy", kind=kind) from None
            if kind == NOT_FOUND:
                raise Unavailable("engine.not_built", kind=kind) from None
            raise Unavailable("engine.refused", status=error.status_code, kind=kind) from None
        except (TransportError, UnsupportedProductError) as error:
            if not (brief and type(error).__name__ == SLOW):
                self._away_until = self._clock.monotonic() + AWAY_SECONDS
            log.warning("search.engine_away", error=type(error).__name__)
            raise Unavailable("engine.away", kind=type(error).__name__) from None
        else:
            self._away_until = -math.inf


def _parts(actions: Sequence[Action]) -> Iterator[Sequence[Action]]:
    """Requests of a bounded size: a vector of 1,536 numbers takes 15 KB, and a server takes 100 MB at once."""
    part: list[Action] = []
    weight = 0
    for one in actions:
        if part and weight + one.weight > BULK_WEIGHT:
            yield part
            part, weight = [], 0
        part.append(one)
        weight += one.weight
    if part:
        yield part


def _kind(error: ApiError) -> str:
    """The type of an error, without its words: these may hold texts."""
    body: Any = error.body
    inner = body.get("error") if isinstance(body, Mapping) else None
    return str(inner.get("type", "")) if isinstance(inner, Mapping) else ""
