"""Entries become durable in the order of what happened; those nobody waits for as well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.executor.disk import Disk, work

from tiphys.executor import committer as committers
from tiphys.executor.committer import Committer
from tiphys.executor.journal import Begun, Forgotten, Journal
from tiphys.executor.protocol import Ended


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    journal = Disk(tmp_path / "j")
    yield journal
    journal.close()


def begun(name: str) -> Begun:
    return Begun(name, "/folder", "process", 1.0)


def ended(name: str) -> Ended:
    return Ended(name, 2.0)


def test_an_end_that_nobody_waits_for_goes_with_the_next_batch(disk: Disk, tmp_path: Path) -> None:
    committer = Committer(disk)
    errors: list[OSError | None] = []

    committer.owe(ended("a.1"))
    committer.kick()
    assert disk.syncs == 0
    committer.add(begun("b.1"), errors.append)
    work(committer)
    committer.close()

    assert (errors, disk.syncs) == ([None], 1)
    assert set(Journal(tmp_path / "j").ended) == {"a.1"}


def test_an_end_that_nobody_waits_for_is_soon_durable_by_itself(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committers, "OWED", 0.0)
    committer = Committer(disk)

    committer.owe(ended("a.1"))
    assert committer.patience == 0.0
    work(committer)

    assert disk.syncs == 1
    assert committer.patience is None
    committer.close()


def test_whoever_leaves_makes_durable_what_is_owed(disk: Disk, tmp_path: Path) -> None:
    committer = Committer(disk)

    committer.owe(ended("a.1"))
    committer.close()

    assert disk.syncs == 1
    assert set(Journal(tmp_path / "j").ended) == {"a.1"}


def test_what_was_owed_when_the_disk_was_full_is_written_later(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committers, "TRY_AGAIN", 0.0)
    monkeypatch.setattr(committers, "OWED", 0.0)
    committer = Committer(disk)

    disk.full = True
    committer.owe(ended("a.1"))
    work(committer)
    disk.full = False
    work(committer)
    committer.close()

    assert set(Journal(tmp_path / "j").ended) == {"a.1"}


def test_the_file_tells_what_happened_in_its_order(disk: Disk, tmp_path: Path) -> None:
    committer = Committer(disk)

    # Stopped before it could begin, forgotten, and begun anew.
    committer.write([begun("a.1")])
    committer.owe(ended("a.1"))
    committer.note(Forgotten("a.1"))
    committer.write([begun("a.1")])
    committer.close()

    journal = Journal(tmp_path / "j")
    assert (set(journal.begun), set(journal.ended)) == ({"a.1"}, set())


def test_what_is_written_at_once_is_there_before_it_is_durable_and_durable_soon(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committers, "OWED", 0.0)
    committer = Committer(disk)

    committer.write([begun("a.1"), begun("b.1")])

    assert set(Journal(tmp_path / "j").begun) == {"a.1", "b.1"}
    assert disk.syncs == 0
    work(committer)
    assert disk.syncs == 1
    committer.close()


def test_what_cannot_be_written_at_once_is_refused_and_comes_into_no_later_batch(
    disk: Disk, tmp_path: Path
) -> None:
    committer = Committer(disk)

    disk.full = True
    committer.note(ended("a.1"))
    with pytest.raises(OSError, match="full"):
        committer.write([begun("b.1")])
    disk.full = False
    committer.add(ended("c.1"), lambda error: None)
    work(committer)
    committer.close()

    journal = Journal(tmp_path / "j")
    assert (set(journal.begun), set(journal.ended)) == (set(), {"a.1", "c.1"})


def test_on_a_full_disk_what_is_owed_waits_for_its_time(disk: Disk) -> None:
    committer = Committer(disk)

    disk.full = True
    committer.owe(ended("a.1"))
    before = committer.patience
    committer.add(ended("b.1"), lambda error: None)
    work(committer)

    assert before is not None
    assert committer.patience is not None
    assert committer.patience > before
    disk.full = False
    committer.close()


def test_on_a_full_disk_nobody_who_owes_something_is_idle(disk: Disk) -> None:
    committer = Committer(disk)

    disk.full = True
    committer.owe(ended("a.1"))
    work(committer)

    assert not committer.idle
    assert not committer.close()


def test_a_journal_with_a_hole_is_written_anew(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committers, "TRY_AGAIN", 0.0)
    monkeypatch.setattr(committers, "OWED", 0.0)
    committer = Committer(disk)
    disk.note(begun("a.1"))
    committer.write([begun("a.1")])
    disk.is_torn = True
    (tmp_path / "j").write_bytes(bytes(64))

    with pytest.raises(OSError, match="error"):
        committer.write([begun("b.1")])
    work(committer)
    assert committer.close()

    assert set(Journal(tmp_path / "j").begun) == {"a.1"}
