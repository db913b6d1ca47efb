"""`python -m app.local up` with a console of a few lines in place of the real one."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from app.local.home import Home, is_free
from app.local.lifetime import recorded
from app.local.processes import end_leftovers

ROOT = Path(__file__).resolve().parents[3]
WSGI = """
import os, sys
import click
from flask import Flask
from flask.cli import AppGroup

app = Flask(__name__)
database, data = AppGroup("db"), AppGroup("data")

@app.get("/readyz")
def ready():
    return {"status": "ready"}

@database.command("upgrade")
def upgrade():
    import psycopg
    with psycopg.connect(os.environ["DATABASE_URL"].replace("+psycopg", "")) as connection:
        connection.execute("create table if not exists starts (at timestamptz default now())")
        connection.execute("insert into starts default values")

@data.command("demo")
def demo():
    if os.path.exists("refuse"):
        sys.exit("the demo data are broken")
    print("password", len(os.environ["CHANGEOVER_ADMIN_PASSWORD"]))

app.cli.add_command(database)
app.cli.add_command(data)
"""
SLEEP = "import time\nwhile True:\n    time.sleep(1)\n"


@pytest.fixture
def console() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="changeover-test-") as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "jobs").mkdir()
        (Path(folder) / "wsgi.py").write_text(WSGI)
        for name in ("__init__", "worker", "schedule"):
            (Path(folder) / "jobs" / f"{name}.py").write_text("" if name == "__init__" else SLEEP)
        yield Path(folder)
        home = Home(Path(folder) / "home")
        end_leftovers(home)
        home.remove()


class Started:
    """A running `up`; `said` is everything it printed."""

    def __init__(self, console: Path, **environ: str) -> None:
        self.home = Home(console / "home")
        self.output = console / "output"
        with self.output.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app.local", "up", "--directory", str(console)],
                cwd=ROOT,
                env={**os.environ, "CHANGEOVER_HOME": str(self.home.path), "EMBEDDINGS_WORKERS": "1", **environ},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        return self.output.read_text()

    def await_ready(self) -> "Started":
        until(lambda: "Stop      Ctrl-C" in self.said or self.process.poll() is not None)
        assert "Changeover is ready" in self.said, self.said
        return self

    def pid(self, name: str) -> int:
        return next(found.pid for found in recorded(self.home.path / "run") if found.name == name)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(90)


def until(condition: Callable[[], bool], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)


def free_port() -> str:
    with tempfile.TemporaryDirectory() as folder:
        return str(Home(Path(folder)).port("web"))


def test_it_serves_refuses_a_second_one_survives_a_kill_and_stops(console: Path) -> None:
    port = free_port()
    first = Started(console, PORT=port).await_ready()
    password = (first.home.path / "admin-password").read_text().strip()
    assert password in first.said
    assert urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=60).status == 200
    names = {found.name for found in recorded(first.home.path / "run")}
    assert names >= {"supervisord", "postgres", "valkey", "embeddings", "embeddings-fast", "web", "schedule"}
    assert {name for name in names if name.startswith("worker-")} == {
        "worker-embeddings-1",
        "worker-embeddings-switch",
        "worker-embeddings-index",
        "worker-default",
    }

    second = subprocess.run(
        [sys.executable, "-m", "app.local", "up"],
        cwd=ROOT,
        env={**os.environ, "CHANGEOVER_HOME": str(first.home.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert second.returncode == 1
    assert "already running" in second.stderr

    left = [psutil.Process(found.pid) for found in recorded(first.home.path / "run")]
    os.kill(first.pid("supervisord"), signal.SIGKILL)
    first.process.kill()
    first.process.wait()

    again = Started(console, PORT=port).await_ready()
    assert not [process for process in left if process.is_running()]
    assert password in again.said
    assert again.stop() == 0
    assert recorded(again.home.path / "run") == []
    assert "Stopped" in again.said


def test_a_failing_preparation_stops_everything_and_shows_its_end(console: Path) -> None:
    (console / "refuse").write_text("")
    started = Started(console, PORT=free_port())

    assert started.process.wait(90) == 1
    assert "the demo data are broken" in started.said
    assert recorded(started.home.path / "run") == []


def test_a_taken_port_is_named_with_its_variable(console: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        port = Home(Path(folder)).port("web")
    server = subprocess.Popen([sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"])
    until(lambda: not is_free("127.0.0.1", port))
    started = Started(console, PORT=str(port))

    assert started.process.wait(60) == 1
    assert f"Port {port}" in started.said
    assert "PORT" in started.said
    server.kill()
    server.wait()
