"""Where tasks leave notes for a test, and read what it has left for them: files, or TCP for pods.

Both give shell commands for the tasks' side, so that one scenario serves a process of this machine
and a pod of a cluster.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Protocol


class Slate(Protocol):
    """Notes by their names, each counted."""

    @property
    def pause(self) -> float:
        """Give how many seconds a task may wait between two looks."""

    def note(self, name: str) -> str:
        """Give the command that leaves a note."""

    def holds(self, name: str, least: int = 1) -> str:
        """Give the command that succeeds once there are so many notes."""

    def add(self, name: str) -> None:
        """Leave a note as the test."""

    def count(self, name: str) -> int:
        """Count notes as the test."""


class FileSlate:
    """Notes are lines of files: for tasks that share this machine's folders."""

    pause = 0.05

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, name: str) -> str:
        """Give the command that leaves a note."""
        return f"echo note >> {self._folder / name}"

    def holds(self, name: str, least: int = 1) -> str:
        """Give the command that succeeds once there are so many notes."""
        return f'[ "$(cat {self._folder / name} 2>/dev/null | wc -l)" -ge {least} ]'

    def add(self, name: str) -> None:
        """Leave a note as the test."""
        with (self._folder / name).open("a") as file:
            file.write("note\n")

    def count(self, name: str) -> int:
        """Count notes as the test."""
        file = self._folder / name
        return len(file.read_text().splitlines()) if file.exists() else 0


class WireSlate:
    """Notes are lines over TCP: for pods, which reach nothing of this machine but its address."""

    pause = 0.2

    def __init__(self, host: str, port: int, counts: Counter[str], prefix: str = "") -> None:
        self._host, self._port, self._counts, self._prefix = host, port, counts, prefix

    def of(self, prefix: str) -> WireSlate:
        """Give one with names of its own."""
        return WireSlate(self._host, self._port, self._counts, f"{prefix}-")

    def note(self, name: str) -> str:
        """Give the command that leaves a note."""
        return self._asked(f"{self._prefix}{name}")

    def holds(self, name: str, least: int = 1) -> str:
        """Give the command that succeeds once there are so many notes."""
        return self._asked(f"{self._prefix}{name} {least}")

    def _asked(self, line: str) -> str:
        return f'[ "$(echo {line} | nc {self._host} {self._port})" = yes ]'

    def add(self, name: str) -> None:
        """Leave a note as the test."""
        self._counts[f"{self._prefix}{name}"] += 1

    def count(self, name: str) -> int:
        """Count notes as the test."""
        return self._counts[f"{self._prefix}{name}"]


class _Asked(StreamRequestHandler):
    """``NAME`` leaves a note; ``NAME LEAST`` asks whether there are so many."""

    def handle(self) -> None:
        assert isinstance(self.server, _Server)
        name, *least = self.rfile.readline().decode().split()
        with self.server.lock:
            if not least:
                self.server.counts[name] += 1
            found = not least or self.server.counts[name] >= int(least[0])
        self.wfile.write(b"yes\n" if found else b"no\n")


class _Server(ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, host: str) -> None:
        super().__init__((host, 0), _Asked)
        self.lock, self.counts = threading.Lock(), Counter[str]()


@contextmanager
def wire_slate(host: str) -> Iterator[WireSlate]:
    """Take notes at an address of this machine for a while."""
    with _Server(host) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield WireSlate(host, server.server_address[1], server.counts)
        finally:
            server.shutdown()
            thread.join()
