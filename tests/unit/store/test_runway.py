"""The zeros behind SQLite's log: they are there, they are room, and they are nothing to SQLite."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from tiphys.store import runway
from tiphys.store.runway import LENGTH, Runway
from tiphys.store.sqlite import connect_writer


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "tiphys.db"


def log_of(database: Path) -> Path:
    return database.with_name("tiphys.db-wal")


def insert(connection: sqlite3.Connection, value: bytes) -> None:
    connection.execute("INSERT INTO t VALUES (?)", (value,))


def test_commits_write_over_the_zeros_and_the_log_grows_by_much_at_once(database: Path) -> None:
    connection, zeros = connect_writer(database), Runway(database)
    connection.execute("CREATE TABLE t (x)")
    zeros.extend()
    sizes = {log_of(database).stat().st_size}

    for number in range(100):
        insert(connection, b"%d" % number * 1000)
        zeros.extend()
        sizes.add(log_of(database).stat().st_size)
    zeros.close()
    connection.close()

    used = 100 * 4096
    assert 1 < len(sizes) <= 2 + 2 * used // LENGTH


def test_after_a_crash_everything_before_the_zeros_is_there_and_nothing_else(
    database: Path, tmp_path: Path
) -> None:
    connection, zeros = connect_writer(database), Runway(database)
    connection.execute("CREATE TABLE t (x)")
    for number in range(30):
        zeros.extend()
        insert(connection, b"%d" % number)
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in (database, log_of(database)):
        shutil.copy(path, copy / path.name)
    zeros.close()
    connection.close()

    after = connect_writer(copy / database.name)
    found = [x for (x,) in after.execute("SELECT x FROM t")]
    after.close()

    assert found == [b"%d" % number for number in range(30)]


def test_what_another_owner_writes_meanwhile_is_not_written_over(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    former, zeros = connect_writer(database), Runway(database)
    former.execute("CREATE TABLE t (x)")
    insert(former, b"former")
    other = connect_writer(database)

    def let_other_write(_: Runway) -> bool:
        insert(other, b"other" * 2000)
        return True

    monkeypatch.setattr(Runway, "_has_room", let_other_write)
    zeros.extend()
    reader = sqlite3.connect(database)

    assert reader.execute("SELECT count(*) FROM t").fetchone() == (2,)
    assert reader.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    for connection in (reader, other, former):
        connection.close()
    zeros.close()


def test_a_disk_that_is_nearly_full_is_left_to_the_rows(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, zeros = connect_writer(database), Runway(database)
    connection.execute("CREATE TABLE t (x)")
    before = log_of(database).stat().st_size
    room = os.statvfs(database.parent)
    monkeypatch.setattr(runway, "_PLENTY", room.f_blocks * room.f_frsize)

    zeros.extend()

    assert log_of(database).stat().st_size == before
    zeros.close()
    connection.close()
