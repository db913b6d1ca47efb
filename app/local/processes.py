"""`python -m app.local up`: every part of Changeover on this machine, from one command.

The data services start first; migrations and demo data follow; then the web server, the workers and the scheduler.
All of them belong to one supervisor, which ends with this process. What a killed run left behind is recognised by
process id and start time and ended before anything starts.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

from app.local.errors import LocalError
from app.local.home import Home, is_free
from app.local.lifetime import die_with_parent, end_tree, raise_on_stop, record, recorded
from app.local.parts import CHECKOUT, Part, Settings, all_parts, shared_environment
from app.local.postgres import LocalPostgres
from app.local.supervision import Supervisor
from app.local.valkey import LocalValkey

SERVICE_SECONDS = 320.0
READY_SECONDS = 120.0
# Longer than all stop times one after the other.
STOP_SECONDS = 240.0
RESTART_SECONDS = 30.0
PORT_SECONDS = 4.0
KEEPERS = ("supervisord", "postgres", "valkey")
PREPARATIONS = {
    "Preparing the database": ("flask", "--app", "wsgi", "db", "upgrade"),
    "Filling in the demo data": ("flask", "--app", "wsgi", "data", "demo"),
}

Say = Callable[[str], None]


def say(text: str) -> None:
    print(text, flush=True)


class Run:
    """One run from the first process to the last. Raises LocalError with a sentence when it cannot go on."""

    def __init__(self, settings: Settings, home: Home, tell: Say = say) -> None:
        self._settings = settings
        self._home = home
        self._tell = tell
        self._shared = shared_environment(settings, home)
        self._parts = all_parts(settings, self._shared)
        self._supervisor = Supervisor(home)

    @property
    def environment(self) -> dict[str, str]:
        """The whole environment of the parts; they find this package even when they run from another directory."""
        whole = dict(self._settings.environ) | self._shared
        if self._settings.directory != CHECKOUT:
            whole["PYTHONPATH"] = os.pathsep.join(filter(None, (str(CHECKOUT), whole.get("PYTHONPATH"))))
        return whole

    def start(self) -> None:
        """Starts everything and tells the address; returns once the console is ready or says what is missing."""
        self._home.keep("environment.json", self._shared)
        self._home.keep("run/commands.json", {part.name: shlex.join(part.command) for part in self._parts})
        self._tell(f"Starting the services; their logs are in {self._home.path / 'logs'}")
        self._supervisor.start(self._parts, self._settings.directory, self.environment)
        self._await_services()
        for title, command in PREPARATIONS.items():
            self._tell(title)
            self._prepare(title, command)
        self._tell("Starting the console")
        self._supervisor.start_application()
        missing = self._await_console()
        for line in self._greeting(missing):
            self._tell(line)

    def watch(self) -> None:
        """Returns never by itself: tries again what the supervisor gave up. Raises LocalError when that one ends."""
        while self._supervisor.runs:
            time.sleep(1)
            for name in self._supervisor.dead():
                self._tell(f"{name} does not stay up; its log is in {self._home.path / 'logs'}. Trying again.")
                time.sleep(RESTART_SECONDS)
                self._supervisor.restart(name)
        raise LocalError("The supervisor ended, and with it the console. Run the command again.")

    def stop(self) -> None:
        """Ends everything in order. A further Ctrl-C ends the workers at once; the database always ends well."""
        self._tell("Stopping; press Ctrl-C again to cut running jobs short")
        signal.signal(signal.SIGINT, lambda *_: self._cut_short())
        self._supervisor.stop(STOP_SECONDS)
        end_leftovers(self._home)
        self._tell(f"Stopped. The data stay in {self._home.path}")

    def _cut_short(self) -> None:
        for process in recorded(self._home.path / "run"):
            if process.name not in KEEPERS:
                end_tree([process.pid], 0, signal.SIGKILL)

    def _await_services(self) -> None:
        waiting = {part.name: self._probe(part) for part in self._parts if not part.late}
        deadline = time.monotonic() + SERVICE_SECONDS
        while waiting:
            waiting = {name: ready for name, ready in waiting.items() if not ready()}
            failed = self._supervisor.dead()
            if failed or time.monotonic() > deadline or not self._supervisor.runs:
                name = failed[0].rpartition(":")[2] if failed else next(iter(waiting), "supervisord")
                log = self._home.log(name)
                raise LocalError(f"{name} did not start. The log, {log}, ends with:\n{_end_of(log)}")
            if waiting:
                time.sleep(0.2)

    def _probe(self, part: Part) -> Callable[[], bool]:
        if part.kind == "postgres":
            return LocalPostgres(self._home.path).is_ready
        if part.kind == "valkey":
            return LocalValkey(self._home.path).is_ready
        address = part.health or ""
        return lambda: _answer(address)[0] == 200

    def _prepare(self, title: str, command: tuple[str, ...]) -> None:
        log = self._home.log("prepare")
        # Only here: the password is set in the database, the running parts need not know it.
        environment = self.environment | {"CHANGEOVER_ADMIN_PASSWORD": self._password()}
        with log.open("ab") as output:
            child = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=self._settings.directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGTERM),
            )
        record(self._home.path / "run", "prepare", child.pid)
        try:
            code = child.wait()
        except BaseException:
            end_tree([child.pid], 10)
            raise
        if code != 0:
            raise LocalError(f"{title} failed (`{' '.join(command)}`). The log, {log}, ends with:\n{_end_of(log)}")

    def _await_console(self) -> str | None:
        """What is missing after the longest wait; None when the console is ready."""
        deadline = time.monotonic() + READY_SECONDS
        while True:
            status, body = _answer(f"{self._settings.address}/readyz")
            if status == 200:
                return None
            if time.monotonic() > deadline or not self._supervisor.runs:
                return body or "the web server does not answer"
            time.sleep(0.3)

    def _password(self) -> str:
        return self._settings.environ.get("CHANGEOVER_ADMIN_PASSWORD") or self._home.secret("admin-password")

    def _greeting(self, missing: str | None) -> list[str]:
        given = self._settings.replaced("CHANGEOVER_ADMIN_PASSWORD")
        password = "the one in CHANGEOVER_ADMIN_PASSWORD" if given else self._password()
        state = "Changeover is ready" if missing is None else f"Changeover runs but is not ready: {missing}"
        lines = ["", state, f"  Address   {self._settings.address}", "  User      admin", f"  Password  {password}"]
        return [*lines, f"  Data      {self._home.path}", "  Stop      Ctrl-C", ""]


def end_leftovers(home: Home) -> None:
    """Ends what an earlier run left: the supervisor first, for it would start the others again; the data last.

    Raises LocalError when something stays.
    """
    folder = home.path / "run"
    for chosen, seconds in (
        (lambda name: name == "supervisord", STOP_SECONDS),
        (lambda name: name not in KEEPERS, 10.0),
        (lambda name: name in KEEPERS, 90.0),
    ):
        end_tree([process.pid for process in recorded(folder) if chosen(process.name)], seconds)
    rest = recorded(folder)
    if rest:
        raise LocalError(
            f"Process {rest[0].pid} ({rest[0].name}) of an earlier run does not end. End it and try again."
        )
    for file in folder.glob("*.pid.json"):
        file.unlink(missing_ok=True)


def up(settings: Settings) -> int:
    """Runs everything until Ctrl-C or SIGTERM; returns the exit code."""
    home = Home(settings.home)
    raise_on_stop()
    with home.locked():
        end_leftovers(home)
        _check_port(settings)
        if not settings.replaced("DATABASE_URL"):
            LocalPostgres(home.path).prepare()
        run = Run(settings, home)
        try:
            run.start()
            run.watch()
        except KeyboardInterrupt:
            return 0
        finally:
            run.stop()
    return 0


def remove(settings: Settings) -> int:
    """Deletes all data of an embedded run that does not run; returns the exit code."""
    home = Home(settings.home)
    with home.locked():
        end_leftovers(home)
        home.remove()
    say(f"Removed {home.path}")
    return 0


def _check_port(settings: Settings) -> None:
    # The web server's own children notice within a second that a SIGKILL took their parent.
    deadline = time.monotonic() + PORT_SECONDS
    while not is_free(settings.host, settings.port):
        if time.monotonic() > deadline:
            raise LocalError(
                f"Port {settings.port} on {settings.host} is in use. Stop what uses it, or set PORT to another one."
            )
        time.sleep(0.2)


def become_part(settings: Settings, name: str) -> None:
    """Replaces this process by the part `name`, after noting its id and start time for a later run."""
    home = Home(settings.home)
    command = home.kept("run/commands.json").get(name)
    if command is None:
        raise LocalError(f"There is no part named {name}.")
    record(home.path / "run", name, os.getpid())
    os.execv(sys.executable, [sys.executable, "-m", *shlex.split(command)])


def become_flask(settings: Settings, arguments: list[str], environ: Mapping[str, str]) -> None:
    """Replaces this process by `flask <arguments>` in the environment of the last start."""
    kept = Home(settings.home).kept("environment.json")
    os.execve(sys.executable, [sys.executable, "-m", "flask", "--app", "wsgi", *arguments], kept | dict(environ))


def _answer(address: str) -> tuple[int | None, str]:
    """Status and body of a GET on this machine; no status when nothing answers."""
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=10) as response:
            return response.status, ""
    except urllib.error.HTTPError as error:
        return error.code, _missing(error.read(20_000))
    except OSError:
        return None, ""


def _missing(body: bytes) -> str:
    """A readiness answer on one line."""
    try:
        return json.dumps(json.loads(body))
    except ValueError:
        return "the console answers with an error"


def _end_of(log: Path, size: int = 3000) -> str:
    try:
        return log.read_bytes()[-size:].decode("utf-8", "replace").strip()
    except OSError:
        return "(no log)"
