"""The embedded PostgreSQL and Valkey: started, stopped, killed, and started again with their data."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from app.local.errors import LocalError
from app.local.home import Home
from app.local.postgres import LocalPostgres
from app.local.valkey import LocalValkey


@pytest.fixture
def home() -> Iterator[Path]:
    """A home with a space in its path, which an unprivileged account can reach (pytest's own folders it cannot)."""
    with tempfile.TemporaryDirectory(prefix="changeover-test-") as folder:
        Path(folder).chmod(0o711)
        path = Path(folder) / "a home"
        yield path
        Home(path).remove()


def connect(server: LocalPostgres) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(server.url.replace("+psycopg", ""), autocommit=True)


def one(server: LocalPostgres, query: str) -> object:
    with connect(server) as connection:
        row = connection.execute(query.encode()).fetchone()
    return row and row[0]


def postmaster(server: LocalPostgres) -> psutil.Process:
    return psutil.Process(int((server.data / "postmaster.pid").read_text().split("\n", 1)[0]))


def test_postgres_keeps_its_data_over_a_stop(home: Path) -> None:
    with LocalPostgres(home) as server, connect(server) as connection:
        connection.execute("create table kept as select 7 as number")
    assert not server.is_ready()

    with LocalPostgres(home) as server:
        assert one(server, "select number from kept") == 7


def test_postgres_brings_the_extensions_that_search_uses(home: Path) -> None:
    with LocalPostgres(home, durable=False) as server, connect(server) as connection:
        for extension in ("vector", "pg_trgm", "unaccent"):
            connection.execute(f"create extension {extension}".encode())
        assert one(server, "select '[1,2]'::vector <=> '[1,2]'") == 0
        assert one(server, "select unaccent('però')") == "pero"
        assert one(server, "show server_encoding") == "UTF8"


def test_postgres_is_reached_by_its_private_socket_alone(home: Path) -> None:
    with LocalPostgres(home, durable=False) as server:
        assert one(server, "show listen_addresses") == ""
        assert server.socket_folder.stat().st_mode & 0o777 == 0o700
        assert postmaster(server).uids().real != 0


def test_postgres_starts_again_after_a_kill_of_every_process(home: Path) -> None:
    server = LocalPostgres(home)
    server.start()
    with connect(server) as connection:
        connection.execute("create table kept as select 7 as number")
    root = postmaster(server)
    for process in (root, *root.children(recursive=True)):
        process.kill()

    with LocalPostgres(home) as second:
        assert one(second, "select number from kept") == 7
    server.stop()


def test_postgres_starts_again_at_once_after_a_kill_of_its_main_process(home: Path) -> None:
    server = LocalPostgres(home)
    server.start()
    postmaster(server).kill()

    with LocalPostgres(home) as second:
        assert second.is_ready()
    server.stop()


def test_postgres_takes_over_from_a_server_that_a_killed_starter_left(home: Path) -> None:
    forgotten = LocalPostgres(home)
    forgotten.start()
    left = postmaster(forgotten)

    with LocalPostgres(home) as server:
        assert not left.is_running() or left.status() == psutil.STATUS_ZOMBIE
        assert server.is_ready()
    forgotten.stop()


def test_postgres_does_not_believe_a_stale_pid_file(home: Path) -> None:
    with LocalPostgres(home) as server:
        lines = (server.data / "postmaster.pid").read_text().split("\n")
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    (server.data / "postmaster.pid").write_text("\n".join([str(stranger.pid), *lines[1:]]))

    with server:
        assert server.is_ready()
        assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_postgres_ignores_an_interrupted_first_start(home: Path) -> None:
    server = LocalPostgres(home, durable=False)
    server.prepare()
    draft = server.data.with_name("data.new")
    draft.mkdir()
    (draft / "PG_VERSION").write_text("18")

    with server:
        assert server.is_ready()


def test_postgres_refuses_the_data_of_another_version(home: Path) -> None:
    server = LocalPostgres(home)
    server.prepare()
    server.data.mkdir()
    (server.data / "PG_VERSION").write_text("17\n")

    with pytest.raises(LocalError, match="belong to PostgreSQL 17"):
        server.start()


def test_valkey_keeps_every_write_over_a_kill(home: Path) -> None:
    server = LocalValkey(home)
    server.start()
    client = redis.from_url(server.url)
    client.set("kept", "7")
    pid = int(client.info("server")["process_id"])
    client.close()
    os.kill(pid, signal.SIGKILL)

    with LocalValkey(home) as second, redis.from_url(second.url) as client:
        assert client.get("kept") == b"7"
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert client.config_get("appendfsync") == {"appendfsync": "always"}
        assert client.config_get("port") == {"port": "0"}
    server.stop()


def test_valkey_refuses_a_second_server_on_the_same_data(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.local.valkey.LOCK_SECONDS", 0.3)
    with LocalValkey(home), pytest.raises(LocalError, match="Another Valkey"):
        LocalValkey(home).start()
