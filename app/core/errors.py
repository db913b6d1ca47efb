"""The error tree. It knows nothing of HTTP; `app/edge/errors.py` holds the one table from class to status.

::

    ChangeoverError
    ├── ConfigurationError      the process refuses to start
    ├── Invalid                 the input is wrong; `path` names the field
    │   └── PreconditionNeeded  a change that does not say which revision it was made on
    ├── Unauthenticated         nobody is signed in, or the token is no good
    ├── Forbidden               somebody is, and may not
    ├── NotFound                missing, or hidden from this actor: they look the same
    ├── Conflict                the state of things forbids it now
    │   ├── Stale               the record has moved on since it was read
    │   │   └── PreconditionFailed  the same, told by a header
    │   └── Busy                the same request still runs; come back after `retry_after` seconds
    ├── TooManyRequests         come back after `retry_after` seconds
    └── Unavailable             a part we lean on is away
        └── ModelServerFailed   the embedding server failed, refused or answered nonsense

An error carries a `code` (a key of `app/core/messages.py`) and `values` for its sentence. Values are ids, counts,
names and hashes: never texts of records, queries or keys, since errors are logged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType


class ChangeoverError(Exception):
    """Base of all errors of ours. ``str(error)`` is the English sentence.

    ``details`` are shown to who asked (members of the problem in the API) and are never logged.
    """

    details: Mapping[str, object] = MappingProxyType({})

    def __init__(self, code: str, /, *, path: str | None = None, **values: object) -> None:
        super().__init__(code)
        self.code = code
        self.path = path
        self.values = values

    def __str__(self) -> str:
        from app.core.messages import sentence

        return sentence(self.code, self.values)


class ConfigurationError(ChangeoverError):
    """The environment is wrong: ``problems`` holds one sentence per variable."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("configuration.invalid", problems="; ".join(problems))
        self.problems = tuple(problems)


class Invalid(ChangeoverError):
    """The input is wrong. ``path`` is the field (dotted), ``fields`` more than one of them."""

    def __init__(
        self, code: str, /, *, path: str | None = None, fields: Sequence[ChangeoverError] = (), **values: object
    ) -> None:
        super().__init__(code, path=path, **values)
        self.fields = tuple(fields)


class PreconditionNeeded(Invalid):
    """The change must name the revision that it was made on."""


class Unauthenticated(ChangeoverError):
    """Nobody is signed in, or the bearer token is unknown, expired or revoked."""


class Forbidden(ChangeoverError):
    """The actor is known and lacks the permission or the scope."""


class NotFound(ChangeoverError):
    """The thing is not there, or not for this actor."""


class Conflict(ChangeoverError):
    """The state of things forbids the request now; repeating it later may work."""


class Stale(Conflict):
    """The record has a later revision than the one that was edited; ``details`` hold both to compare."""


class PreconditionFailed(Stale):
    """The revision that a header demands is not the present one."""


class Busy(Conflict):
    """The same thing is being done right now. ``retry_after`` is in seconds."""

    def __init__(self, code: str, /, *, retry_after: int, path: str | None = None, **values: object) -> None:
        super().__init__(code, path=path, retry_after=retry_after, **values)
        self.retry_after = retry_after


class TooManyRequests(ChangeoverError):
    """``retry_after`` is in seconds."""

    def __init__(self, code: str, /, *, retry_after: int, path: str | None = None, **values: object) -> None:
        super().__init__(code, path=path, retry_after=retry_after, **values)
        self.retry_after = retry_after


class Unavailable(ChangeoverError):
    """A part that we lean on is away; nothing was changed."""


class ModelServerFailed(Unavailable):
    """The one failure class of the model servers' client (seed 000, "Request id").

    ``reason`` is a short class: ``unreachable``, ``timeout``, ``status``, ``too_large``, ``overloaded``,
    ``malformed``, ``count``, ``index``, ``dimensions``, ``not_finite``, ``zero``, ``norm``, ``model``, ``score``,
    ``score_count``.
    ``retry_after`` is the server's own wish in seconds, if it said one.
    """

    def __init__(
        self,
        reason: str,
        *,
        server: str,
        request_id: str,
        status: int | None = None,
        retry_after: float | None = None,
        **values: object,
    ) -> None:
        super().__init__(f"server.{reason}", path=None, server=server, request_id=request_id, status=status, **values)
        self.reason = reason
        self.server = server
        self.request_id = request_id
        self.status = status
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"[{self.request_id}] {super().__str__()}"
