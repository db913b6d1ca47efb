"""The supervisor of an embedded run: its configuration, its process, and questions to it over its unix socket."""

import http.client
import os
import shlex
import signal
import socket
import subprocess
import sys
import xmlrpc.client
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from app.local.account import current_account
from app.local.errors import LocalError
from app.local.home import Home
from app.local.lifetime import die_with_parent, record, stop_child
from app.local.parts import Part

# Parts stop in the reverse order; those of one group stop together.
FIRST = {"postgres": 10, "valkey": 20, "embeddings": 30}
APPLICATION = "application"
DEAD_STATES = ("FATAL", "UNKNOWN")


class Supervisor:
    """One supervisord for the parts of `home`; usable as a context manager around `start`."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._child: subprocess.Popen[bytes] | None = None
        folder = home.socket_folder("supervisor", current_account())
        self._socket = folder / "supervisor.sock"

    def start(self, parts: list[Part], directory: Path, environment: Mapping[str, str]) -> None:
        """Starts supervisord, which starts the early parts. It ends with this process, however that ends."""
        configuration = self._home.write_private("run/supervisord.conf", self._configuration(parts, directory))
        command = [sys.executable, "-m", "supervisor.supervisord", "--nodaemon", "-c", str(configuration)]
        self._child = subprocess.Popen(
            command,
            cwd=directory,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._home.log("supervisord").open("ab"),
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGTERM),
        )
        record(self._home.path / "run", "supervisord", self._child.pid)

    def start_application(self) -> None:
        self._call("startProcessGroup", APPLICATION, False)

    def restart(self, name: str) -> None:
        self._call("startProcess", name, False)

    def dead(self) -> list[str]:
        """The parts ("group:name") that the supervisor has given up. Empty while it does not answer yet."""
        try:
            answer = cast("list[dict[str, Any]]", self._call("getAllProcessInfo"))
        except (OSError, http.client.HTTPException):
            return []
        return [f"{part['group']}:{part['name']}" for part in answer if part["statename"] in DEAD_STATES]

    @property
    def runs(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def stop(self, seconds: float) -> None:
        """Stops all parts in order, then the supervisor."""
        if self._child is not None:
            stop_child(self._child, signal.SIGTERM, seconds)

    def _call(self, method: str, *arguments: object) -> object:
        proxy = xmlrpc.client.ServerProxy("http://localhost/RPC2", transport=_UnixTransport(self._socket))
        try:
            return getattr(proxy.supervisor, method)(*arguments)
        except xmlrpc.client.Fault as fault:
            raise LocalError(f"The supervisor refused {method}: {fault.faultString}") from fault

    def _configuration(self, parts: list[Part], directory: Path) -> str:
        logs = self._home.path / "logs"
        lines = [
            "[supervisord]",
            f"logfile={_escaped(logs / 'supervisord.log')}",
            "logfile_maxbytes=5MB",
            "logfile_backups=1",
            f"pidfile={_escaped(self._home.path / 'run' / 'supervisord.pid')}",
            f"childlogdir={_escaped(logs)}",
            "silent=true",
            *(["user=root"] if os.geteuid() == 0 else []),
            "",
            "[unix_http_server]",
            f"file={_escaped(self._socket)}",
            "chmod=0700",
            "",
            "[rpcinterface:supervisor]",
            "supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface",
            "",
            f"[group:{APPLICATION}]",
            f"programs={','.join(part.name for part in parts if part.late)}",
            "priority=90",
        ]
        for part in parts:
            lines += ["", *self._program(part, directory)]
        return "\n".join(lines) + "\n"

    def _program(self, part: Part, directory: Path) -> Iterable[str]:
        return (
            f"[program:{part.name}]",
            f"command={_escaped(shlex.join([sys.executable, '-m', 'app.local', 'part', part.name]))}",
            f"directory={_escaped(directory)}",
            f"priority={FIRST.get(part.kind, 90)}",
            f"autostart={'false' if part.late else 'true'}",
            "autorestart=true",
            "startsecs=2",
            f"startretries={20 if part.late else 3}",
            "stopsignal=TERM",
            f"stopwaitsecs={part.stop_seconds}",
            "killasgroup=true",
            "redirect_stderr=true",
            f"stdout_logfile={_escaped(self._home.log(part.name))}",
            "stdout_logfile_maxbytes=10MB",
            "stdout_logfile_backups=3",
        )


def _escaped(value: object) -> str:
    """The value for the configuration, where % introduces an expansion and " ;" or " #" a comment."""
    text = str(value)
    if any(mark in text for mark in (" ;", " #", "\n")):
        raise LocalError(f"The path {text!r} cannot be used: it has a space before ; or #.")
    return text.replace("%", "%%")


class _UnixTransport(xmlrpc.client.Transport):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def make_connection(self, host: object) -> http.client.HTTPConnection:
        return _UnixConnection(self._path)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=30)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))
