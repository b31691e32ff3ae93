"""Tables of every earlier version in PostgreSQL become those of today, as in SQLite."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import psycopg
import pytest

from tests.integration.postgres.server import PostgresServer
from tests.unit.store.dumped import VERSIONS, dump_of, everything, restore
from tiphys.store import Store, WorkflowFilter
from tiphys.store.migrate import statements
from tiphys.store.postgres_schema import STEPS

_TABLES = ("workflows", "documents", "labels", "nodes", "events", "memos", "objects", "garbage")


def _make(version: int, url: str) -> None:
    """Make the tables of a version and fill them with what the dump of SQLite holds."""
    source = sqlite3.connect(":memory:")
    source.executescript(dump_of(version)[1])
    with psycopg.connect(url) as target:
        for step in STEPS[:version]:
            for statement in statements(step):
                target.execute(statement.encode())
        target.execute("UPDATE version SET version = %s", (version,))
        target.execute("UPDATE owner SET epoch = 1")
        for table in _TABLES:
            cursor = source.execute(f"SELECT * FROM {table}")
            names = ", ".join(column[0] for column in cursor.description)
            marks = ", ".join("%s" for _ in cursor.description)
            text = f"INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE VALUES ({marks})"
            target.cursor().executemany(text.encode(), cursor.fetchall())
    source.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_store_of_an_earlier_version_is_upgraded_as_in_sqlite(
    shared: PostgresServer, tmp_path: Path, version: int
) -> None:
    url = shared.database_of(tmp_path)
    _make(version, url)
    restore(version, tmp_path / "file")

    with (
        Store.open(tmp_path / "here", owner=True, url=url) as there,
        Store.open(tmp_path / "file", owner=True) as here,
    ):
        assert everything(there) == everything(here)
        assert there.count_by_phase() == here.count_by_phase()
        assert there.count_by_phase() == there.count_by_phase(WorkflowFilter(since=0.0))
        assert there.epoch == here.epoch == 2
