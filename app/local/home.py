"""The data home: the one folder that keeps everything of an embedded run.

    <home>/postgres  valkey  logs  run          data, logs, what runs now
    <home>/admin-password  secret-key           random, mode 0600
    <home>/environment.json                     the environment of the last start, mode 0600
    <home>/places.json                          remembered ports and folders outside of the home

The home can be passed through (0711) because PostgreSQL may run under another account; what is private in it has
its own mode.
"""

import fcntl
import json
import os
import secrets
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from app.local.account import Account
from app.local.errors import LocalError

# A socket's path must fit into sockaddr_un: 108 bytes on Linux, 104 elsewhere.
LONGEST_SOCKET_PATH = 100


class Home:
    """The data home at `path`, created when missing.

    Raises LocalError when the folder cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if self.path.stat().st_uid == os.geteuid():
                self.path.chmod(0o711)
            for name in ("logs", "run"):
                self.folder(name)
        except OSError as error:
            raise LocalError(
                f"The data home {self.path} cannot be used: {error.strerror}. Set CHANGEOVER_HOME to a folder of yours."
            ) from error

    def folder(self, name: str) -> Path:
        """The private folder `name` of the home (mode 0700, ours)."""
        folder = self.path / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def log(self, name: str) -> Path:
        return self.path / "logs" / f"{name}.log"

    def write_private(self, name: str, text: str) -> Path:
        """Replaces the file `name` in one step; only we may read it."""
        handle, temporary = tempfile.mkstemp(prefix=f".{Path(name).name}-", dir=(self.path / name).parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, self.path / name)
        return self.path / name

    def secret(self, name: str, length: int = 18) -> str:
        """The random text kept in the file `name` (mode 0600), made at the first call; `length` in bytes."""
        file = self.path / name
        if not file.exists():
            self.write_private(name, secrets.token_urlsafe(length) + "\n")
        return file.read_text(encoding="utf-8").strip()

    def port(self, name: str) -> int:
        """A free port on 127.0.0.1 for the part `name`; the one of the last start when it is still free."""
        remembered = self._places().get(f"port:{name}")
        if remembered is not None and is_free("127.0.0.1", int(remembered)):
            return int(remembered)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        self._remember(f"port:{name}", str(port))
        return port

    def socket_folder(self, name: str, account: Account) -> Path:
        """A folder with a short path for unix sockets, 0700 and owned by `account`; the same at each start.

        Its name is random: a predictable one in a shared folder could be taken by somebody else first.
        """
        remembered = self._places().get(f"sockets:{name}")
        if remembered is not None and _is_private(Path(remembered), account.uid):
            return Path(remembered)
        folder = private_folder(Path(tempfile.gettempdir()), account)
        if len(os.fsencode(folder)) > LONGEST_SOCKET_PATH - len("/.s.PGSQL.5432"):
            folder.rmdir()
            folder = private_folder(Path("/tmp"), account)
        self._remember(f"sockets:{name}", str(folder))
        return folder

    def outside_folder(self, name: str, parent: Path, account: Account) -> Path:
        """A folder of `account` beneath `parent`, for what cannot live in the home; the same at each start.

        Its name is random and known to this home alone: an emptied home starts with empty data.
        """
        remembered = self._places().get(f"outside:{name}")
        if remembered is not None and _is_private(Path(remembered), account.uid):
            return Path(remembered)
        folder = private_folder(parent, account)
        self._remember(f"outside:{name}", str(folder))
        return folder

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the home for this process; raises LocalError when another one has it. Ends with the process."""
        with (self.path / "run" / "lock").open("a+", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.seek(0)
                raise LocalError(
                    f"Changeover is already running from {self.path} (process {file.read().strip()}). "
                    "Stop that one with Ctrl-C, or set CHANGEOVER_HOME to another folder."
                ) from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield

    def keep(self, name: str, values: Mapping[str, str]) -> None:
        """Keeps `values` in the private file `name`."""
        self.write_private(name, json.dumps(values, indent=2))

    def kept(self, name: str) -> dict[str, str]:
        """What `keep` kept under `name`; empty before the first time."""
        file = self.path / name
        if not file.exists():
            return {}
        return {str(key): str(value) for key, value in json.loads(file.read_text(encoding="utf-8")).items()}

    def remove(self) -> None:
        """Deletes the home and what it keeps elsewhere. Nothing of it may be running."""
        for key, value in self._places().items():
            if not key.startswith("port:"):
                shutil.rmtree(value, ignore_errors=True)
        shutil.rmtree(self.path, ignore_errors=True)

    def _places(self) -> dict[str, str]:
        return self.kept("places.json")

    def _remember(self, key: str, value: str) -> None:
        self.keep("places.json", self._places() | {key: value})


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen on `host`:`port` now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        # Connections of an earlier server that are still closing do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def private_folder(parent: Path, account: Account) -> Path:
    """A new folder beneath `parent` with a random name, mode 0700, owned by `account`."""
    folder = Path(tempfile.mkdtemp(prefix="changeover-", dir=parent))
    if not account.is_current:
        os.chown(folder, account.uid, account.gid)
    return folder


def _is_private(folder: Path, uid: int) -> bool:
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == uid and stat.S_IMODE(found.st_mode) == 0o700
