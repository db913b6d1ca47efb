"""PostgreSQL from a Python wheel: initialised, started, stopped and recovered by this module.

The wheel's own Python layer is not used: it opens the permissions of the folders above the data, believes a stale
pid file and gives up after ten seconds. Its binaries are.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import IO

from app.local.account import database_account
from app.local.errors import LocalError
from app.local.home import Home
from app.local.lifetime import die_with_parent, end_process, pid_with_folder, raise_on_stop, stop_child
from app.local.postgres_binaries import binaries

DATABASE = "changeover"
ROLE = "postgres"
MAJOR_VERSION = "18"

# After a SIGKILL of the server its last children may hold the shared memory for a moment.
LEFTOVER_MEMORY = "pre-existing shared memory block"
RETRY_SECONDS = 10.0
# Recovery after a crash replays the log since the last checkpoint; minutes on a slow disk.
START_SECONDS = 300.0
STOP_SECONDS = 60.0
SMALLEST_SHARED_MEMORY = 2 * 1024**3

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "shared_buffers": "256MB",
    "max_connections": "100",
    "max_wal_size": "2GB",
    "random_page_cost": "1.1",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "jit": "off",
}
FORGETFUL_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class LocalPostgres:
    """One PostgreSQL server whose data live in `home`.

    `durable=False` trades safety after a power cut for speed (tests). In the `foreground` the server logs to our own
    output, which the supervisor writes to the same log file and rotates. Usable as a context manager. Whoever starts it
    must do so from a thread that lives as long as the server: the server stops when that thread ends.
    """

    def __init__(self, home: Path, *, durable: bool = True, foreground: bool = False) -> None:
        self._home = Home(home)
        self._account = database_account()
        self._durable = durable
        self._foreground = foreground
        self._child: subprocess.Popen[bytes] | None = None
        self._binaries: Path | None = None

    @property
    def url(self) -> str:
        """The address in SQLAlchemy's form, over the unix socket; needs no password."""
        return f"postgresql+psycopg://{ROLE}@/{DATABASE}?host={self.socket_folder}"

    @property
    def socket_folder(self) -> Path:
        return self._home.socket_folder("postgres", self._account)

    @property
    def log(self) -> Path:
        return self._home.log("postgres")

    @property
    def data(self) -> Path:
        """The data folder: in the home, or beneath /var/lib when the server's account cannot reach the home."""
        return self._folder() / "data"

    def prepare(self) -> None:
        """Makes what several processes would otherwise make at once: folders, and the binaries' copy."""
        self._binary("postgres")

    def start(self) -> None:
        """Starts the server and returns once it answers and the database exists; `data` are made when missing.

        Raises LocalError with the end of the server's log when it does not come up.
        """
        if self._child is not None:
            return
        self._end_orphan()
        self._initialise()
        try:
            self._launch()
            self._create_database()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends the server: connections are cut, data are safe. Does nothing when it does not run."""
        if self._child is None:
            return
        stop_child(self._child, signal.SIGINT, STOP_SECONDS)
        self._child = None

    def wait(self) -> int:
        """Blocks until the server ends by itself; returns its exit code."""
        if self._child is None:
            raise LocalError("PostgreSQL was not started.")
        return self._child.wait()

    def is_ready(self) -> bool:
        """Whether the server answers and the database exists."""
        return self._run("psql", *self._client_options(), "--dbname", DATABASE, "--command", "").returncode == 0

    def __enter__(self) -> "LocalPostgres":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _folder(self) -> Path:
        inside = self._home.path / "postgres"
        if inside.exists() or self._account.may("x", self._home.path):
            inside.mkdir(mode=0o700, exist_ok=True)
            self._own(inside)
            return inside
        return self._home.outside_folder("postgres", Path("/var/lib"), self._account)

    def _own(self, path: Path) -> None:
        if not self._account.is_current:
            os.chown(path, self._account.uid, self._account.gid)

    def _binary(self, name: str) -> Path:
        if self._binaries is None:
            self._binaries = binaries(self._folder(), self._account)
        return self._binaries / name

    def _run(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self._binary(name)), *arguments],
            cwd="/",
            env={"LC_ALL": "C.UTF-8", "PATH": os.defpath},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            user=self._account.child_user,
            group=self._account.child_group,
            extra_groups=self._account.child_groups,
        )

    def _client_options(self) -> tuple[str, ...]:
        return ("--host", str(self.socket_folder), "--username", ROLE, "--no-password")

    def _end_orphan(self) -> None:
        """Ends a server that an earlier, killed starter left on the same data; sets stale lock files right."""
        pid_file = self.data / "postmaster.pid"
        pid = pid_with_folder(self.data, pid_file)
        if pid is not None and not end_process(pid, signal.SIGINT, STOP_SECONDS):
            raise LocalError(f"A PostgreSQL server (process {pid}) still uses {self.data} and does not stop.")
        for stale in self.socket_folder.glob(".s.PGSQL.*"):
            stale.unlink(missing_ok=True)
        if pid_file.exists():
            # After a crash the id may belong to any process, and PostgreSQL would believe that one to be a server.
            # Our own id is its parent's, which it knows not to be one; the shared memory it checks all the same.
            lines = pid_file.read_text(encoding="utf-8").split("\n")
            pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]), encoding="utf-8")

    def _initialise(self) -> None:
        version = self.data / "PG_VERSION"
        if version.exists():
            found = version.read_text(encoding="ascii").strip()
            if found != MAJOR_VERSION:
                raise LocalError(
                    f"The data in {self.data} belong to PostgreSQL {found}; this is {MAJOR_VERSION}. "
                    "Dump them with the old version, or set CHANGEOVER_HOME to a new folder."
                )
            return
        # Made beside its place and renamed: an interrupted initdb leaves nothing that looks like data.
        draft = self._folder() / "data.new"
        shutil.rmtree(draft, ignore_errors=True)
        options = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--encoding=UTF8", "--auth=trust")
        made = self._run("initdb", *options, f"--username={ROLE}", "--no-instructions", "--pgdata", str(draft))
        if made.returncode != 0:
            raise LocalError(f"initdb failed in {draft}: {made.stderr.strip()}")
        draft.rename(self.data)

    def _launch(self) -> None:
        deadline = time.monotonic() + RETRY_SECONDS
        while True:
            offset = self.log.stat().st_size if self.log.exists() else 0
            with contextlib.nullcontext() if self._foreground else self.log.open("ab") as log:
                self._child = self._spawn(log)
            if self._comes_up(self._child):
                return
            self._child = None
            time.sleep(0.5)
            said = self._said_since(offset)
            if LEFTOVER_MEMORY not in said or time.monotonic() > deadline:
                raise LocalError(f"PostgreSQL did not start. Its log, {self.log}, ends with:\n{said[-1500:]}")

    def _spawn(self, log: IO[bytes] | None) -> subprocess.Popen[bytes]:
        lasting = {"shared_buffers": f"{buffers_mb(machine_memory())}MB"}
        settings = SETTINGS | (lasting if self._durable else FORGETFUL_SETTINGS)
        settings["unix_socket_directories"] = str(self.socket_folder)
        if not _has_shared_memory():
            settings["dynamic_shared_memory_type"] = "mmap"
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return subprocess.Popen(
            [str(self._binary("postgres")), "-D", str(self.data), *options],
            cwd="/",
            env={"LC_ALL": "C.UTF-8", "PATH": os.defpath},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGINT),
            user=self._account.child_user,
            group=self._account.child_group,
            extra_groups=self._account.child_groups,
        )

    def _comes_up(self, child: subprocess.Popen[bytes]) -> bool:
        deadline = time.monotonic() + START_SECONDS
        while child.poll() is None:
            if self._run("pg_isready", "--quiet", "--host", str(self.socket_folder)).returncode == 0:
                return True
            if time.monotonic() > deadline:
                stop_child(child, signal.SIGINT, STOP_SECONDS)
                return False
            time.sleep(0.05)
        return False

    def _said_since(self, offset: int) -> str:
        try:
            with self.log.open("rb") as log:
                log.seek(offset)
                return log.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""

    def _create_database(self) -> None:
        if self.is_ready():
            return
        made = self._run("createdb", *self._client_options(), DATABASE)
        if made.returncode != 0 and not self.is_ready():
            raise LocalError(f"The database {DATABASE} could not be created: {made.stderr.strip()}")


def machine_memory() -> int:
    """Bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def buffers_mb(memory: int) -> int:
    """Megabytes for pages in memory on a machine with so many bytes: an eighth of them, at least 256 and at most 1,024.

    Where the index of vectors and the texts do not fit together, both legs of a search push each other's pages out:
    eight hybrid searches at a time took 1.37 times as long as their legs alone, and .95 once all fitted (`make
    bench-search`, 100,000 passages).
    """
    return min(max(memory // 8 // 1024**2, 256), 1024)


def _has_shared_memory() -> bool:
    """Whether /dev/shm has room for a parallel index build; small in many containers."""
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return False
    return found.f_blocks * found.f_frsize >= SMALLEST_SHARED_MEMORY


def serve(home: Path) -> int:
    """Runs the server in the foreground until SIGTERM or SIGINT; returns the exit code for the supervisor."""
    raise_on_stop()
    try:
        with LocalPostgres(home, foreground=True) as server:
            return server.wait() or 1
    except KeyboardInterrupt:
        return 0
