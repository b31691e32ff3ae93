"""After the machine went down: what may have begun is lost, and what surely had not is started."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.machine import Machine, shell
from tiphys.executor.journal import Journal
from tiphys.ports import Task


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine that was switched on again."""
    (tmp_path / "data" / "executor").mkdir(parents=True)
    Journal(tmp_path / "data" / "executor" / "journal", "a boot before this").close()
    with Machine(tmp_path / "data", "process") as machine:
        yield machine


def marking(machine: Machine, mark: Path) -> Task:
    return machine.task(shell(f"echo began >> {mark}"))


def end_executor(machine: Machine, number: signal.Signals) -> None:
    _, runtime = machine._pair
    os.kill(runtime.executor_pid, number)


def connected(machine: Machine) -> bool:
    return machine._pair[1].connected


def test_an_attempt_of_an_earlier_server_is_lost(machine: Machine, tmp_path: Path) -> None:
    task = marking(machine, tmp_path / "mark")

    machine.attach([task])

    assert machine.end_of(task).lost
    assert not (tmp_path / "mark").exists()


def test_it_is_lost_also_where_the_executor_was_away_when_it_was_asked(
    machine: Machine, tmp_path: Path
) -> None:
    task = marking(machine, tmp_path / "mark")
    end_executor(machine, signal.SIGKILL)
    machine.wait_until(lambda: not connected(machine))

    machine.attach([task])

    assert machine.end_of(task).lost
    assert not (tmp_path / "mark").exists()


def test_it_is_lost_also_where_the_executor_died_over_the_question(
    machine: Machine, tmp_path: Path
) -> None:
    task = marking(machine, tmp_path / "mark")
    end_executor(machine, signal.SIGSTOP)
    machine.attach([task])

    end_executor(machine, signal.SIGKILL)

    assert machine.end_of(task).lost
    assert not (tmp_path / "mark").exists()


def test_what_this_server_orders_begins(machine: Machine, tmp_path: Path) -> None:
    end = machine.run(shell(f"echo began >> {tmp_path / 'mark'}"))

    assert end.phase == "Succeeded"


def test_what_is_ordered_once_all_was_taken_up_is_in_no_doubt(
    machine: Machine, tmp_path: Path
) -> None:
    runner, runtime = machine._pair
    before, after = marking(machine, tmp_path / "before"), marking(machine, tmp_path / "after")
    runner.run(runtime.keep([before.id]))

    machine.attach([before, after])

    assert machine.end_of(before).lost
    assert machine.end_of(after).phase == "Succeeded"
    assert not (tmp_path / "before").exists()


def test_the_doubt_outlives_the_executor(machine: Machine, tmp_path: Path) -> None:
    _, runtime = machine._pair
    task, first = marking(machine, tmp_path / "mark"), runtime.executor_pid
    machine.close()
    while os.path.exists(f"/proc/{first}"):
        os.sched_yield()
    machine.open()

    machine.attach([task])

    assert machine._pair[1].executor_pid != first
    assert machine.end_of(task).lost
    assert not (tmp_path / "mark").exists()


def test_one_that_was_stopped_while_the_executor_was_away_never_begins(
    machine: Machine, tmp_path: Path
) -> None:
    task = marking(machine, tmp_path / "mark")
    end_executor(machine, signal.SIGKILL)
    machine.wait_until(lambda: not connected(machine))

    machine.start_and_stop(task)

    assert machine.end_of(task).stopped
    assert not (tmp_path / "mark").exists()
