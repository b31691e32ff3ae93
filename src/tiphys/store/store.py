"""The store: everything that must survive, in one folder.

One process at a time owns the folder and writes, with one transaction for everything that changed
(group commit). Any number of processes and threads read beside it. Each owner has a higher epoch than
the one before; a former owner that does not know of its successor is refused (``StaleEpochError``).

This is SQLite's; the contract suite (tests/contract/test_store.py) is what another must keep.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from tiphys.errors import NotFoundError, StaleEpochError, StoreError
from tiphys.store import query, reading, sqlite, writing
from tiphys.store.lock import FolderLock
from tiphys.store.migrate import check_readable, migrate
from tiphys.store.row import (
    Batch,
    EventRow,
    MemoRow,
    NodeRow,
    ObjectRow,
    WorkflowFilter,
    WorkflowRow,
    WorkflowSummary,
)

ALL = WorkflowFilter()
_PAGE = 2000
"""Nodes read at once: no read transaction outlives a page, so a slow reader cannot make the log grow."""


class Store:
    """An open store. Reads may come from any thread, writes from one at a time."""

    def __init__(self, path: Path, readers: sqlite.Readers, writer: Writer | None) -> None:
        self.path = path
        self._readers = readers
        self._writer = writer

    @classmethod
    def open(cls, folder: Path, *, owner: bool) -> Store:
        """Open the store of ``folder``: to write and read it, or beside an owner to read it only."""
        path = folder / sqlite.NAME
        if owner:
            return cls(path, sqlite.Readers(path), Writer.open(folder, path))
        if not path.exists():
            raise NotFoundError(f"there is no store in {folder}")
        readers = sqlite.Readers(path)
        with readers.borrow() as connection:
            check_readable(connection, path)
        return cls(path, readers, None)

    @property
    def epoch(self) -> int:
        """The number of this owner, or of the latest one where this is only a reader."""
        if self._writer is not None:
            return self._writer.epoch
        with self._readers.borrow() as connection:
            return int(connection.execute(query.EPOCH).fetchone()[0])

    @property
    def owned(self) -> bool:
        """Whether this store may write."""
        return self._writer is not None

    def commit(self, batch: Batch) -> frozenset[str]:
        """Write all of ``batch`` durably, or nothing.

        Gives the uids in it that no workflow has (deleted in the meantime): their rows are left out.
        """
        return self._owner().commit(batch)

    def sweep(self) -> bool:
        """Remove a bounded part of what deleted workflows left; tell whether more is left."""
        return self._owner().sweep()

    def workflows(
        self,
        wanted: WorkflowFilter = ALL,
        *,
        limit: int = 100,
        offset: int = 0,
        newest_first: bool = True,
    ) -> list[WorkflowSummary]:
        """List workflows by creation. A limit of -1 lists all."""
        with self._readers.borrow() as connection:
            return reading.list_workflows(
                connection, wanted, limit, offset, newest_first=newest_first
            )

    def count_workflows(self, wanted: WorkflowFilter = ALL) -> int:
        """Count workflows."""
        with self._readers.borrow() as connection:
            return reading.count_workflows(connection, wanted)

    def count_by_phase(self, wanted: WorkflowFilter = ALL) -> dict[str, int]:
        """Count workflows by phase."""
        with self._readers.borrow() as connection:
            return reading.count_by_phase(connection, wanted)

    def workflow(self, key: str, *, namespace: str = "") -> WorkflowRow:
        """Find a workflow by uid, by name, or the newest as ``@latest``."""
        with self._readers.borrow() as connection:
            return reading.find_workflow(connection, key, namespace)

    def unfinished(self) -> list[WorkflowRow]:
        """List all that has not ended, in the order of submission."""
        with self._readers.borrow() as connection:
            return reading.list_unfinished(connection)

    def name_taken(self, name: str, namespace: str) -> bool:
        """Tell whether a workflow of that name exists."""
        with self._readers.borrow() as connection:
            found = connection.execute(query.NUMBER_OF_NAME, (name, namespace)).fetchone()
            return found is not None

    def nodes(self, uid: str) -> Iterator[NodeRow]:
        """Give the nodes of a workflow in the order of their creation."""
        after = -1
        number = self._number(uid)
        while number is not None:
            with self._readers.borrow() as connection:
                page = reading.nodes_page(connection, uid, number, after, _PAGE)
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].seq

    def node(self, uid: str, node_id: str) -> NodeRow:
        """Find one node."""
        number = self._number(uid)
        if number is not None:
            with self._readers.borrow() as connection:
                found = reading.find_node(connection, uid, number, node_id)
            if found is not None:
                return found
        raise NotFoundError(f"there is no node {node_id[:200]!r} in workflow {uid[:200]!r}")

    def node_phases(self, uid: str) -> dict[str, int]:
        """Count the nodes of a workflow by phase."""
        number = self._number(uid)
        if number is None:
            return {}
        with self._readers.borrow() as connection:
            return reading.node_phases(connection, number)

    def memo(self, namespace: str, cache: str, key: str) -> MemoRow | None:
        """Find remembered outputs."""
        with self._readers.borrow() as connection:
            found = connection.execute(query.MEMO, (namespace, cache, key)).fetchone()
        if found is None:
            return None
        node_id, outputs, at = found
        return MemoRow(
            namespace=namespace, cache=cache, key=key, node_id=node_id, outputs=outputs, at=at
        )

    def objects(self, kind: str | None = None) -> list[ObjectRow]:
        """List objects, of one kind or all."""
        with self._readers.borrow() as connection:
            return reading.list_objects(connection, kind)

    def events(self, uid: str, *, after: int = 0, limit: int = 10_000) -> list[EventRow]:
        """List events of a workflow (or with "" of none) behind number ``after``."""
        number = self._number(uid)
        if number is None:
            return []
        with self._readers.borrow() as connection:
            return reading.list_events(connection, uid, number, after, limit)

    def close(self) -> None:
        """Close everything; the next owner may come."""
        self._readers.close()
        if self._writer is not None:
            self._writer.close()

    def __enter__(self) -> Store:
        """Give the store itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def _number(self, uid: str) -> int | None:
        with self._readers.borrow() as connection:
            return reading.number_of(connection, uid)

    def _owner(self) -> Writer:
        if self._writer is None:
            raise StoreError(f"{self.path} is open for reading only")
        return self._writer


