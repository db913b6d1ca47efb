"""Configuration: read once from the environment, checked at once, never read anywhere else.

Every variable is a field below. A missing or malformed one stops the process with a sentence that names it;
a variable that carries one of our prefixes but is none of ours (a misspelling) does the same.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from app.core.errors import ConfigurationError

PREFIXES = ("CHANGEOVER_", "AI_EMBEDDINGS_", "AI_RERANK_", "ELASTICSEARCH_", "EMBEDDINGS_", "WEB_", "HOST_")


class ServerSettings(BaseModel):
    """One model server. ``url`` is the base without ``/v1``; ``timeout`` in seconds; ``batch_size`` in texts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    key: SecretStr | None = None
    timeout: float = Field(default=30.0, gt=0)
    batch_size: int = Field(default=32, ge=1, le=2048)
    slots: int = Field(default=1, ge=1, le=64)

    @field_validator("url")
    @classmethod
    def _http(cls, value: str) -> str:
        if not value.startswith(("http://", "https://")):
            raise ValueError("must start with http:// or https://")
        return value.rstrip("/")


class RerankSettings(BaseModel):
    """The cross-encoder, its API and its model's name (the Cohere-style API demands one)."""

    model_config = ConfigDict(frozen=True)

    server: ServerSettings
    api: Literal["tei", "cohere"]
    model: str | None = None


class Config(BaseModel):
    """All of the process's configuration. Field names are the variables in lower case."""

    model_config = ConfigDict(frozen=True)

    database_url: str
    redis_url: str
    secret_key: SecretStr = Field(min_length=16)
    changeover_previous_secret_keys: SecretStr | None = None
    changeover_env: Literal["production", "development", "test"] = "production"
    changeover_home: Path = Path(".local")
    changeover_log_level: Literal["debug", "info", "warning", "error"] = "info"
    changeover_admin_password: SecretStr | None = None
    changeover_secure_cookies: bool = False
    changeover_crash_at: str | None = None
    changeover_rate_limit: int = Field(default=600, ge=0, le=1_000_000)
    changeover_rate_limit_costly: int = Field(default=120, ge=0, le=1_000_000)
    changeover_rate_limit_anonymous: int = Field(default=120, ge=0, le=1_000_000)
    changeover_docs_root: Path = Path("docs/handbook")
    changeover_docs_extra_roots: str | None = None

    rag_eval_git_sha: str | None = None
    github_sha: str | None = None
    ci_commit_sha: str | None = None
    buildkite_commit: str | None = None

    elasticsearch_url: str | None = None
    elasticsearch_prefix: str = Field(default="changeover", pattern=r"^[a-z][a-z0-9_]{0,40}$")
    elasticsearch_timeout: float = Field(default=1.0, gt=0, le=60)

    ai_embeddings_url: str | None = None
    ai_embeddings_key: SecretStr | None = None
    ai_embeddings_timeout: float = Field(default=30.0, gt=0)
    ai_embeddings_batch_size: int = Field(default=32, ge=1, le=2048)
    ai_embeddings_slots: int = Field(default=1, ge=1, le=64)
    ai_embeddings_servers: dict[str, ServerSettings] = Field(default_factory=dict)
    ai_embeddings_profiles: Path | None = None
    ai_embeddings_initial: str | None = None
    ai_embeddings_index_chunk_size: int = 250
    ai_embeddings_rag_chunk_size: int = 20
    ai_embeddings_index_memory_mb: int = Field(default=512, ge=16, le=16384)
    ai_embeddings_give_up_seconds: int = Field(default=900, ge=1)
    ai_embeddings_interrupted_seconds: int = Field(default=1800, ge=1)
    embeddings_workers: int = Field(default=2, ge=1, le=64)

    ai_rerank_url: str | None = None
    ai_rerank_key: SecretStr | None = None
    ai_rerank_api: Literal["tei", "cohere"] = "tei"
    ai_rerank_model: str | None = None
    ai_rerank_timeout: float = Field(default=10.0, gt=0)
    ai_rerank_batch_size: int = Field(default=32, ge=1, le=2048)

    @field_validator("database_url")
    @classmethod
    def _psycopg(cls, value: str) -> str:
        for bare in ("postgresql://", "postgres://"):
            if value.startswith(bare):
                return "postgresql+psycopg://" + value.removeprefix(bare)
        if not value.startswith("postgresql+psycopg://"):
            raise ValueError("must be a PostgreSQL address such as postgresql://user:password@host/name")
        return value

    @field_validator("redis_url")
    @classmethod
    def _redis(cls, value: str) -> str:
        if not value.startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("must start with redis://, rediss:// or unix://")
        return value

    @field_validator("ai_embeddings_index_chunk_size", mode="before")
    @classmethod
    def _index_chunk(cls, value: object) -> int:
        return _clamped(value, default=250, top=2000)

    @field_validator("ai_embeddings_rag_chunk_size", mode="before")
    @classmethod
    def _rag_chunk(cls, value: object) -> int:
        return _clamped(value, default=20, top=200)

    @property
    def secret_keys(self) -> list[str]:
        """The present secret, and those before it, of which traces may be left in the database."""
        before = self.changeover_previous_secret_keys
        earlier = before.get_secret_value().split(",") if before else []
        return [self.secret_key.get_secret_value(), *(key.strip() for key in earlier if key.strip())]

    @property
    def docs_extra_roots(self) -> list[Path]:
        """Further folders of documentation, separated by commas, semicolons or line ends."""
        parts = (self.changeover_docs_extra_roots or "").replace(";", ",").replace("\n", ",").split(",")
        return [Path(part.strip()) for part in parts if part.strip()]

    @property
    def commits(self) -> tuple[str | None, ...]:
        """What the build says it builds, in the order in which it is believed; nobody checks that it is a commit."""
        return self.rag_eval_git_sha, self.github_sha, self.ci_commit_sha, self.buildkite_commit

    @property
    def servers(self) -> dict[str, ServerSettings]:
        """Every declared model server by name; ``embeddings`` is the one of ``AI_EMBEDDINGS_URL``."""
        named = dict(self.ai_embeddings_servers)
        if self.ai_embeddings_url:
            named["embeddings"] = ServerSettings(
                url=self.ai_embeddings_url,
                key=self.ai_embeddings_key,
                timeout=self.ai_embeddings_timeout,
                batch_size=self.ai_embeddings_batch_size,
                slots=self.ai_embeddings_slots,
            )
        return named

    @property
    def rerank(self) -> RerankSettings | None:
        """The cross-encoder of ``AI_RERANK_URL``, None without one."""
        if not self.ai_rerank_url:
            return None
        server = ServerSettings(
            url=self.ai_rerank_url,
            key=self.ai_rerank_key,
            timeout=self.ai_rerank_timeout,
            batch_size=self.ai_rerank_batch_size,
        )
        return RerankSettings(server=server, api=self.ai_rerank_api, model=self.ai_rerank_model)


