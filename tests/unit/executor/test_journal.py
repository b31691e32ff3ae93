"""The journal tells after a crash what was begun and what had ended."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tiphys.executor import journal as journals
from tiphys.executor.journal import Begun, Epoch, Forgotten, Journal, Pid, seal
from tiphys.executor.protocol import ContainerExit, Ended

BEGUN = Begun("a.1", "/folder", "process", 1.0)
PID = Pid("a.1", "main", 77, 123.45, "boot")
ENDED = Ended("a.1", 2.0, (ContainerExit("main", 0, 1.0, 2.0),))


def written(path: Path, *entries: journals.Entry) -> Journal:
    journal = Journal(path)
    journal.write(b"".join(map(seal, entries)))
    journal.close()
    return Journal(path)


def test_what_was_begun_and_not_ended_is_known_with_its_processes(tmp_path: Path) -> None:
    journal = written(tmp_path / "j", BEGUN, PID)

    assert journal.begun == {"a.1": BEGUN}
    assert journal.pids == {"a.1": [PID]}
    assert journal.knows("a.1")


def test_an_end_is_kept_until_it_is_forgotten(tmp_path: Path) -> None:
    assert written(tmp_path / "j", BEGUN, PID, ENDED).ended == {"a.1": ENDED}
    journal = written(tmp_path / "j", Forgotten("a.1"))

    assert not journal.knows("a.1")


@pytest.mark.parametrize("cut", range(1, len(seal(ENDED)) + 1))
def test_a_torn_end_of_the_file_is_cut_off(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "j"
    written(path, BEGUN, ENDED).close()
    path.write_bytes(path.read_bytes()[:-cut])

    journal = Journal(path)

    assert journal.begun == {"a.1": BEGUN}
    assert journal.ended == {}
    journal.write(seal(ENDED))
    journal.close()
    assert Journal(path).ended == {"a.1": ENDED}


def test_a_flipped_bit_hides_what_follows_but_not_what_is_before(tmp_path: Path) -> None:
    path = tmp_path / "j"
    written(path, BEGUN, ENDED).close()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)

    assert Journal(path).begun == {"a.1": BEGUN}


def test_compaction_keeps_what_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "j"
    others = [e for i in range(50) for e in (Begun(f"o.{i}", "/f", "x", 1.0), Ended(f"o.{i}", 1.0))]
    journal = written(
        path, Epoch(7), *others, *(Forgotten(f"o.{i}") for i in range(50)), BEGUN, PID
    )
    before = path.stat().st_size

    journal.compact()
    journal.write(seal(ENDED))
    journal.close()

    again = Journal(path)
    assert (again.epoch, again.ended, again.begun) == (7, {"a.1": ENDED}, {})
    assert path.stat().st_size < before


def test_a_write_that_fails_leaves_no_trace(tmp_path: Path) -> None:
    journal = written(tmp_path / "j", BEGUN)
    size = (tmp_path / "j").stat().st_size
    journal.close()

    with pytest.raises(OSError, match="Bad file descriptor"):
        journal.write(seal(ENDED))

    assert (tmp_path / "j").stat().st_size == size


@pytest.mark.parametrize(
    ("boots", "in_doubt"),
    [
        (["one"], False),
        (["one", "one"], False),
        (["one", "two"], True),
        (["one", "two", "two"], True),
        (["", "two"], False),
        (["one", "end", "two"], False),
        (["one", "two", "end", "two"], True),
        (["one", "two", "end", "three"], True),
    ],
)
def test_after_the_machine_went_down_the_last_beginnings_may_be_missing(
    tmp_path: Path, boots: list[str], in_doubt: bool
) -> None:
    journal = Journal(tmp_path / "j", boots[0])
    for boot in boots[1:]:
        if boot == "end":
            journal.end()
            continue
        journal.close()
        journal = Journal(tmp_path / "j", boot)

    assert journal.is_in_doubt("a.1") == in_doubt


def test_once_it_is_known_which_attempts_there_are_the_others_are_not_in_doubt(
    tmp_path: Path,
) -> None:
    Journal(tmp_path / "j", "one").close()
    journal = Journal(tmp_path / "j", "two")

    entries = journal.settle(["a.1", "b.1"])
    journal.write(b"".join(map(seal, entries)))
    journal.compact()
    journal.close()

    again = Journal(tmp_path / "j", "two")
    assert [again.is_in_doubt(name) for name in ("a.1", "b.1", "c.1")] == [True, True, False]
    again.note(BEGUN)
    assert not again.is_in_doubt("a.1")
    assert again.settle(["c.1"]) == []


def test_compaction_keeps_the_doubt(tmp_path: Path) -> None:
    Journal(tmp_path / "j", "one").close()
    journal = Journal(tmp_path / "j", "two")
    journal.compact()
    journal.close()

    assert Journal(tmp_path / "j", "two").is_in_doubt("a.1")


def test_after_a_failed_sync_nothing_is_taken_before_all_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "j", "one")
    journal.note(BEGUN)

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "the disk is broken")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fdatasync", fail)
        with pytest.raises(OSError, match="broken"):
            journal.write(seal(BEGUN))
    with pytest.raises(OSError, match="Input/output"):
        journal.write(seal(PID), durable=False)
    journal.compact()
    journal.write(seal(ENDED))
    journal.close()

    assert Journal(tmp_path / "j").ended == {"a.1": ENDED}


def test_a_full_disk_keeps_no_executor_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as disk:
        disk.setattr(os, "pwrite", full)
        journal = Journal(tmp_path / "j", "one")
    journal.write(seal(BEGUN), durable=False)
    journal.close()

    again = Journal(tmp_path / "j", "two")
    assert again.is_in_doubt("b.1")
    assert again.begun == {"a.1": BEGUN}
