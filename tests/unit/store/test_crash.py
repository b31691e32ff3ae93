"""Sudden ends: the process killed at any instant, the disk full."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tiphys.errors import StoreFullError
from tiphys.store import Batch, NodeRow, Store, WorkflowRow
from tiphys.store.sqlite import NAME
from tiphys.store.writer import Writer

# Commits batches of one workflow and ten nodes, and says which of them are durable.
WRITE = """
import os, signal, sys
from pathlib import Path
from tiphys.store import Batch, NodeRow, Store, WorkflowRow

store = Store.open(Path(sys.argv[1]), owner=True)
deadly, rounds = sys.argv[2], int(sys.argv[3])

def trace(statement):
    if deadly and statement.startswith(deadly):
        os.kill(os.getpid(), signal.SIGKILL)

for i in range(rounds):
    if i == rounds - 1:
        store._writer._connection.set_trace_callback(trace)
    row = WorkflowRow(uid=f"u{i}", name=f"w{i}", namespace="n", created_at=float(i))
    nodes = [
        NodeRow(uid=f"u{i}", seq=k, id=f"n{k}", phase="Running", type="Pod", name="n", body=b"{}")
        for k in range(10)
    ]
    store.commit(Batch(submitted=[row], nodes=nodes))
    os.write(1, b"%d\\n" % i)
store.close()
"""


# Does the same, and tries again whatever the store could not do; says what went wrong.
INSIST = """
import sys
from pathlib import Path
from tiphys.errors import StoreError
from tiphys.store import Batch, NodeRow, Store, WorkflowRow

def insist(work):
    for _ in range(5):
        try:
            return work()
        except StoreError as error:
            print(error.code, flush=True)
    sys.exit("five times in vain")

store = insist(lambda: Store.open(Path(sys.argv[1]), owner=True))
for i in range(3):
    row = WorkflowRow(uid=f"u{i}", name=f"w{i}", namespace="n", created_at=float(i))
    nodes = [
        NodeRow(uid=f"u{i}", seq=k, id=f"n{k}", phase="Running", type="Pod", name="n", body=b"{}")
        for k in range(10)
    ]
    insist(lambda: store.commit(Batch(submitted=[row], nodes=nodes)))
store.close()
"""


def row(name: str, size: int = 0) -> WorkflowRow:
    return WorkflowRow(
        uid=f"u-{name}", name=name, namespace="n", created_at=1.0, manifest=b"x" * size
    )


def nodes(uid: str, count: int, body: bytes = b"{}") -> list[NodeRow]:
    return [
        NodeRow(uid=uid, seq=seq, id=f"n{seq}", phase="Running", type="Pod", name="n", body=body)
        for seq in range(count)
    ]


def fill(path: Path) -> None:
    """Write until the disk is full."""
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


def check_whole(folder: Path, acknowledged: int) -> int:
    """Check that every acknowledged batch is there and none in part; give how many there are."""
    connection = sqlite3.connect(folder / NAME)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    with Store.open(folder, owner=True) as store:
        found = store.workflows(limit=-1, newest_first=False)
        assert [w.name for w in found] == [f"w{i}" for i in range(len(found))]
        assert len(found) >= acknowledged
        assert all(len(list(store.nodes(w.uid))) == 10 for w in found)
    return len(found)


@pytest.mark.parametrize("deadly", ["INSERT INTO nodes", "COMMIT"])
def test_a_process_killed_before_its_commit_leaves_nothing_of_it(
    tmp_path: Path, deadly: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WRITE, str(tmp_path), deadly, "3"], capture_output=True, check=False
    )

    assert done.returncode == -signal.SIGKILL
    assert done.stdout.split() == [b"0", b"1"]
    assert check_whole(tmp_path, acknowledged=2) == 2


def test_a_reader_finds_what_a_killed_owner_had_committed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITE, str(tmp_path), "COMMIT", "3"]
    subprocess.run(command, capture_output=True, check=False)

    with Store.open(tmp_path, owner=False) as reader:
        assert [found.name for found in reader.workflows()] == ["w1", "w0"]


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_process_killed_at_any_of_its_syncs_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    for number in range(1, 30):
        folder = tmp_path / str(number)
        inject = f"inject=fsync,fdatasync:signal=KILL:when={number}"
        command = ["strace", "-f", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", inject]
        command += [sys.executable, "-c", WRITE, str(folder), "", "3"]
        done = subprocess.run(command, capture_output=True, check=False)
        if b"ptrace" in done.stderr.lower():
            pytest.skip("this machine does not let strace trace")
        assert done.returncode in {0, -signal.SIGKILL, 128 + signal.SIGKILL}, done.stderr
        check_whole(folder, acknowledged=len(done.stdout.split()))
        if done.returncode == 0:
            assert number > 3, "no sync was ever met"
            return
    pytest.fail("the process never came to its end")


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize(("fault", "code"), [("ENOSPC", "storage_full"), ("EIO", "store_error")])
@pytest.mark.parametrize(
    ("call", "points"), [("pwrite64", range(2, 62, 6)), ("fdatasync", range(1, 10))]
)
def test_a_write_that_fails_once_leaves_nothing_half_done_and_can_be_tried_again(
    tmp_path: Path, call: str, points: range, fault: str, code: str
) -> None:
    told: list[str] = []
    for number in points:
        folder = tmp_path / str(number)
        folder.mkdir()
        command = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={call}"]
        command += ["-e", f"inject={call}:error={fault}:when={number}", "-P", str(folder / NAME)]
        command += ["-P", f"{folder / NAME}-wal", sys.executable, "-c", INSIST, str(folder)]
        done = subprocess.run(command, capture_output=True, check=False, text=True)
        if "ptrace" in done.stderr.lower():
            pytest.skip("this machine does not let strace trace")
        assert done.returncode == 0, f"{call} {number}: {done.stderr}"
        assert check_whole(folder, acknowledged=3) == 3
        told += done.stdout.split()

    assert told
    if call == "pwrite64":
        assert set(told) == {code}


def test_a_full_store_refuses_whole_batches_and_goes_on_once_there_is_room(tmp_path: Path) -> None:
    with Store.open(tmp_path, owner=True) as store:
        store.commit(Batch(submitted=[row("first")]))
        assert isinstance(store._writer, Writer)
        pragma = store._writer._connection.execute
        pages = pragma("PRAGMA page_count").fetchone()[0]
        pragma(f"PRAGMA max_page_count = {pages + 4}")

        big = Batch(submitted=[row("big")], nodes=nodes("u-big", 100, b"x" * 1000))
        with pytest.raises(StoreFullError):
            store.commit(big)
        assert [found.name for found in store.workflows()] == ["first"]
        pragma("PRAGMA max_page_count = 1000000")
        store.commit(big)

        assert len(list(store.nodes("u-big"))) == 100


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_told_apart_and_work_goes_on_once_there_is_room(small_disk: Path) -> None:
    with Store.open(small_disk / "data", owner=True) as store:
        store.commit(Batch(submitted=[row("kept")]))
        ballast = small_disk / "ballast"
        fill(ballast)

        big = Batch(submitted=[row("big", 300_000)], nodes=nodes("u-big", 50))
        for _ in range(3):
            with pytest.raises(StoreFullError, match="no room left"):
                store.commit(big)
        while_full = [found.name for found in store.workflows()]
        ballast.unlink()
        store.commit(big)

        assert while_full == ["kept"]
        assert len(list(store.nodes("u-big"))) == 50
    with Store.open(small_disk / "data", owner=False) as reader:
        assert reader.count_workflows() == 2
