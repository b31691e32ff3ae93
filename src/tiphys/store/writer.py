"""The owner's side of the store: the folder's lock, the epoch, one transaction per batch."""

from __future__ import annotations

import threading
from pathlib import Path

from tiphys.errors import StaleEpochError
from tiphys.store import query, sqlite, writing
from tiphys.store.lock import FolderLock
from tiphys.store.migrate import migrate
from tiphys.store.place import place_of
from tiphys.store.row import Batch
from tiphys.store.runway import Runway


class Writer:
    """The one connection that writes, its epoch, and the lock on the folder."""

    def __init__(self, path: Path, connection: sqlite.SqliteConnection, lock: FolderLock) -> None:
        self._path = path
        self._connection = connection
        self._folder = lock
        self._runway = Runway(path)
        self._turn = threading.Lock()
        self.epoch = 0
        self.moved = False
        self._numbers = self._take_over(place_of(path.parent))

    @classmethod
    def open(cls, folder: Path, path: Path, lock: FolderLock | None = None) -> Writer:
        """Take the folder over, and bring its tables up to date."""
        lock = lock or FolderLock.take(folder)
        connection = None
        try:
            with sqlite.translated(path):
                connection = sqlite.connect_writer(path)
                return cls(path, connection, lock)
        except BaseException:
            if connection is not None:
                connection.close()
            lock.release()
            raise

    def _take_over(self, place: str) -> writing.Numbers:
        connection = self._connection
        with sqlite.transaction(connection):
            migrate(connection, self._path)
            (before,) = connection.execute(query.PLACE).fetchone()
            self.moved = before not in ("", place)
            connection.execute(query.RAISE_EPOCH, (self._folder.epoch, place))
            self.epoch = connection.execute(query.EPOCH).fetchone()[0]
        self._folder.note(self.epoch)
        return writing.Numbers(connection)

    def check(self) -> None:
        """Raise unless this is still the owner."""
        with self._turn, sqlite.translated(self._path):
            self._check_epoch()

    def commit(self, batch: Batch) -> frozenset[str]:
        """Write all of ``batch``, or nothing."""
        numbers = self._numbers
        with self._turn, sqlite.translated(self._path):
            numbers.missing = set()
            try:
                with sqlite.transaction(self._connection):
                    self._check_epoch()
                    writing.write(self._connection, batch, numbers)
            except self._connection.duplicate:
                numbers.forget(writing.touched(batch))
                writing.blame(self._connection, batch)
                raise
            except BaseException:
                numbers.forget(writing.touched(batch))
                raise
            self._runway.extend()
            numbers.trim()
            return frozenset(numbers.missing)

    def sweep(self) -> bool:
        """Remove a part of what deleted workflows left."""
        with self._turn, sqlite.translated(self._path):
            if not writing.has_garbage(self._connection):
                return False
            with sqlite.transaction(self._connection):
                self._check_epoch()
                return writing.sweep(self._connection, writing.SWEEP_SIZE)

    def _check_epoch(self) -> None:
        """Refuse to write after a newer owner; the transaction keeps others from coming between."""
        found = self._connection.execute(query.EPOCH).fetchone()[0]
        if found != self.epoch:
            raise StaleEpochError(
                f"{self._path} has a newer owner (epoch {found}, ours is {self.epoch});"
                " nothing was written"
            )

    def close(self) -> None:
        """Close the connection, then let the folder go."""
        with self._turn:
            self._runway.close()
            self._connection.close()
            self._folder.release()