def _clamped(value: object, *, default: int, top: int) -> int:
    """The seed's rule for chunk sizes (`seed-facts.md` 2.8): no number or below 1 is the default, above is capped."""
    try:
        number = int(str(value))
    except ValueError:
        return default
    return default if number < 1 else min(number, top)


def read_config(environ: Mapping[str, str] | None = None) -> Config:
    """Read and check the whole configuration.

    Raises :class:`ConfigurationError` naming the variables that are missing, malformed or misspelt.
    """
    source = os.environ if environ is None else environ
    known = {name.upper() for name in Config.model_fields}
    problems = [_misspelt(name, known) for name in sorted(source) if name.startswith(PREFIXES) and name not in known]
    values: dict[str, object] = {name.lower(): source[name] for name in known if source.get(name, "") != ""}
    if "ai_embeddings_servers" in values:
        values["ai_embeddings_servers"] = _servers(str(values["ai_embeddings_servers"]), problems)
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        problems += [_problem(str(item["loc"][0]), item["type"], item["msg"]) for item in error.errors()]
        raise ConfigurationError(problems) from None
    if config.changeover_crash_at and config.changeover_env == "production":
        problems.append("CHANGEOVER_CRASH_AT is refused when CHANGEOVER_ENV is production")
    if config.ai_rerank_url and config.ai_rerank_api == "cohere" and not config.ai_rerank_model:
        problems.append("AI_RERANK_MODEL is missing; AI_RERANK_API=cohere names a model with each request")
    if problems:
        raise ConfigurationError(problems)
    return config


def _servers(text: str, problems: list[str]) -> dict[str, object]:
    import json

    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        problems.append(
            'AI_EMBEDDINGS_SERVERS must be a JSON object such as {"fast": {"url": "http://127.0.0.1:8081"}}'
        )
        return {}
    return value


def _misspelt(name: str, known: set[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"{name} is not a variable of Changeover" + (f"; did you mean {close[0]}?" if close else "")


def _problem(field: str, kind: str, message: str) -> str:
    name = field.upper()
    if kind == "missing":
        return f"{name} is missing; set it in the environment"
    return f"{name}: {message.removeprefix('Value error, ')}"
