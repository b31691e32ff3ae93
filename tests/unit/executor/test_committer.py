"""Entries become durable in the order of what happened; those nobody waits for as well."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
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


def _note(seen: list[str], name: str, error: OSError | None) -> None:
    seen.append(name)


def test_between_two_callbacks_others_have_a_turn(disk: Disk) -> None:
    seen: list[str] = []
    committer = Committer(disk, lambda: seen.append("between"))

    for name in ("a.1", "b.1", "c.1"):
        committer.add(begun(name), partial(_note, seen, name))
    work(committer)
    committer.close()

    assert seen == ["a.1", "between", "b.1", "between", "c.1"]


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
    committer.add(begun("a.1"), lambda error: None)
    committer.owe(ended("a.1"))
    committer.note(Forgotten("a.1"))
    committer.add(begun("a.1"), lambda error: None)
    work(committer)
    committer.close()

    journal = Journal(tmp_path / "j")
    assert (set(journal.begun), set(journal.ended)) == ({"a.1"}, set())
