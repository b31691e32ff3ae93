"""Processes that outlive the command that starts them, and are ended by the one that started them.

A pid alone proves nothing, for it may have been given to another process since: each is kept with
the time at which it began, and only a process with both is ever signalled.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tests.cluster.rig.build import MissingError

_GRACE = 8.0
"""Seconds between SIGTERM and SIGKILL: some controllers ignore the first for long."""


class Daemons:
    """The processes of one cluster, by name; each has a pid file and a log in ``home``."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._folder = home / "pids"
        self._folder.mkdir(parents=True, exist_ok=True)
        self.logs = home / "logs"
        self.logs.mkdir(exist_ok=True)

    def start(
        self, name: str, command: Sequence[str | Path], *, env: Mapping[str, str] | None = None
    ) -> None:
        """Start a process, unless the one of this name still runs."""
        if self.is_running(name):
            return
        with (self.logs / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._home,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
        (self._folder / name).write_text(f"{process.pid} {_born(process.pid)}\n")
        # Its end is not ours to wait for: whoever looks finds a zombie or nothing.
        process.returncode = 0

    def is_running(self, name: str) -> bool:
        """Tell whether the process that was started under a name is alive."""
        return self._find(name) is not None

    def _is_gone(self, name: str) -> bool:
        return not self.is_running(name)

    def names(self) -> list[str]:
        """Give what was started and not stopped, the oldest first."""
        found = [path for path in self._folder.iterdir() if path.is_file()]
        return [path.name for path in sorted(found, key=lambda path: path.stat().st_mtime_ns)]

    def stop(self, names: Sequence[str], *, grace: float = _GRACE) -> None:
        """End processes and wait until they are gone."""
        for name in names:
            self._signal(name, signal.SIGTERM)
        end = time.monotonic() + grace
        while any(self.is_running(name) for name in names) and time.monotonic() < end:
            time.sleep(0.05)
        for name in names:
            self._signal(name, signal.SIGKILL)
        for name in names:
            wait_until(partial(self._is_gone, name), f"the end of {name}", 10)
            (self._folder / name).unlink(missing_ok=True)

    def tail(self, name: str) -> str:
        """Give the end of a log, for an error message."""
        path = self.logs / f"{name}.log"
        return path.read_text(errors="replace")[-800:] if path.exists() else ""

    def _signal(self, name: str, number: signal.Signals) -> None:
        pid = self._find(name)
        if pid is not None:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                return

    def _find(self, name: str) -> int | None:
        try:
            pid, born = (self._folder / name).read_text().split()
        except (FileNotFoundError, ValueError):
            return None
        return int(pid) if _born(int(pid)) == born else None


def _born(pid: int) -> str:
    """Give the start time of a living process, "" where there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    if fields[0] in "ZX":
        _reap(pid)
        return ""
    return fields[19]


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def wait_until(holds: Callable[[], bool], what: str, seconds: float) -> None:
    """Wait for something that no event tells of; raise MissingError if it does not come."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise MissingError(f"waited {seconds:.0f}s in vain for {what}")
        time.sleep(0.1)
