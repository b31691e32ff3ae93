"""Copies of a store: made beside its owner, whole or not at all."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tiphys.errors import ConflictError, NotFoundError, StoreError
from tiphys.store import Batch, NodeRow, Store, WorkflowRow
from tiphys.store.backup import back_up, keep_copy
from tiphys.store.sqlite import NAME


def row(number: int) -> WorkflowRow:
    return WorkflowRow(
        uid=f"u{number}", name=f"w{number}", namespace="n", created_at=float(number), manifest=b"x"
    )


def node(number: int) -> NodeRow:
    return NodeRow(
        uid=f"u{number}", seq=0, id=f"i{number}", phase="", type="Pod", name="", body=b"{}" * 200
    )


def test_a_copy_made_beside_a_busy_owner_is_the_store_of_one_instant(tmp_path: Path) -> None:
    done = threading.Event()

    def write() -> None:
        for number in range(1, 2000):
            if done.is_set():
                return
            store.commit(Batch(submitted=[row(number)], nodes=[node(number)]))

    with Store.open(tmp_path / "data", owner=True) as store:
        store.commit(Batch(submitted=[row(0)], nodes=[node(0)]))
        writer = threading.Thread(target=write)
        writer.start()
        sizes = [back_up(tmp_path / "data", tmp_path / f"copy-{n}") for n in range(3)]
        done.set()
        writer.join()
        all_of_them = store.count_workflows()

    counts = []
    for number in range(3):
        folder = tmp_path / f"restored-{number}"
        folder.mkdir()
        (tmp_path / f"copy-{number}").rename(folder / NAME)
        with Store.open(folder, owner=True) as copy:
            rows = copy.workflows(limit=-1)
            counts.append(len(rows))
            assert all(len(list(copy.nodes(each.uid))) == 1 for each in rows)
            assert copy.count_workflows() == len(rows)
            assert copy.moved  # It continues what was led from another folder.
    assert counts == sorted(counts)
    assert 1 <= counts[0] <= counts[-1] <= all_of_them
    assert min(sizes) > 0


def test_a_copy_is_for_its_owner_only_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    Store.open(tmp_path / "data", owner=True).close()
    target = tmp_path / "copies" / "copy.db"
    target.parent.mkdir()

    back_up(tmp_path / "data", target)

    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [path.name for path in target.parent.iterdir()] == ["copy.db"]


def test_a_file_that_exists_is_replaced_only_on_demand(tmp_path: Path) -> None:
    Store.open(tmp_path / "data", owner=True).close()
    target = tmp_path / "copy"
    target.write_text("precious")

    with pytest.raises(ConflictError, match="--force"):
        back_up(tmp_path / "data", target)
    before = target.read_text()
    back_up(tmp_path / "data", target, replace=True)

    assert before == "precious"
    assert target.read_bytes().startswith(b"SQLite format 3")


@pytest.mark.parametrize("name", [NAME, f"{NAME}-wal", f"{NAME}-shm", f"{NAME}-journal", "lock"])
@pytest.mark.parametrize("how", ["path", "relative", "symlink", "link"])
def test_a_store_is_never_replaced_by_its_own_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, how: str
) -> None:
    data = tmp_path / "data"
    with Store.open(data, owner=True) as store:
        store.commit(Batch(submitted=[row(0)]))
        if how == "link" and not (data / name).exists():
            pytest.skip("SQLite has no such file here")
        target = _path_to(data / name, how)
        monkeypatch.chdir(tmp_path)
        before = _inodes(tmp_path)

        with pytest.raises(ConflictError, match="belongs to the store"):
            back_up(data, target, replace=True)
        with pytest.raises(ConflictError, match="belongs to the store"):
            keep_copy(_never(), target, data, replace=True)

        assert _inodes(tmp_path) == before


def test_the_store_of_another_data_directory_is_not_replaced_by_a_copy(tmp_path: Path) -> None:
    Store.open(tmp_path / "one", owner=True).close()
    Store.open(tmp_path / "two", owner=True).close()
    before = _inodes(tmp_path)

    with pytest.raises(ConflictError, match=r"belongs to the store in .*/two"):
        back_up(tmp_path / "one", tmp_path / "two" / NAME, replace=True)

    assert _inodes(tmp_path) == before


def _path_to(path: Path, how: str) -> Path:
    """Give another path to a file beside its folder."""
    if how == "relative":
        return Path("data", "..", "data", path.name)
    other = path.parent.parent / "other"
    if how == "symlink":
        other.symlink_to(path)
    elif how == "link":
        os.link(path, other)
    return path if how == "path" else other


def _inodes(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_ino for path in folder.rglob("*")}


def _never() -> Iterator[bytes]:
    raise AssertionError("the copy was asked for")
    yield b""


def test_there_is_no_copy_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no store"):
        back_up(tmp_path, tmp_path / "copy")

    assert not (tmp_path / "copy").exists()


def test_a_damaged_store_gives_no_copy(tmp_path: Path) -> None:
    with Store.open(tmp_path / "data", owner=True) as store:
        store.commit(Batch(submitted=[row(n) for n in range(500)]))
    path = tmp_path / "data" / NAME
    image = bytearray(path.read_bytes())
    connection = sqlite3.connect(path)
    (page,) = connection.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'workflows_by_creation'"
    ).fetchone()
    connection.close()
    start = (page - 1) * 4096
    image[start + 8 : start + 4096] = bytes(4088)
    path.write_bytes(image)

    with pytest.raises(StoreError):
        back_up(tmp_path / "data", tmp_path / "copy")

    assert [each.name for each in tmp_path.iterdir()] == ["data"]


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    Store.open(tmp_path / "data", owner=True).close()

    with pytest.raises(StoreError, match="No such file"):
        back_up(tmp_path / "data", tmp_path / "nowhere" / "copy")
