"""The right to be the executor of a data directory, and the change from one executor to the next.

Whoever holds the lock is the executor. One that leaves takes its socket away first and looks once
more for who came before that; so a client either reaches it or finds no socket and starts another,
which waits here until the lock is free. The lock and the data directory are kept open: while they
are, no other file can have their numbers, and what is named after them is ours alone. A data
directory may be removed and made anew under an executor: then nothing at its paths is ours.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time

from tiphys.executor.place import Place

PATIENCE = 10.0
"""Seconds that one who leaves is given for it."""
_PAUSE = 0.005


class Claim:
    """A data directory that is ours until this process ends."""

    def __init__(self, place: Place, lock: int) -> None:
        self._place = place
        self._lock = lock
        self._data = os.open(place.data, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    @classmethod
    def take(cls, place: Place) -> Claim | None:
        """Become the executor of ``place``; None where another one is and stays."""
        give_up = time.monotonic() + PATIENCE
        while True:
            lock = os.open(place.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                if is_answered(place) or time.monotonic() > give_up:
                    return None
                time.sleep(_PAUSE)
                continue
            claim = cls(place, lock)
            if claim.holds:
                return claim
            # The file was removed before it was locked.
            claim.release()

    @property
    def holds(self) -> bool:
        """Tell whether what lies at our paths is still ours."""
        try:
            return os.path.samestat(os.stat(self._place.lock), os.fstat(self._lock))
        except OSError:
            return False

    def release(self) -> None:
        """Let others have it."""
        os.close(self._lock)
        os.close(self._data)


def is_answered(place: Place) -> bool:
    """Tell whether somebody listens at the socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as knocking:
        try:
            knocking.connect(place.address())
        except OSError:
            return False
        return True
