"""Working directories for attempts without a sandbox, kept for use again.

To make a folder and to remove it again is dear on many file systems, and most tasks write nothing
to their working directory. A room that was left as it was found waits for the next attempt; one
with something in it moves to the folder of its attempt, whose owner clears it.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from itertools import count
from pathlib import Path
from time import time_ns

from tiphys.executor.place import LEFT
from tiphys.executor.tree import clear_tree, remove_tree

KEPT = 64
"""More than run at once on one machine, as a rule."""
_SURELY_LATER = 100_000_000
_WORK = "work"
_PROGRESS = "progress"


class Rooms:
    """All rooms of one executor."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._free: list[str] = []
        self._numbers = count()
        self._is_made = False
        self._seen: dict[str, tuple[int, int]] = {}
        """Rooms that were empty some time after they were made, and when they were last changed."""
        self._inside: dict[str, tuple[int, int]] = {}
        """Rooms with their working directories, kept open: each attempt has both looked at."""

    def take(self) -> str:
        """Return an empty room."""
        if self._free:
            return self._free.pop()
        if not self._is_made:
            clear_tree(self._folder)  # Of an executor before this one.
            os.makedirs(self._folder, mode=0o755, exist_ok=True)
            self._is_made = True
        room = f"{self._folder}/{next(self._numbers)}"
        os.mkdir(room, 0o755)
        os.mkdir(work_of(room), 0o755)
        flags = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
        outer = os.open(room, flags)
        try:
            self._inside[room] = outer, os.open(work_of(room), flags)
        except OSError:
            os.close(outer)
            raise
        return room

    def give_back(self, room: str, folder: str) -> None:
        """Take back a room in which nothing runs any more; what is in it goes to ``folder``."""
        with suppress(OSError):
            if len(self._free) < KEPT and self._is_untouched(room):
                self._free.append(room)
                return
        # Whatever a task has done to it, it is used no more.
        self._seen.pop(room, None)
        for descriptor in self._inside.pop(room, ()):
            os.close(descriptor)
        with suppress(OSError):
            if _is_empty(room):
                remove_tree(room)
            else:
                os.makedirs(folder, mode=0o755, exist_ok=True)
                os.rename(room, f"{folder}/{LEFT}")

    def _is_untouched(self, room: str) -> bool:
        # Of its times the one that a task cannot set; it tells of new rights and names, too.
        outer, inner = self._inside[room]
        state = os.fstat(outer).st_ctime_ns, os.fstat(inner).st_ctime_ns
        known = self._seen.get(room)
        if known is not None:
            return known == state
        if not _is_empty(room) or any(_rights(path) != 0o755 for path in (room, work_of(room))):
            return False
        # They tell of changes only if no change can bear the same: they move by ticks.
        if time_ns() - max(state) > _SURELY_LATER:
            self._seen[room] = state
        return True

    def close(self) -> None:
        """Remove what is left."""
        if self._is_made:
            with suppress(OSError):
                remove_tree(self._folder)


def _is_empty(room: str) -> bool:
    return os.listdir(room) == [_WORK] and not os.listdir(work_of(room))


def _rights(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def work_of(room: str) -> str:
    """Return the working directory."""
    return f"{room}/{_WORK}"


def progress_of(room: str) -> str:
    """Return where the task may write its progress."""
    return f"{room}/{_PROGRESS}"
