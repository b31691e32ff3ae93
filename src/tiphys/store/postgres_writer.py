"""The owner's side of a store in PostgreSQL: the locks, the epoch, one transaction per batch.

The leader holds a session's advisory lock, which PostgreSQL lets go of when the session ends, and
the lock of its data directory. Neither is trusted alone: each transaction begins by writing to the
one row of ``owner`` under the writer's epoch, so a former leader writes nothing.

When the connection is lost during a commit, nobody knows whether it was one. Each transaction
leaves its number in ``owner``; after the next connection that number tells, and a batch that is
handed in again after it was written is not written twice.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tiphys.errors import (
    StaleEpochError,
    StoreLockedError,
    StoreUnavailableError,
)
from tiphys.store import writing
from tiphys.store.lock import FolderLock
from tiphys.store.place import place_of
from tiphys.store.postgres import PostgresConnection, connect, label_of, translated
from tiphys.store.postgres_migrate import migrate
from tiphys.store.row import Batch

_LOCK_SPACE = 0x71705359
_TRY_LOCK = "SELECT pg_try_advisory_lock(?, hashtext(current_schema()))"
_OWNER = "SELECT epoch, batch, place FROM owner"
_TAKE_OVER = "UPDATE owner SET epoch = greatest(epoch, ?) + 1, place = ? RETURNING epoch, batch"
_FENCE = "UPDATE owner SET batch = ? WHERE epoch = ?"
_REMEMBERED = 16


class PostgresWriter:
    """The one session that writes, its epoch, and its locks."""

    def __init__(self, url: str, place: str, lock: FolderLock) -> None:
        self._url, self._label = url, label_of(url)
        self._folder = lock
        self._turn = threading.Lock()
        self._connection: PostgresConnection | None = None
        self._doubtful: tuple[int, Batch, frozenset[str]] | None = None
        self._written: deque[tuple[Batch, frozenset[str]]] = deque(maxlen=_REMEMBERED)
        """Batches that were committed although their commit seemed to fail."""
        self.epoch = 0
        self.moved = False
        self._last = 0
        self._numbers = self._take_over(place)

    @classmethod
    def open(cls, folder: Path, url: str, lock: FolderLock | None) -> PostgresWriter:
        """Become the leader, and bring the tables up to date."""
        lock = lock or FolderLock.take(folder)
        try:
            return cls(url, place_of(folder), lock)
        except BaseException:
            lock.release()
            raise

    def _take_over(self, place: str) -> writing.Numbers:
        with translated(self._label):
            connection = connect(self._url, reader=False)
            try:
                self._lead(connection)
                with _transaction(connection):
                    migrate(connection, self._label)
                    before = connection.execute(_OWNER).fetchone()[2]  # type: ignore[index]
                    self.moved = before not in ("", place)
                    found = connection.execute(_TAKE_OVER, (self._folder.epoch, place)).fetchone()
                    self.epoch, self._last = found  # type: ignore[misc]
                numbers = writing.Numbers(connection)
            except BaseException:
                connection.close()
                raise
        self._folder.note(self.epoch)
        self._connection = connection
        return numbers

    def _lead(self, connection: PostgresConnection) -> None:
        (led,) = connection.execute(_TRY_LOCK, (_LOCK_SPACE,)).fetchone()  # type: ignore[misc]
        if not led:
            raise StoreLockedError(f"another server leads over {self._label}")

    def check(self) -> None:
        """Raise unless this is still the leader; a session that was lost is replaced."""
        with self._turn, translated(self._label):
            self._check_epoch(self._ready())

    def commit(self, batch: Batch) -> frozenset[str]:
        """Write all of ``batch``, or nothing; one that was written before is not written again."""
        with self._turn, translated(self._label):
            connection = self._ready()
            for known, gone in self._written:
                if known is batch:
                    self._written.remove((known, gone))
                    return gone
            return self._commit(connection, batch)

    def _commit(self, connection: PostgresConnection, batch: Batch) -> frozenset[str]:
        numbers = self._numbers
        numbers.missing = set()
        number = self._last + 1
        try:
            with _transaction(connection):
                self._fence(connection, number)
                writing.write(connection, batch, numbers)
                # From here to the answer of COMMIT nobody can tell.
                self._doubtful = (number, batch, frozenset(numbers.missing))
        except connection.duplicate:
            self._doubtful = None
            numbers.forget(writing.touched(batch))
            writing.blame(connection, batch)
            raise
        except BaseException:
            if not connection.lost:
                self._doubtful = None
            numbers.forget(writing.touched(batch))
            raise
        self._doubtful, self._last = None, number
        numbers.trim()
        return frozenset(numbers.missing)

    def sweep(self) -> bool:
        """Remove a part of what deleted workflows left."""
        with self._turn, translated(self._label):
            connection = self._ready()
            if not writing.has_garbage(connection):
                return False
            with _transaction(connection):
                self._fence(connection, self._last)
                return writing.sweep(connection, writing.SWEEP_SIZE)

    def _fence(self, connection: PostgresConnection, number: int) -> None:
        """Refuse to write after a newer leader; the row stays locked until the commit."""
        if connection.execute(_FENCE, (number, self.epoch)).rowcount != 1:
            raise self._stale()

    def _stale(self) -> StaleEpochError:
        return StaleEpochError(
            f"{self._label} has a newer owner than epoch {self.epoch}; nothing was written"
        )

    def _ready(self) -> PostgresConnection:
        """Give the connection, a new one where the old is lost."""
        if self._connection is not None and not self._connection.lost:
            return self._connection
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        connection = connect(self._url, reader=False)
        try:
            self._resume(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _resume(self, connection: PostgresConnection) -> None:
        """Go on over a new connection, unless somebody else has come."""
        try:
            self._lead(connection)
        except StoreLockedError as error:
            self._check_epoch(connection)
            # Perhaps our own former session, of which the server does not know yet that it ended.
            raise StoreUnavailableError(str(error)) from error
        last = self._check_epoch(connection)
        if self._doubtful is not None:
            number, batch, gone = self._doubtful
            if last == number:
                self._written.append((batch, gone))
            self._doubtful = None
        self._last = last
        self._numbers = writing.Numbers(connection)

    def _check_epoch(self, connection: PostgresConnection) -> int:
        epoch, batch, _ = connection.execute(_OWNER).fetchone()  # type: ignore[misc]
        if epoch != self.epoch:
            raise self._stale()
        return int(batch)

    def close(self) -> None:
        """End the session, then let the folder go."""
        with self._turn:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            self._folder.release()


@contextmanager
def _transaction(connection: PostgresConnection) -> Iterator[None]:
    with connection.raw.transaction():
        yield
