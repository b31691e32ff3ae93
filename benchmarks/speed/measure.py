"""What a command takes: wall-clock time, CPU seconds and memory of all its processes.

Each command runs below a watcher of its own: this file, started as a program. The watcher is the
subreaper of what it starts, so processes that go into the background are counted like others: it
ends only when all of them have, and the kernel adds their CPU time up. Memory is the sum of the
resident sizes of the tree, looked at often; pages that processes share count in each of them.

A command may write a JSON object of numbers to the file that BENCH_REPORT names: ``seconds`` is the
time of the work without any start-up, ``server`` what went into the start and the end of servers.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PAGE = os.sysconf("SC_PAGE_SIZE")
LINGER = 15.0
"""Seconds that background processes may go on after the command has ended."""
PAUSES = (0.002, 0.05)
"""Seconds between two looks at the memory: of the first ones, and at most."""


class FailedError(Exception):
    """The command did not do its work, or not in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is to be run."""

    words: tuple[str, ...]
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What one run took."""

    seconds: float
    """Wall-clock time of the whole command."""
    cpu: float
    """User and system seconds of all processes, the tasks too."""
    memory: float
    """Most resident bytes at one time."""
    told: dict[str, float] = field(default_factory=dict)
    """What the command itself has found out."""

    @property
    def served(self) -> float:
        """Wall-clock time without the start and the end of servers."""
        return self.seconds - self.told.get("server", 0.0)

    @property
    def work(self) -> float | None:
        """Wall-clock time without start-up, where the command can tell."""
        return self.told.get("seconds")


def measure(command: Command, limit: float) -> Measurement:
    """Run a command to its end; raise FailedError where it fails or takes longer than ``limit``."""
    with tempfile.TemporaryDirectory() as folder:
        report, result = Path(folder) / "report", Path(folder) / "result"
        environment = {**os.environ, **command.environment, "BENCH_REPORT": str(report)}
        words = [sys.executable, "-S", __file__, str(limit), str(result), *command.words]
        said = _call(words, command.folder, environment)
        nothing: dict[str, Any] = {"why": "no result"}
        found = json.loads(result.read_text()) if result.exists() else nothing
        if why := found.get("why"):
            raise FailedError(f"{why}: {said}" if said else why)
        told = json.loads(report.read_text()) if report.exists() else {}
        return Measurement(
            seconds=found["seconds"],
            cpu=found["cpu"],
            memory=found["memory"],
            told=told,
        )


def _call(words: list[str], folder: Path, environment: dict[str, str]) -> str:
    """Run the watcher; give the end of what was said below it."""
    watcher = subprocess.Popen(
        words,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        said, _ = watcher.communicate()
    except BaseException:
        # It ends what it has started before it ends itself.
        watcher.terminate()
        watcher.wait()
        raise
    return said.decode(errors="replace").strip()[-600:]


# --- the watcher ------------------------------------------------------------------------------


def watch(limit: float, words: list[str]) -> dict[str, object]:
    """Run a command, wait for all of its processes, and give what they took."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    control = ctypes.CDLL(None).prctl
    control(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if control(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        return {"why": "this system has no subreapers"}
    memory = Memory(os.getpid())
    begun = time.perf_counter()
    # In a group of its own: what it starts can be ended without hitting anything else.
    command = subprocess.Popen(words, start_new_session=True)
    memory.start()
    try:
        ended = ends_within(command.pid, limit)
    finally:
        seconds = time.perf_counter() - begun
        memory.stop()
        reap(LINGER if command.poll() is not None else 0)
    if not ended:
        return {"why": f"not done after {limit:g} s"}
    if command.returncode:
        return {"why": f"exit code {command.returncode}"}
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "memory": memory.most}


def ends_within(pid: int, seconds: float) -> bool:
    """Wait for a child's end; ``subprocess`` would look only every 50 ms where there is a limit."""
    process = os.pidfd_open(pid)
    try:
        return bool(select.select([process], [], [], seconds)[0])
    finally:
        os.close(process)


class Memory:
    """Looks at the memory of all processes below one, from a thread of its own."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.most = 0

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        pause, longest = PAUSES
        while True:
            self.most = max(self.most, sum(map(_resident, below(self._root))))
            if self._ended.wait(pause):
                return
            pause = min(longest, pause * 1.2)


def below(pid: int) -> list[int]:
    """Give all processes below one, children first."""
    found = []
    waiting = [pid]
    while waiting:
        children = _children(waiting.pop())
        found += children
        waiting += children
    return found


def _children(pid: int) -> list[int]:
    """Give the children of a process; they belong to the thread that started them."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                text = Path(f"/proc/{pid}/task/{thread}/children").read_text()
                found += map(int, text.split())
    return found


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def reap(patience: float) -> None:
    """Wait for all children; after ``patience`` seconds end those that are left."""
    end = time.monotonic() + patience
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid:
            continue
        if time.monotonic() > end:
            for child in below(os.getpid()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
        time.sleep(0.01)


def main(arguments: list[str]) -> int:
    """Watch one command and write what it took."""
    limit, result, *words = arguments
    found = watch(float(limit), words)
    Path(result).write_text(json.dumps(found))
    return 1 if "why" in found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
