"""A data directory, the servers that come and go over it, and a look at what they leave behind.

Everything is done as people do it: real processes of the real command. Ends only what it started:
its servers by their handles, its executor by the data directory on its command line, tasks by the
attempt ids in their environment.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from tiphys.control.door import knock
from tiphys.control.server import pack_files

PATIENCE = 120.0
BOUNDED = ("sh", "-c", 'ulimit -v 4000000; exec "$@"', "sh")
"""Runs a command that may not take all of the machine's memory."""
READY = "tiphys server: ready"
FULL = os.environ.get("TIPHYS_CHAOS", "") == "full"
"""Whether ``make chaos`` runs, and not ``make test``."""


def seed_of_run() -> int:
    """Give the seed: the one of TIPHYS_CHAOS_SEED, else a new one."""
    given = os.environ.get("TIPHYS_CHAOS_SEED", "")
    return int(given) if given else int.from_bytes(os.urandom(4), "big")


def wait_until(true: Callable[[], bool], what: str, seconds: float = PATIENCE) -> float:
    """Look again and again; give how long it took. For things that send no event."""
    begun = time.monotonic()
    while not true():
        assert time.monotonic() - begun < seconds, f"{what} did not come within {seconds} s"
        time.sleep(0.01)
    return time.monotonic() - begun


class Served:
    """One server process, and what it says."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], cwd: Path) -> None:
        self.begun = time.monotonic()
        self.ready_after: float | None = None
        self.lines: list[str] = []
        self._news = threading.Event()
        self.process = subprocess.Popen(
            command,
            env=dict(environment),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))
            if READY in line:
                self.ready_after = time.monotonic() - self.begun
                self._news.set()
        self._news.set()

    @property
    def said(self) -> str:
        """Everything that it wrote so far."""
        return "\n".join(self.lines)

    def wait_ready(self) -> float:
        """Wait until it is up; give how long that took."""
        assert self._news.wait(PATIENCE), f"the server is not ready: {self.said}"
        assert self.ready_after is not None, f"the server ended before it was ready: {self.said}"
        return self.ready_after

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        self.end(signal.SIGKILL)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the end."""
        with suppress(ProcessLookupError):
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        if self.process.stderr is not None:
            self.process.stderr.close()
        return code


class Helm:
    """A data directory with settings of its own."""

    def __init__(
        self, folder: Path, *, isolation: str = "process", data: Path | None = None
    ) -> None:
        self.folder = folder
        self.data = data or folder / "data"
        config = {"isolation": isolation, "lingerSeconds": 0.5, "allowHostPath": True}
        path = folder / "tiphys.yaml"
        path.write_text(json.dumps(config))
        self.environment = {
            **os.environ,
            "HOME": str(folder),
            "TIPHYS_DATA_DIR": str(self.data),
            "TIPHYS_CONFIG": str(path),
            "TIPHYS_PORT": "0",
        }
        self.servers: list[Served] = []

    def __enter__(self) -> Helm:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    # --- servers --------------------------------------------------------------------------

    def serve(self, *before: str) -> Served:
        """Start a server, behind the words of another command if any; do not wait for it."""
        served = Served([*before, *_tiphys("server")], self.environment, self.folder)
        self.servers.append(served)
        return served

    def up(self) -> Served:
        """Start a server and wait until it is ready."""
        served = self.serve()
        served.wait_ready()
        return served

    def close(self) -> None:
        """End everything that is ours."""
        for served in self.servers:
            served.kill()
        for pid in (*self.executors(), *self.tasks()):
            self.kill(pid)
        wait_until(lambda: not self.executors() and not self.tasks(), "the end of all processes")

    @staticmethod
    def kill(pid: int) -> None:
        """SIGKILL a process of ours."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    # --- commands -------------------------------------------------------------------------

    def __call__(
        self, *words: str, patience: float = PATIENCE * 10
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*BOUNDED, *_tiphys(*words)],
            capture_output=True,
            text=True,
            errors="replace",
            env=self.environment,
            cwd=self.folder,
            timeout=patience,
            check=False,
        )

    def write(self, workflow: Mapping[str, Any]) -> str:
        """Write a workflow to a file; give its path."""
        path = self.folder / f"{workflow['metadata']['name']}.json"
        path.write_text(json.dumps(workflow))
        return str(path)

    def submit(self, workflow: Mapping[str, Any]) -> str:
        """Submit a workflow; give its name."""
        done = self("submit", self.write(workflow))
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def result(self, name: str) -> dict[str, Any]:
        """Give a workflow with its status."""
        done = self("get", name, "-o", "json")
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = msgspec.json.decode(done.stdout)
        return found

    def pods(self, name: str) -> list[dict[str, Any]]:
        """Give the nodes of a workflow that run something."""
        nodes = self.result(name)["status"]["nodes"].values()
        return [node for node in nodes if node["type"] == "Pod"]

    def phases(self, name: str) -> set[str]:
        """Give the phases that nodes of a workflow are in."""
        return {node["phase"] for node in self.result(name)["status"]["nodes"].values()}

    def ask(self, op: str, **arguments: Any) -> Any:
        """Ask the server that is up, without the time that a command takes to start."""
        caller = knock(self.data)
        assert caller is not None, "no server is up"
        try:
            return caller.ask(op, **arguments)
        finally:
            caller.close()

    def hand_in(self, workflow: Mapping[str, Any]) -> None:
        """Submit a workflow to the server that is up."""
        files = pack_files([("flow.json", json.dumps(workflow).encode())])
        self.ask("submit", files=files)

    # --- what is there --------------------------------------------------------------------

    def query(self, text: str) -> list[Any]:
        """Ask the database itself."""
        with sqlite3.connect(f"file:{self.data / 'tiphys.db'}?mode=ro", uri=True) as connection:
            rows = connection.execute(text).fetchall()
        connection.close()
        return rows

    def integrity(self) -> str:
        """Have the database checked by SQLite."""
        return str(self.query("PRAGMA integrity_check")[0][0])

    def executors(self) -> list[int]:
        """Give the executors of this data directory."""
        wanted = [b"tiphys.executor", os.fsencode(self.data.resolve())]
        return [pid for pid in _pids() if _has_words(pid, wanted)]

    def tasks(self) -> list[int]:
        """Give the processes of this data directory's attempts."""
        try:
            uids = {row[0] for row in self.query("SELECT uid FROM workflows")}
        except sqlite3.Error:
            return []
        return [pid for pid in _pids() if _uid_of(pid) in uids]


def _tiphys(*words: str) -> list[str]:
    return [sys.executable, "-m", "tiphys", *words]


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _has_words(pid: int, words: Sequence[bytes]) -> bool:
    try:
        found = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return all(word in found for word in words)


def _uid_of(pid: int) -> str | None:
    """Give the workflow whose attempt a process belongs to."""
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    for pair in environ.split(b"\0"):
        if pair.startswith(b"TIPHYS_ATTEMPT_ID="):
            return pair.partition(b"=")[2].decode().partition(".")[0]
    return None
