"""Owners of a data directory: the lock, the epoch, the version of the tables, the mode of files."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tiphys.errors import StaleEpochError, StoreError, StoreLockedError, StoreVersionError
from tiphys.store import Batch, Store, WorkflowRow
from tiphys.store.lock import NAME as LOCK
from tiphys.store.schema import VERSION
from tiphys.store.sqlite import NAME
from tiphys.store.writer import Writer

HOLD = """
import sys
from pathlib import Path
from tiphys.store import Store
store = Store.open(Path(sys.argv[1]), owner=True)
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_locked_folder_names_the_process_that_has_it_and_is_free_once_that_is_killed(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"

        with pytest.raises(StoreLockedError, match=f"process {child.pid}$"):
            Store.open(tmp_path, owner=True)
        child.kill()

    with Store.open(tmp_path, owner=True) as store:
        assert store.epoch == 2


def test_a_former_owner_writes_nothing_once_there_is_a_newer_one(tmp_path: Path) -> None:
    row = WorkflowRow(uid="u", name="w", namespace="n", created_at=1.0)
    with Store.open(tmp_path, owner=True) as former:
        # Somebody removed the lock's file: the lock no longer keeps a second owner out.
        (tmp_path / LOCK).unlink()
        with Store.open(tmp_path, owner=True) as newer:
            with pytest.raises(StaleEpochError, match="epoch 2, ours is 1"):
                former.commit(Batch(submitted=[row]))

            assert newer.workflows() == []
            newer.commit(Batch(submitted=[row]))


def test_tables_of_a_newer_program_are_refused_and_left_alone(tmp_path: Path) -> None:
    Store.open(tmp_path, owner=True).close()
    with sqlite3.connect(tmp_path / NAME) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()

    for owner in (True, False):
        with pytest.raises(StoreVersionError, match="newer Tiphys"):
            Store.open(tmp_path, owner=owner)

    connection = sqlite3.connect(tmp_path / NAME)
    assert connection.execute("SELECT epoch FROM owner").fetchone() == (1,)
    connection.close()


def test_a_reader_does_not_touch_tables_of_an_older_program(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / NAME).execute("CREATE TABLE old (x)").connection.close()

    with pytest.raises(StoreVersionError, match="older Tiphys"):
        Store.open(tmp_path, owner=False)


def test_a_folder_that_was_refused_is_not_kept_locked(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"this is no database, whatever its name says" * 100)
    with pytest.raises(StoreError, match="not a database"):
        Store.open(tmp_path, owner=True)
    (tmp_path / NAME).unlink()

    with Store.open(tmp_path, owner=True) as store:
        assert store.epoch == 1


def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with Store.open(tmp_path / "a" / "b", owner=True):
            modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "a/b").iterdir()}
            folder = stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode)
    finally:
        os.umask(before)

    assert set(modes.values()) == {0o600}
    assert len(modes) == 5
    assert folder == 0o700


def test_a_folder_with_any_name_can_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "what? #1 100% ünï & co"
    with Store.open(folder, owner=True) as owner, Store.open(folder, owner=False) as reader:
        assert owner.workflows() == reader.workflows() == []


def test_commits_are_made_durable_and_nothing_is_mapped_into_memory(tmp_path: Path) -> None:
    with Store.open(tmp_path, owner=True) as store:
        assert isinstance(store._writer, Writer)
        pragma = store._writer._connection.execute
        found = {
            name: pragma(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "mmap_size")
        }

    assert found == {"journal_mode": "wal", "synchronous": 2, "mmap_size": 0}


def test_a_reading_connection_cannot_write(tmp_path: Path) -> None:
    with Store.open(tmp_path, owner=True) as store:
        readonly = pytest.raises(StoreError, match="readonly")
        with readonly, store._readers.borrow() as connection:
            connection.execute("UPDATE owner SET epoch = 99")

        assert store.epoch == 1
