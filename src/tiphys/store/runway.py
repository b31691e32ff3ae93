"""Zeros behind SQLite's log: half the time of a commit.

A log that grows with each commit has the file system make the new size durable as well, which
takes it as long as the rows themselves. So the log is made longer ahead of time, by much at once,
and most commits only write over what is there. SQLite knows the end of its log by checksums, as it
must: a log that it begins anew has old frames behind the new ones.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

LENGTH = 512 * 1024
_PLENTY = 64 * 1024 * 1024
"""Bytes that must be free: on a disk that is nearly full they are for the rows."""


class Runway:
    """The log of one database, seen by the one connection that writes."""

    def __init__(self, database: Path) -> None:
        self._log = f"{database}-wal"
        self._fd = -1
        self._end = 0

    def extend(self) -> None:
        """Make the log longer if the last commit has done so."""
        with suppress(OSError):
            if self._fd < 0:
                # To append: what another owner has written meanwhile is not written over.
                self._fd = os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            size = os.fstat(self._fd).st_size
            if size != self._end:
                self._end = size
                if self._has_room():
                    self._end += os.write(self._fd, bytes(LENGTH))

    def _has_room(self) -> bool:
        room = os.fstatvfs(self._fd)
        return room.f_bavail * room.f_frsize > _PLENTY

    def close(self) -> None:
        """Let go of the log."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
