"""PostgreSQL connections by psycopg: wrapped, pooled for reading, errors translated.

Nothing here relaxes what the server promises: ``synchronous_commit`` stays on. A connection that is
lost is `StoreUnavailableError`, which is worth trying again; whoever had a transaction under way
must find out whether it was committed (`store.postgres_writer`).
"""

from __future__ import annotations

import re
import select
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, ClassVar

from tiphys.errors import ConfigError, StoreError, StoreFullError, StoreUnavailableError

try:
    import psycopg
    from psycopg.abc import Buffer
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
    from psycopg.types.string import StrDumper
except ImportError as error:  # pragma: no cover - only without the extra
    raise ConfigError(
        "a store in PostgreSQL needs the driver: pip install 'tiphys[postgres]'"
    ) from error

_IDLE = 8
"""Connections kept for the next reader; more are opened while more read at once."""
_DEFAULTS: dict[str, Any] = {
    "connect_timeout": 5,
    "application_name": "tiphys",
    # A machine that is gone without a word is noticed on both sides within 10 s.
    "keepalives_idle": 3,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 8000,
}
_OPTIONS = (
    "-c tcp_keepalives_idle=3 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=2"
    " -c tcp_user_timeout=8000 -c synchronous_commit=on -c lock_timeout=10s"
)
_FORM = (
    "expected postgresql://user:password@host:port/database, in the password %40 for @, %2F for /"
    " and %25 for %"
)
_PORTS = re.compile("[0-9,]*")


class _Text(StrDumper):
    """Text as PostgreSQL can hold it: a zero byte, or half a character, becomes a mark."""

    def dump(self, obj: str) -> Buffer | None:
        return obj.replace("\x00", "\ufffd").encode("utf-8", "replace")


class PostgresConnection:
    """A `link.Link` over psycopg."""

    duplicate: ClassVar[type[Exception]] = psycopg.errors.UniqueViolation
    damage: ClassVar[type[Exception]] = psycopg.errors.DataCorrupted
    merges: ClassVar[bool] = False
    everything: ClassVar[int | None] = None

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self.raw = connection

    def execute(self, text: str, values: Sequence[Any] = (), /) -> psycopg.Cursor[tuple[Any, ...]]:
        """Run one statement."""
        if not values:
            return self.raw.execute(text.encode())
        return self.raw.execute(_spelt(text), values)

    def executemany(
        self, text: str, rows: Iterable[Sequence[Any]], /
    ) -> psycopg.Cursor[tuple[Any, ...]]:
        """Run one statement for each row, all of them on their way before the first answer."""
        cursor = self.raw.cursor()
        cursor.executemany(_spelt(text), rows)
        return cursor

    def read(self, text: str, values: Sequence[Any] = (), /) -> list[Any]:
        """Read all rows."""
        return self.execute(text, values).fetchall()

    def narrow(self, _: str, /) -> tuple[str, list[Any]] | None:
        """Give nothing: the planner uses an index on names where there is one."""
        return None

    @property
    def lost(self) -> bool:
        """Whether the server has gone, as far as one can tell without asking it."""
        if self.raw.closed or self.raw.broken:
            return True
        poll = select.poll()
        poll.register(self.raw.fileno(), select.POLLIN | select.POLLHUP)
        # Nothing is expected on an idle connection but its end.
        return bool(poll.poll(0))

    def close(self) -> None:
        """Close it, whatever state it is in."""
        with suppress(psycopg.Error):
            self.raw.close()


@lru_cache(maxsize=512)
def _spelt(text: str) -> bytes:
    """Write a statement as psycopg wants it; none of ours has a ``?`` or a ``%`` in a literal."""
    return text.replace("?", "%s").encode()


def is_postgres(url: str) -> bool:
    """Tell whether an address is one of PostgreSQL."""
    return url.startswith(("postgresql://", "postgres://"))


def label_of(url: str) -> str:
    """Give the address as it may be shown: without password and user."""
    given = _parts(url)
    hosts = [f"[{host}]" if ":" in host else host for host in given.get("host", "").split(",")]
    ports = given.get("port", "").split(",")
    # One port stands for all hosts.
    pairs = zip(hosts, ports if len(ports) == len(hosts) else ports * len(hosts), strict=False)
    places = [f"{host}:{port}" if port else host for host, port in pairs if host[:1] != "/"]
    return f"postgresql://{','.join(places)}/{given.get('dbname', '')}"


def _parts(url: str) -> dict[str, str]:
    """Read an address as the driver does; refuse one whose password is taken for something else.

    What libpq says of a bad address is not passed on whole: it quotes from it.
    """
    try:
        given = {key: str(value) for key, value in conninfo_to_dict(url).items()}
    except psycopg.Error as error:
        reason = str(error).partition(': "')[0].strip()
        raise ConfigError(f"store.url: {reason}; {_FORM}") from None
    except UnicodeError:
        raise ConfigError(f"store.url: it is not UTF-8; {_FORM}") from None
    marks = f"{given.get('host')}{given.get('dbname')}".count("@")
    if marks > url.count("%40") or not _PORTS.fullmatch(given.get("port", "")):
        raise ConfigError(f"store.url: its host, port or database makes no sense; {_FORM}")
    return given


def connect(url: str, *, reader: bool) -> PostgresConnection:
    """Open a connection; each statement is its own transaction unless one is begun."""
    given = _parts(url)
    options = f"{_OPTIONS} {'-c default_transaction_read_only=on ' if reader else ''}"
    wanted = {**_DEFAULTS, **given, "options": f"{options}{given.get('options') or ''}"}
    connection = psycopg.Connection[tuple[Any, ...]].connect(
        make_conninfo("", **wanted), autocommit=True
    )
    connection.adapters.register_dumper(str, _Text)
    return PostgresConnection(connection)


class PostgresReaders:
    """Connections that cannot write, each used by one thread at a time."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: deque[PostgresConnection] = deque()
        self._closed = False

    @contextmanager
    def borrow(self) -> Iterator[PostgresConnection]:
        """Lend a connection; errors come out translated."""
        with translated(label_of(self._url)):
            if self._closed:
                raise StoreError("the store is closed")
            connection = self._take()
            try:
                yield connection
            finally:
                self._give_back(connection)

    def _take(self) -> PostgresConnection:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:
                break
            if not connection.lost:
                return connection
            connection.close()
        return connect(self._url, reader=True)

    def _give_back(self, connection: PostgresConnection) -> None:
        idle = connection.raw.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        if self._closed or not idle or len(self._idle) >= _IDLE:
            connection.close()
        else:
            self._idle.append(connection)

    def close(self) -> None:
        """Close what is idle; what is lent out is closed on its return."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()


@contextmanager
def translated(label: str) -> Iterator[None]:
    """Turn the driver's errors into ours."""
    try:
        yield
    except psycopg.errors.DiskFull as error:
        raise StoreFullError(f"no room left for {label}") from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise StoreUnavailableError(f"{label}: {_one_line(error)}") from error
    except psycopg.Error as error:
        raise StoreError(f"{label}: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
