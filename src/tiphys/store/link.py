"""What the store asks of a connection, whichever database is behind it.

`sqlite.SqliteConnection` and `postgres.PostgresConnection` are the two. Statements are written with
``?`` for each value; what else differs between the databases is named here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol

from tiphys.store.row import Batch


class Rows(Protocol):
    """What a statement gave."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed; of ``executemany``, all together."""

    def fetchone(self) -> Any:
        """Give the next row, None where there is none."""

    def fetchall(self) -> list[Any]:
        """Give all rows that are left."""

    def __iter__(self) -> Iterator[Any]:
        """Give row after row."""


class Link(Protocol):
    """A connection, used by one thread at a time."""

    duplicate: ClassVar[type[Exception]]
    """Raised where a row is there already."""
    damage: ClassVar[type[Exception]]
    """Raised where what is stored cannot be read; never, where the database sees to that."""
    merges: ClassVar[bool]
    """Whether lists that are each in order are merged without being sorted anew."""
    everything: ClassVar[int | None]
    """The LIMIT that lists all."""

    def execute(self, text: str, values: Sequence[Any] = ..., /) -> Rows:
        """Run one statement."""

    def executemany(self, text: str, rows: Iterable[Sequence[Any]], /) -> Rows:
        """Run one statement for each of ``rows``."""

    def narrow(self, part: str, /) -> tuple[str, list[Any]] | None:
        """Give a condition on ``w.number`` that few workflows meet besides those whose names hold
        ``part``; None where there is none, or where it would not help."""

    def read(self, text: str, values: Sequence[Any] = ..., /) -> list[Any]:
        """Read all rows; what is no text is read as far as it can be."""


class Readers(Protocol):
    """Connections that cannot write, as many as are used at once."""

    def borrow(self) -> AbstractContextManager[Link]:
        """Lend a connection; errors come out translated."""

    def close(self) -> None:
        """Close what is idle; what is lent out is closed on its return."""


class Owner(Protocol):
    """The side of the store that writes."""

    epoch: int
    moved: bool
    """Whether the owner before had another data directory: what it had running is not here."""

    def check(self) -> None:
        """Raise unless this is still the owner."""

    def commit(self, batch: Batch) -> frozenset[str]:
        """Write all of ``batch``, or nothing."""

    def sweep(self) -> bool:
        """Remove a part of what deleted workflows left."""

    def close(self) -> None:
        """Let the next owner come."""
