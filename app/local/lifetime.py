"""How long processes live: ended with their parent, ended in order, recognised after a crash.

A process id alone says nothing after a restart; the id with the start time does.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Recorded:
    """A process as it was when it was noted; `started` is the kernel's mark of its start, unique per id."""

    name: str
    pid: int
    started: str

    @property
    def runs(self) -> bool:
        return start_mark(self.pid) == self.started


def start_mark(pid: int) -> str | None:
    """What tells this process from a later one with the same id; None when there is none, or only its corpse."""
    if not sys.platform.startswith("linux"):
        try:
            return str(psutil.Process(pid).create_time())
        except psutil.Error:
            return None
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The second field, the name, may hold spaces and brackets: count from its end. 3 is the state, 22 the start.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


def record(folder: Path, name: str, pid: int) -> None:
    """Notes in `folder` that `pid` is the part `name`."""
    noted = Recorded(name, pid, start_mark(pid) or "")
    draft = folder / f".{name}.pid.json"
    draft.write_text(json.dumps(asdict(noted)), encoding="utf-8")
    draft.replace(folder / f"{name}.pid.json")


def recorded(folder: Path) -> list[Recorded]:
    """The noted processes that still run."""
    found = []
    for file in sorted(folder.glob("[!.]*.pid.json")):
        try:
            noted = Recorded(**json.loads(file.read_text(encoding="utf-8")))
        except (ValueError, TypeError):
            continue
        if noted.runs:
            found.append(noted)
    return found


def end_tree(pids: Iterable[int], seconds: float, stop_signal: signal.Signals = signal.SIGTERM) -> None:
    """Asks the processes to end, waits up to `seconds`, then kills them and whatever they started."""
    roots = [process for process in map(_process, pids) if process is not None]
    everyone = {process for root in roots for process in (root, *_children(root))}
    for root in roots:
        _signal(root, stop_signal)
    _, alive = psutil.wait_procs(roots, timeout=seconds)
    everyone |= {child for root in alive for child in _children(root)}
    rest = [process for process in everyone if process.is_running()]
    for process in rest:
        _signal(process, signal.SIGKILL)
    psutil.wait_procs(rest, timeout=10)


def end_process(pid: int, stop_signal: signal.Signals, seconds: float) -> bool:
    """Asks one process that is not our child to end; whether it did within `seconds`."""
    process = _process(pid)
    if process is None:
        return True
    _signal(process, stop_signal)
    _, alive = psutil.wait_procs([process], timeout=seconds)
    return not alive


def pid_with_folder(folder: Path, pid_file: Path) -> int | None:
    """The process that `pid_file` names in its first line, when it runs with `folder` as its working folder."""
    try:
        pid = int(pid_file.read_text(encoding="utf-8").split("\n", 1)[0])
        return pid if Path(psutil.Process(pid).cwd()) == folder.resolve() else None
    except (OSError, ValueError, psutil.Error):
        return None


def stop_child(child: subprocess.Popen[bytes], stop_signal: signal.Signals, seconds: float) -> None:
    """Ends a child of ours and collects it; SIGKILL when it takes longer than `seconds`."""
    if child.poll() is None:
        child.send_signal(stop_signal)
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def die_with_parent(stop_signal: signal.Signals) -> Callable[[], None] | None:
    """A `preexec_fn` with which the child gets `stop_signal` when the thread that starts it ends (Linux only)."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def ask() -> None:
        library.prctl(PR_SET_PDEATHSIG, int(stop_signal), 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    return ask


def raise_on_stop() -> None:
    """Lets the first SIGTERM, SIGHUP or SIGINT raise KeyboardInterrupt; later ones do not disturb the clean-up."""
    kinds = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

    def stop(*_: object) -> None:
        for kind in kinds:
            signal.signal(kind, signal.SIG_IGN)
        raise KeyboardInterrupt

    for kind in kinds:
        signal.signal(kind, stop)


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.Error:
        return None


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def _signal(process: psutil.Process, kind: signal.Signals) -> None:
    try:
        process.send_signal(kind)
    except psutil.Error:
        return
