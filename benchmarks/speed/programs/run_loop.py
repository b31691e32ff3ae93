"""Spawns the tasks from a plain Python loop: what is left if an engine does nothing else.

    run_loop.py WIDTH DEPTH none|commit|group

``commit`` makes each end durable by itself (SQLite, WAL, synchronous FULL) before the next task
starts; ``group`` makes all ends durable that have come in meanwhile.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys

from told import AT_ONCE, layers, shape


class Record:
    """The durable record of what has ended."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("state.db", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.execute("CREATE TABLE ended (task TEXT PRIMARY KEY, code INTEGER)")

    def add(self, ended: list[tuple[str, int]]) -> None:
        """Make some ends durable."""
        self._database.execute("BEGIN")
        self._database.executemany("INSERT INTO ended VALUES (?, ?)", ended)
        self._database.execute("COMMIT")


def wait(running: dict[int, str], *, all_of_them: bool) -> list[tuple[str, int]]:
    """Wait for one task; give also the others that have ended, if wished."""
    pid, status = os.waitpid(-1, 0)
    ended = [(running.pop(pid), status)]
    while all_of_them and running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            break
        ended.append((running.pop(pid), status))
    return ended


def run_layer(names: list[str], mode: str, record: Record | None) -> None:
    """Run tasks, several at once."""
    waiting = iter(names)
    running: dict[int, str] = {}
    left = len(names)
    while left:
        for name in waiting:
            process = subprocess.Popen(["/bin/true"])
            running[process.pid] = name
            process.returncode = 0  # We wait for it ourselves.
            if len(running) == AT_ONCE:
                break
        ended = wait(running, all_of_them=mode == "group")
        if any(status for _, status in ended):
            sys.exit("a task failed")
        if record is not None:
            record.add(ended)
        left -= len(ended)


def main() -> None:
    """Run all layers."""
    mode = sys.argv[3]
    record = None if mode == "none" else Record()
    for names in layers(*shape()):
        run_layer(names, mode, record)


if __name__ == "__main__":
    main()
