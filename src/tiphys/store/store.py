"""The store: everything that must survive, in one folder.

One process at a time owns the folder and writes, with one transaction for everything that changed
(group commit). Any number of processes and threads read beside it. Each owner has a higher epoch
than the one before; a former owner that does not know of its successor is refused
(``StaleEpochError``).

Below it is SQLite in a file of the folder, or PostgreSQL at an address; the contract suite
(tests/contract/test_store.py) is what both keep.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from tiphys.errors import ConfigError, NotFoundError, StoreError
from tiphys.store import query, reading, sqlite
from tiphys.store.link import Owner, Readers
from tiphys.store.lock import FolderLock
from tiphys.store.migrate import check_readable
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
from tiphys.store.writer import Writer

ALL = WorkflowFilter()
_PAGE = 2000
"""Nodes read at once. No read outlives a page, so a slow reader cannot make the log grow."""


class Store:
    """An open store. Reads may come from any thread, writes from one at a time."""

    def __init__(self, label: str, readers: Readers, writer: Owner | None) -> None:
        self.label = label
        """What it is called in messages."""
        self._readers = readers
        self._writer = writer

    @classmethod
    def open(
        cls, folder: Path, *, owner: bool, lock: FolderLock | None = None, url: str = ""
    ) -> Store:
        """Open the store of ``folder``, or at ``url``: as its owner, or beside one to read only.

        An owner may bring the folder's ``lock``, taken before; it is released with the store.
        """
        if url:
            return _open_postgres(folder, url, owner=owner, lock=lock)
        path = folder / sqlite.NAME
        if owner:
            return cls(str(path), sqlite.Readers(path), Writer.open(folder, path, lock))
        if not path.exists():
            raise NotFoundError(f"there is no store in {folder}")
        readers = sqlite.Readers(path)
        try:
            with readers.borrow() as connection:
                check_readable(connection, path)
        except BaseException:
            readers.close()
            raise
        return cls(str(path), readers, None)

    @property
    def epoch(self) -> int:
        """The number of this owner, or of the latest one where this is only a reader."""
        if self._writer is not None:
            return self._writer.epoch
        with self._readers.borrow() as connection:
            return int(connection.execute(query.EPOCH).fetchone()[0])

    @property
    def moved(self) -> bool:
        """Whether its owner before this one had another data directory."""
        return self._writer is not None and self._writer.moved

    @property
    def owned(self) -> bool:
        """Whether this store may write."""
        return self._writer is not None

    def check(self) -> None:
        """Raise StaleEpochError once another has taken over."""
        self._owner().check()

    def commit(self, batch: Batch) -> frozenset[str]:
        """Write all of ``batch`` durably, or nothing.

        Gives the uids in it that no workflow has (deleted meanwhile): their rows are left out.
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
        from tiphys.store import listing  # noqa: PLC0415 - a run of its own lists nothing

        with self._readers.borrow() as connection:
            return listing.list_workflows(
                connection, wanted, limit, offset, newest_first=newest_first
            )

    def count_workflows(self, wanted: WorkflowFilter = ALL) -> int:
        """Count workflows."""
        from tiphys.store import listing  # noqa: PLC0415 - a run of its own lists nothing

        with self._readers.borrow() as connection:
            return listing.count_workflows(connection, wanted)[0]

    def count_up_to(self, most: int, wanted: WorkflowFilter = ALL) -> tuple[int, bool]:
        """Count workflows, reading no more than about ``most`` rows; tell whether that is all."""
        from tiphys.store import listing  # noqa: PLC0415 - a run of its own lists nothing

        with self._readers.borrow() as connection:
            return listing.count_workflows(connection, wanted, most)

    def count_by_phase(self, wanted: WorkflowFilter = ALL) -> dict[str, int]:
        """Count workflows by phase."""
        from tiphys.store import listing  # noqa: PLC0415 - a run of its own lists nothing

        with self._readers.borrow() as connection:
            return listing.count_by_phase(connection, wanted)

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

    def latest_events(self, uid: str, *, before: int, limit: int) -> list[EventRow]:
        """List the same from the other end: those before number ``before``, the latest first."""
        number = self._number(uid)
        if number is None:
            return []
        with self._readers.borrow() as connection:
            return reading.list_events(connection, uid, number, before, limit, latest=True)

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

    def _owner(self) -> Owner:
        if self._writer is None:
            raise StoreError(f"{self.label} is open for reading only")
        return self._writer


def _open_postgres(folder: Path, url: str, *, owner: bool, lock: FolderLock | None) -> Store:
    if not url.startswith(("postgresql://", "postgres://")):
        raise ConfigError("store.url is an address of PostgreSQL: postgresql://user@host/database")
    # Here, because the driver takes longer to load than SQLite takes for most commands.
    from tiphys.store import postgres  # noqa: PLC0415
    from tiphys.store.postgres_migrate import check_readable as check  # noqa: PLC0415
    from tiphys.store.postgres_writer import PostgresWriter  # noqa: PLC0415

    label = postgres.label_of(url)
    readers = postgres.PostgresReaders(url)
    if owner:
        return Store(label, readers, PostgresWriter.open(folder, url, lock))
    try:
        with readers.borrow() as connection:
            check(connection, label)
    except BaseException:
        readers.close()
        raise
    return Store(label, readers, None)
