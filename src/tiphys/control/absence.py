"""A host that is away: whether it comes back, or its work is for whoever waits.

To take the place of a server that restarts would keep it from coming back, so it is waited for, and
that is said once. Where there never was one, nobody is waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from tiphys.errors import StoreLockedError
from tiphys.store.lock import FolderLock

PATIENCE = 30.0
"""Seconds for which a server that went away is waited for."""
EVERY = 0.2


class Absence:
    """Nobody answers at the door of a data directory."""

    def __init__(self, data: Path, note: Callable[[str], None], patience: float) -> None:
        self._data, self._note = data, note
        self._patience, self._met = patience, False
        self._since: float | None = None
        self._told_locked = False

    def end(self) -> None:
        """Somebody answers."""
        self._met, self._since = True, None

    async def pass_by(self) -> FolderLock | None:
        """Wait a moment, or give the folder's lock: nobody has come back, the work is ours."""
        now = asyncio.get_running_loop().time()
        patience = self._patience if self._met else 0.0
        if self._since is None:
            self._since = now
            if patience:
                self._note(f"the server is away: waiting up to {patience:g} s for it to come back")
        if now - self._since >= patience:
            lock = self._take()
            if lock is not None:
                if patience:
                    self._note("no server has come back: its work goes on here")
                return lock
        await asyncio.sleep(EVERY)
        return None

    def _take(self) -> FolderLock | None:
        try:
            return FolderLock.take(self._data)
        except StoreLockedError as error:
            # It is about to open its door, or one command does its work behind a closed one.
            if not self._told_locked:
                self._told_locked = True
                self._note(f"waiting: {error}")
            return None
