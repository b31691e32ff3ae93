"""Looks at what running attempts write: marks when logs grew, caps them, reads progress.

Log files are written by the tasks themselves. This notes (offset, time) pairs beside them so that a
reader can tell when a line was written, and frees the oldest part of a log past its cap.
"""

from __future__ import annotations

import os
import re
import struct
from contextlib import suppress

from tiphys.executor import linux
from tiphys.executor.clock import now
from tiphys.executor.protocol import VIEW, Attempt, ContainerRun
from tiphys.executor.spawn import log_path

MARK = struct.Struct("<Qd")
"""Offset up to which the stream had grown, and when that was seen."""
STREAMS = ("stdout", "stderr")
_PROGRESS = re.compile(r"\d{1,9}/\d{1,9}")


class _Stream:
    __slots__ = ("_marked", "cap", "marks", "path", "punched", "size")

    def __init__(self, folder: str, container: str, stream: str, cap: int) -> None:
        self.path = log_path(folder, container, stream)
        self.marks = f"{self.path}.marks"
        self.cap = cap
        self.size = 0
        self.punched = 0
        self._marked = False

    def look(self, *, final: bool = False) -> int:
        """Note growth since the last look; return the size.

        At the end of a short task the time of the file itself says as much as a mark.
        """
        try:
            size = os.stat(self.path).st_size
        except OSError:
            return 0
        if size != self.size:
            self.size = size
            if not final or self._marked:
                self._mark(size)
            if size - self.punched > self.cap + self.cap // 4:
                self._punch(size)
        return size

    def _mark(self, size: int) -> None:
        self._marked = True
        with suppress(OSError):
            fd = os.open(self.marks, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                os.write(fd, MARK.pack(size, now()))
            finally:
                os.close(fd)

    def _punch(self, size: int) -> None:
        # Whole blocks only; the reader finds the hole with SEEK_DATA and says what is missing.
        end = (size - self.cap) // 4096 * 4096
        with suppress(OSError):
            fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            try:
                linux.punch_hole(fd, 0, end)
            finally:
                os.close(fd)
            self.punched = end


class Watch:
    """The streams and the progress file of one attempt."""

    def __init__(self, attempt: Attempt) -> None:
        self._streams = [
            _Stream(attempt.folder, run.name, stream, attempt.log_cap)
            for run in attempt.containers
            for stream in STREAMS
        ]
        self._progress = attempt.progress
        self._seen = ""
        self._inside = False

    def follow_into(self, upper: str, run: ContainerRun) -> None:
        """Find the progress file in the container's own root, if it is there that it belongs."""
        if self._progress.startswith(VIEW) and run.role == "main" and not self._inside:
            self._inside = True
            self._progress = upper + self._progress.removeprefix(VIEW)

    def look(self) -> str:
        """Look once; return the progress where it is new."""
        for stream in self._streams:
            stream.look()
        if not self._progress:
            return ""
        try:
            with open(self._progress, "rb") as file:
                lines = file.read(4096).decode(errors="replace").split()
        except OSError:
            return ""
        text = lines[-1] if lines else ""
        if text == self._seen or not _PROGRESS.fullmatch(text):
            return ""
        self._seen = text
        return text

    def close(self) -> list[int]:
        """Look a last time; return the logs that hold something, open, to be made durable."""
        files: list[int] = []
        for stream in self._streams:
            if stream.look(final=True):
                with suppress(OSError):
                    files.append(os.open(stream.path, os.O_RDONLY | os.O_CLOEXEC))
            else:
                with suppress(OSError):
                    os.unlink(stream.path)
        return files
