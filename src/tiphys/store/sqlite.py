"""SQLite connections: one that writes, a pool of those that read, and the translation of errors.

One connection owns all writes *and* all checkpoints, readers are opened read-only, and memory
mapping stays off: SQLite before 3.51.3 can damage a database when two connections reset its log at
once.
"""

from __future__ import annotations

import os
import sqlite3
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import quote

from tiphys.errors import StoreError, StoreFullError
from tiphys.store.lock import sync_folder

NAME: Final = "tiphys.db"
_WAIT = 10.0  # seconds; only the recovery of a log after a crash ever makes a connection wait
_STATEMENTS = 256
_FEW = 5000
"""A part of a name that more workflows share is met soon enough by looking at one after another."""
_CANDIDATES = "SELECT count(*) FROM (SELECT rowid FROM names WHERE names MATCH ? LIMIT ?)"
_AMONG = "w.number IN (SELECT rowid FROM names WHERE names MATCH ?)"


class SqliteConnection(sqlite3.Connection):
    """A `link.Link` over SQLite."""

    duplicate: ClassVar[type[Exception]] = sqlite3.IntegrityError
    damage: ClassVar[type[Exception]] = sqlite3.DatabaseError
    merges: ClassVar[bool] = True
    everything: ClassVar[int | None] = -1

    def read(self, text: str, values: Sequence[Any] = (), /) -> list[Any]:
        """Read all rows; text that is not UTF-8 is read with marks in place of the bad bytes."""
        try:
            return self.execute(text, values).fetchall()
        except sqlite3.OperationalError as error:
            if "decode" not in str(error):
                raise
        self.text_factory = _lenient
        try:
            return self.execute(text, values).fetchall()
        finally:
            self.text_factory = str

    def narrow(self, part: str, /) -> tuple[str, list[Any]] | None:
        """Have the index of parts of names find candidates, if they are few."""
        if len(part) < 3 or not part.isascii():
            return None
        pieces = sorted({part[at : at + 3] for at in range(len(part) - 2)})
        match = " AND ".join('"' + piece.replace('"', '""') + '"' for piece in pieces)
        try:
            (found,) = self.execute(_CANDIDATES, (match, _FEW + 1)).fetchone()
        except sqlite3.OperationalError:
            return None  # There is no such index.
        return (_AMONG, [match]) if found <= _FEW else None


def _lenient(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def connect_writer(path: Path) -> SqliteConnection:
    """Open the one connection that writes, and create the file if there is none.

    The file is for its owner's eyes only: it may hold secrets. SQLite gives its log the same mode.
    """
    is_new = not path.exists()
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    if is_new:
        # SQLite syncs the folder after it made its log, not for a file that it finds.
        sync_folder(path.parent)
    connection = sqlite3.connect(
        path,
        timeout=_WAIT,
        isolation_level=None,
        check_same_thread=False,
        factory=SqliteConnection,
        cached_statements=_STATEMENTS,
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA mmap_size = 0")
        connection.execute("PRAGMA cache_size = -65536")  # KiB
        connection.execute("PRAGMA wal_autocheckpoint = 4000")  # pages: 16 MiB
        connection.execute("PRAGMA journal_size_limit = 67108864")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reader(path: Path) -> SqliteConnection:
    """Open a connection that cannot write."""
    connection = sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode=ro",
        uri=True,
        timeout=_WAIT,
        isolation_level=None,
        check_same_thread=False,
        factory=SqliteConnection,
        cached_statements=_STATEMENTS,
    )
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA mmap_size = 0")
    except BaseException:
        connection.close()
        raise
    return connection


class Readers:
    """As many read-only connections as are used at once, each by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: deque[SqliteConnection] = deque()
        self._closed = False

    @contextmanager
    def borrow(self) -> Iterator[SqliteConnection]:
        """Lend a connection; errors come out translated."""
        with translated(self._path):
            if self._closed:
                raise StoreError("the store is closed")
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = connect_reader(self._path)
            try:
                yield connection
            finally:
                self._idle.append(connection)
                if self._closed:
                    self.close()

    def close(self) -> None:
        """Close what is idle; what is lent out is closed on its return."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()


class transaction:  # noqa: N801 - used like a function; as a class it takes a turn half the time
    """Commit what is done inside, or undo all of it."""

    __slots__ = ("_connection",)

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        """Begin."""
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Commit, unless something went wrong inside."""
        try:
            if kind is None:
                self._connection.execute("COMMIT")
        finally:
            # A full disk may have ended the transaction already.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


class translated:  # noqa: N801 - as above
    """Turn the driver's errors into ours."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, *__: object
    ) -> None:
        """Raise ours in place of the driver's."""
        if not isinstance(error, sqlite3.Error):
            return
        if _is_full(error, self._path):
            raise StoreFullError(f"no room left for {self._path}") from error
        raise StoreError(f"{self._path}: {error}") from error


def _is_full(error: sqlite3.Error, path: Path) -> bool:
    code = getattr(error, "sqlite_errorcode", None) or 0
    if code == sqlite3.SQLITE_FULL:
        return True
    if code & 0xFF != sqlite3.SQLITE_IOERR:
        return False
    # Growing the shared memory beside the log reports a full disk as a plain I/O error.
    room = os.statvfs(path.parent)
    return room.f_bavail * room.f_frsize < 1 << 16
