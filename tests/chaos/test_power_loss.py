"""The power fails: what was acknowledged is there, and the database is whole.

A real ext4 in a file is shut down under the server, so that everything that is not on the disk is
lost, and mounted again; the next server sees another boot of the machine. Needs root, loop devices
and mkfs.ext4.
"""

from __future__ import annotations

import random
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.disk import Ext4, why_not
from tests.chaos.flow import shell, workflow
from tests.chaos.helm import FULL, Helm, Served, seed_of_run, wait_until
from tiphys.errors import TiphysError
from tiphys.testing.ledger import BEGAN, Ledger

CUTS = 200 if FULL else 3
NOT_HERE = why_not("mkfs.ext4", "losetup", "unshare")
ENDS = {"Succeeded", "Error", "Failed"}
BOOT_ID = "/proc/sys/kernel/random/boot_id"
pytestmark = pytest.mark.timeout(7200 if FULL else 300)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Ext4]:
    made = Ext4(tmp_path)
    problem = made.make()
    if problem:
        pytest.skip(f"no disk can be made here: {problem}")
    yield made
    made.close()


class Submitter(threading.Thread):
    """Submits small workflows, one after another, and keeps the names of those acknowledged."""

    def __init__(self, helm: Helm, prefix: str) -> None:
        super().__init__(daemon=True)
        self._helm = helm
        self._prefix = prefix
        self.acknowledged: list[str] = []

    def run(self) -> None:
        """Submit until nobody answers."""
        task = {**shell("main", "echo hello"), "inputs": {}}
        for number in range(10_000):
            name = f"{self._prefix}-{number}"
            try:
                self._helm.hand_in(workflow(name, [task]))
            except (TiphysError, AssertionError, OSError):
                return
            self.acknowledged.append(name)


def _up(helm: Helm, number: int) -> Served:
    """Have a server at work on a machine that was switched on once more."""
    boot = helm.folder / f"boot-{number}"
    boot.write_text(f"{uuid.uuid4()}\n")
    place = f'mount --bind "$0" {BOOT_ID} && exec "$@"'
    served = helm.serve("unshare", "--mount", "sh", "-c", place, str(boot))
    served.wait_ready()
    return served


def _cut_power(helm: Helm, disk: Ext4, served: Served) -> None:
    """Lose what is not on the disk, end everything, and have the disk as it was left."""
    disk.cut_power()
    served.kill()
    for pid in helm.executors():
        helm.kill(pid)
    wait_until(lambda: not helm.executors() and not disk.unmount(), "the end of the disk")
    wait_until(lambda: not disk.mount(), "the disk as it was left")


def _cut(helm: Helm, disk: Ext4, number: int, chance: random.Random) -> list[str]:
    """Have a server at work, and cut the power; give what it had acknowledged."""
    served = _up(helm, number)
    submitter = Submitter(helm, f"cut{number}")
    submitter.start()
    least = chance.randint(1, 25)
    wait_until(lambda: len(submitter.acknowledged) >= least, "some submissions")
    _cut_power(helm, disk, served)
    submitter.join(60)
    return submitter.acknowledged


@pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE)
def test_acknowledged_submissions_survive_and_the_database_is_whole(
    disk: Ext4, tmp_path: Path, record_property: Any
) -> None:
    seed = seed_of_run()
    chance = random.Random(seed)
    acknowledged: list[str] = []
    with Helm(tmp_path, data=disk.mounted / "data") as helm:
        for number in range(CUTS):
            acknowledged += _cut(helm, disk, number, chance)

            left = sorted(path.name for path in helm.data.iterdir())
            assert "tiphys.db" in left, f"seed {seed}, cut {number}: {left}"
            stored = {name for (name,) in helm.query("SELECT name FROM workflows")}
            assert set(acknowledged) - stored == set(), f"seed {seed}, cut {number}"
            assert helm.integrity() == "ok", f"seed {seed}, cut {number}"
        _up(helm, CUTS)
        for name in acknowledged[-20:]:
            assert helm.ask("wait", key=name)["phase"] in ENDS
    record_property("cuts", CUTS)
    record_property("acknowledged", len(acknowledged))


def _wait_for_more(ledger: Ledger, entries: int) -> None:
    least = len(ledger.entries()) + entries
    wait_until(lambda: len(ledger.entries()) >= least, "some tasks")


@pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE)
def test_nothing_starts_twice_whatever_the_disk_forgets(
    disk: Ext4, tmp_path: Path, record_property: Any
) -> None:
    seed = seed_of_run()
    chance = random.Random(seed)
    ledger = Ledger(tmp_path / "ledger")
    # One after another, and so short that each cut finds one that has just begun.
    steps = [[{"name": f"s{number}", "template": "task"}] for number in range(500)]
    task = {**shell("task", ledger.script("task")), "inputs": {}}
    with Helm(tmp_path, data=disk.mounted / "data") as helm:
        for number in range(CUTS):
            served = _up(helm, number)
            helm.hand_in(workflow(f"cut{number}", [{"name": "main", "steps": steps}, task]))
            _wait_for_more(ledger, chance.randint(1, 60))
            _cut_power(helm, disk, served)
        _up(helm, CUTS)
        for number in range(CUTS):
            # Not always an error: the end of its last task may be all that was saved.
            assert helm.ask("wait", key=f"cut{number}")["phase"] in ENDS, f"seed {seed}"

    starts = Counter(entry.attempt for entry in ledger.entries() if entry.word == BEGAN)
    assert [attempt for attempt, times in starts.items() if times > 1] == [], f"seed {seed}"
    record_property("cuts", CUTS)
    record_property("starts", len(starts))


@pytest.mark.parametrize("tail", [bytes(4096), bytes(3), b"\x10\0\0\0torn", b"\xff" * 64])
def test_a_journal_whose_last_write_came_back_broken_is_cut_off(
    tmp_path: Path, tail: bytes
) -> None:
    task = {**shell("main", "sleep 600"), "inputs": {}}
    with Helm(tmp_path) as helm:
        served = helm.up()
        helm.hand_in(workflow("first", [task]))
        wait_until(lambda: bool(helm.tasks()), "the task")
        served.kill()
        for pid in helm.executors():
            helm.kill(pid)
        wait_until(lambda: not helm.executors(), "the end of the executor")
        with open(helm.data / "executor" / "journal", "ab") as journal:
            journal.write(tail)

        helm.up()

        assert helm.ask("wait", key="first")["phase"] == "Error"
        helm.hand_in(workflow("second", [{**shell("main", "true"), "inputs": {}}]))
        assert helm.ask("wait", key="second")["phase"] == "Succeeded"
