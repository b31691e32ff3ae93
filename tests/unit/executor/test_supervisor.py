"""Attempts that are stopped while the disk is full and their beginning is not on record."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.executor.disk import Disk, work

from tiphys.executor import supervisor as supervisors
from tiphys.executor.committer import Committer
from tiphys.executor.group import Groups
from tiphys.executor.journal import Journal
from tiphys.executor.protocol import (
    Attempt,
    ContainerRun,
    Ended,
    Event,
    Probe,
    Probed,
    Started,
    Unknown,
)
from tiphys.executor.rooms import Rooms
from tiphys.executor.supervisor import Supervisor


class Bench:
    """A supervisor, with what it stands on."""

    def __init__(self, folder: Path, boot: str = "") -> None:
        self.journal = Disk(folder / "journal", boot)
        self.committer = Committer(self.journal)
        self.told: list[Event] = []
        groups = Groups(f"tiphys-test-{os.getpid()}")
        rooms = Rooms(folder / "rooms")
        self.supervisor = Supervisor(
            self.journal, self.committer, None, rooms, groups, self.told.append
        )


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    bench.journal.full = True
    yield bench
    bench.committer.close()
    bench.supervisor.close(at_home=True)


def attempt(folder: Path) -> Attempt:
    return Attempt("a.1", str(folder / "a.1"), (ContainerRun("main", ("true",), {}),))


def test_one_that_is_stopped_before_the_disk_refuses_it_ends_once(
    bench: Bench, tmp_path: Path
) -> None:
    bench.supervisor.start([attempt(tmp_path)])
    bench.committer.kick()
    bench.supervisor.stop(["a.1"], 0.0)
    work(bench.committer)

    (ended,) = bench.told
    assert isinstance(ended, Ended)
    assert (ended.id, ended.reason) == ("a.1", "stopped")


def test_one_that_is_stopped_after_the_disk_refused_it_is_not_begun_later(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisors, "RETRY_COMMIT", 0.0)
    bench.supervisor.start([attempt(tmp_path)])
    bench.supervisor.stop(["a.1"], 0.0)
    bench.journal.full = False
    bench.supervisor.run_timers()
    bench.committer.close()
    bench.committer = Committer(bench.journal)

    found = Journal(tmp_path / "journal")
    assert (set(found.begun), set(found.ended)) == (set(), {"a.1"})
    assert [event.reason for event in bench.told if isinstance(event, Ended)] == ["stopped"]


@pytest.mark.parametrize(
    ("boot", "is_ours", "told"),
    [
        ("one", False, Unknown("a.1")),
        ("two", True, Unknown("a.1")),
        ("two", False, "lost"),
    ],
)
def test_an_attempt_that_may_have_begun_before_the_machine_went_down_is_lost(
    tmp_path: Path, boot: str, is_ours: bool, told: Unknown | str
) -> None:
    Journal(tmp_path / "journal", "one").close()
    bench = Bench(tmp_path, boot)

    bench.supervisor.attend("a.1", is_ours=is_ours)
    bench.committer.close()
    bench.supervisor.close(at_home=True)

    (event,) = bench.told
    assert (event.reason if isinstance(event, Ended) else event) == told
    # Whoever asks again, of whatever executor, hears the same.
    assert ("a.1" in Journal(tmp_path / "journal", "two").ended) == (told == "lost")


def test_a_probe_is_born_in_no_attempts_group(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    run = ContainerRun("main", ("sleep", "60"), {"PATH": os.environ["PATH"]}, cwd="/")
    look = ("/bin/sh", "-c", f"cat /proc/self/cgroup > {tmp_path}/own")
    attempts = [Attempt("a.1", str(tmp_path / "a.1"), (run,), isolation="process")]

    bench.supervisor.start(attempts)
    (started,) = bench.told
    bench.supervisor.probe(Probe("a.1", "main", look, 7, 30.0))
    while not any(isinstance(event, Probed) for event in bench.told):
        bench.supervisor.reap()
    bench.supervisor.stop(["a.1"], 0.0)
    while not any(isinstance(event, Ended) for event in bench.told):
        bench.supervisor.reap()
        bench.supervisor.run_timers()
    bench.committer.close()
    bench.supervisor.close(at_home=True)

    assert isinstance(started, Started)
    assert (tmp_path / "own").read_text() == Path("/proc/self/cgroup").read_text()


def test_a_container_is_tried_again_after_processes_that_it_left(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.supervisor.warm_up()
    script = f"sleep 60 & test -e {tmp_path}/second || {{ touch {tmp_path}/second; exit 1; }}"
    env = {"PATH": os.environ["PATH"]}
    runs = (
        ContainerRun("main", ("sh", "-c", script), env, cwd="/", retries=1, retry_wait=1.0),
        # When it ends nothing runs, and what was left behind is ended.
        ContainerRun("other", ("sleep", "0.2"), env, cwd="/"),
    )

    bench.supervisor.start([Attempt("a.1", str(tmp_path / "a.1"), runs, isolation="process")])
    while not any(isinstance(event, Ended) for event in bench.told):
        bench.supervisor.reap()
        bench.supervisor.run_timers()
    bench.committer.close()
    bench.supervisor.close(at_home=True)

    (ended,) = (event for event in bench.told if isinstance(event, Ended))
    assert [(one.name, one.code, one.error) for one in ended.containers] == [
        ("main", 0, ""),
        ("other", 0, ""),
    ]
