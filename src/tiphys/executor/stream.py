"""One output of one container, on its way through a pipe to its log file.

A pipe and not the file itself: a task that opens ``/dev/stderr`` or ``/dev/stdout`` again would
truncate a file and lose what was written before. The bytes go from pipe to file inside the kernel
(splice) and never through Python. The file is made when there is something to put into it.

The writing end stays open here too: then a pipe whose writers are gone says nothing, and the end
of a container that wrote nothing wakes nobody. That nothing more will come is known otherwise: no
process of the attempt is left. Three threads come here: the relay calls ``drain``, the loop
``look`` and ``is_silent``, the committer ``finish``; the lock keeps the first and the last apart.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import termios
from contextlib import suppress
from threading import Lock

from tiphys.executor.clock import now

MARK = struct.Struct("<Qd")
"""Offset up to which the stream had grown, and when that was seen."""
STREAMS = ("stdout", "stderr")
MOST = 1024 * 1024
"""Bytes moved in one turn, so that a flood does not keep the others waiting."""
MUCH = 16 * 1024
"""Bytes at once that make a flood: a quarter of what a pipe holds."""
_COUNT = struct.Struct("i")
_ZERO = bytes(_COUNT.size)
_FULL = (errno.ENOSPC, errno.EDQUOT)


def log_path(folder: str, container: str, stream: str) -> str:
    """Return where a container's ``stdout`` or ``stderr`` goes."""
    return f"{folder}/{container}.{stream}"


class Stream:
    """A pipe, the file behind it, and what is known of its growth."""

    __slots__ = (
        "_cap",
        "_held",
        "_lock",
        "_log",
        "_marked",
        "_path",
        "_punched",
        "_seen",
        "_size",
        "_spliced",
        "_wide",
        "reader",
        "stuck",
        "writer",
    )

    def __init__(self, path: str, cap: int) -> None:
        self.reader, self.writer = os.pipe2(os.O_CLOEXEC)
        self.stuck = False
        """Whether the last bytes could not be written: somebody must have it tried again."""
        self._path = path
        self._cap = cap
        self._log = -1
        self._size = self._seen = self._punched = 0
        self._marked = False
        self._spliced = True
        self._wide = False
        self._held = b""
        self._lock = Lock()

    def drain(self) -> int:
        """Move what is there now, a limited part of it; return how much that was.

        Raises OSError where the disk is full: what was not written is still there.
        """
        with self._lock:
            if self.reader < 0:
                return 0
            try:
                moved = self._move()
            except OSError as error:
                if error.errno in _FULL:
                    raise
                # A broken disk, a removed folder: the task goes on without a log.
                self._give_up()
                return 0
            if moved >= MUCH and not self._wide:
                self._widen()
            return moved

    def _widen(self) -> None:
        # Twice as fast for a flood. The kernel allows an ordinary user only some of these.
        self._wide = True
        with suppress(OSError):
            fcntl.fcntl(self.reader, fcntl.F_SETPIPE_SZ, MOST)

    def _give_up(self) -> None:
        if self._log >= 0:
            os.close(self._log)
        self._log = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)

    def _move(self) -> int:
        if self._log < 0:
            if not self._waiting():
                # Meant for a stream that had this descriptor before: no reason to make a file.
                return 0
            self._log = self._open()
            self._size = os.lseek(self._log, 0, os.SEEK_END)
        try:
            moved = self._splice() if self._spliced else self._copy()
        except BlockingIOError:
            return 0
        self._size += moved
        return moved

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            return os.open(self._path, flags, 0o644)
        except FileNotFoundError:  # The attempt's folder is made for what lies in it.
            os.makedirs(os.path.dirname(self._path), mode=0o755, exist_ok=True)
            return os.open(self._path, flags, 0o644)

    def _splice(self) -> int:
        flags = os.SPLICE_F_MOVE | os.SPLICE_F_NONBLOCK
        try:
            return os.splice(self.reader, self._log, MOST, flags=flags)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
        # A file system that cannot.
        self._spliced = False
        return self._copy()

    def _copy(self) -> int:
        self._held = self._held or os.read(self.reader, min(self._waiting(), MOST))
        moved = os.write(self._log, self._held) if self._held else 0
        self._held = self._held[moved:]
        return moved

    def _waiting(self) -> int:
        count = fcntl.ioctl(self.reader, termios.FIONREAD, _ZERO)
        return 0 if count == _ZERO else int(_COUNT.unpack(count)[0])

    # --- on the loop ----------------------------------------------------------------------

    def is_silent(self) -> bool:
        """Tell whether nothing was ever written to it; to be asked when no writer is left."""
        # In this order: the file is open before the first byte leaves the pipe.
        return self._waiting() == 0 and self._log < 0

    def look(self, *, final: bool = False) -> None:
        """Note growth since the last look; free what is past the cap.

        At the end of a short task the time of the file itself says as much as a mark.
        """
        size = self._size
        if size == self._seen:
            return
        self._seen = size
        if not final or self._marked:
            self._mark(size)
        if size - self._punched > self._cap + self._cap // 4:
            self._punch(size)

    def _mark(self, size: int) -> None:
        self._marked = True
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        with suppress(OSError):
            fd = os.open(f"{self._path}.marks", flags, 0o644)
            try:
                os.write(fd, MARK.pack(size, now()))
            finally:
                os.close(fd)

    def _punch(self, size: int) -> None:
        from tiphys.executor import linux  # noqa: PLC0415 - who only reads logs needs none

        # Whole blocks only; the reader finds the hole with SEEK_DATA and says what is missing.
        end = (size - self._cap) // 4096 * 4096
        with suppress(OSError):
            linux.punch_hole(self._log, 0, end)
            self._punched = end

    # --- the end --------------------------------------------------------------------------

    def finish(self) -> None:
        """Move what is left, make the log durable, close everything; again does nothing.

        Raises OSError where the disk is full and it should be called again. Whoever writes still,
        found by no sweep, is not waited for.
        """
        with self._lock:
            if self.reader < 0:
                return
            try:
                self._move_rest()
                self.look(final=True)
                if self._size:
                    os.fdatasync(self._log)
            except OSError as error:
                if error.errno in _FULL:
                    raise
            self._close()

    def _move_rest(self) -> None:
        left = self._waiting() + len(self._held)
        while left > 0 and (moved := self._move()):
            left -= moved

    def close(self) -> None:
        """Let go of a stream that nothing was written to."""
        with self._lock:
            if self.reader >= 0:
                self._close()

    def _close(self) -> None:
        for fd in (self.reader, self.writer):
            os.close(fd)
        self.reader = self.writer = -1
        if self._log >= 0:
            os.close(self._log)