class Writer:
    """The one connection that writes, its epoch, and the lock on the folder."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: FolderLock) -> None:
        self._path = path
        self._connection = connection
        self._folder = lock
        self._turn = threading.Lock()
        self.epoch = 0
        self._numbers = self._take_over()

    @classmethod
    def open(cls, folder: Path, path: Path) -> Writer:
        """Take the folder over, and bring its tables up to date."""
        _make_folder(folder)
        lock = FolderLock.take(folder)
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

    def _take_over(self) -> writing.Numbers:
        connection = self._connection
        with sqlite.transaction(connection):
            migrate(connection, self._path)
            connection.execute(query.RAISE_EPOCH)
            self.epoch = connection.execute(query.EPOCH).fetchone()[0]
        return writing.Numbers(connection)

    def commit(self, batch: Batch) -> frozenset[str]:
        """Write all of ``batch``, or nothing."""
        numbers = self._numbers
        with self._turn, sqlite.translated(self._path):
            numbers.missing = set()
            try:
                with sqlite.transaction(self._connection):
                    self._check_epoch()
                    writing.write(self._connection, batch, numbers)
            except BaseException:
                numbers.forget(writing.touched(batch))
                raise
            numbers.trim()
            return frozenset(numbers.missing)

    def sweep(self) -> bool:
        """Remove a part of what deleted workflows left."""
        with self._turn, sqlite.translated(self._path):
            if self._connection.execute(query.FIRST_GARBAGE).fetchone()[0] is None:
                return False
            with sqlite.transaction(self._connection):
                self._check_epoch()
                return writing.sweep(self._connection, writing.SWEEP_SIZE)

    def _check_epoch(self) -> None:
        """Refuse to write after a newer owner; the transaction keeps others from coming between."""
        found = self._connection.execute(query.EPOCH).fetchone()[0]
        if found != self.epoch:
            self._refuse(found)

    def _refuse(self, found: int) -> NoReturn:
        raise StaleEpochError(
            f"{self._path} has a newer owner (epoch {found}, ours is {self.epoch});"
            " nothing was written"
        )

    def close(self) -> None:
        """Close the connection, then let the folder go."""
        with self._turn:
            self._connection.close()
            self._folder.release()


def _make_folder(folder: Path) -> None:
    """Create ``folder``, for its owner only, so that it survives power loss."""
    if folder.is_dir():
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
