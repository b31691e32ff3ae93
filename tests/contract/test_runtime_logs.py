"""What a task writes is in its logs, all of it and in order, however it is written."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from tests.contract.machine import Machine, shell
from tiphys.ports import Task
from tiphys.runtimes.logs import LogReader
from tiphys.spec import model

FLOODS = 8
FLOOD = "seq 1 8500000"
"""64 MiB, each line different from all others."""


def lines_of(machine: Machine, task: Task, stream: str) -> list[str]:
    lines = LogReader(machine.folder(task)).read(final=True)
    return [line.text for line in lines if line.stream == stream]


def test_logs_are_split_by_stream_and_complete(machine: Machine) -> None:
    task = machine.start(shell("for i in $(seq 2000); do echo out$i; echo err$i >&2; done"))
    machine.end_of(task)

    lines = list(LogReader(machine.folder(task)).read(final=True))

    assert [line.text for line in lines if line.stream == "stdout"] == [
        f"out{i}" for i in range(1, 2001)
    ]
    assert [line.text for line in lines if line.stream == "stderr"] == [
        f"err{i}" for i in range(1, 2001)
    ]


def test_the_result_is_the_end_of_a_long_output(machine: Machine) -> None:
    end = machine.run(shell("head -c 1000000 /dev/zero | tr '\\0' x; echo; echo end"))

    assert end.outputs is not None
    assert end.outputs.result is not None
    assert len(end.outputs.result) == 256 * 1024 - 1
    assert end.outputs.result.endswith("x\nend")


def test_a_log_past_its_cap_keeps_its_end_and_frees_the_rest(
    isolation: str, tmp_path: Path
) -> None:
    with Machine(tmp_path / "data", isolation, log_cap=1 << 20) as machine:
        if not machine.usable:
            pytest.skip(f"no {isolation} on this machine: {machine.why}")
        task = machine.start(shell("seq -w 4000000 | head -c 30000000; echo; sleep 0.5; echo end"))
        machine.end_of(task)
        log = machine.folder(task) / "main.stdout"

        lines = [line.text for line in LogReader(machine.folder(task)).read(final=True)]

        assert log.stat().st_size > 30_000_000
        assert log.stat().st_blocks * 512 < 4 << 20
        assert lines[-1] == "end"
        numbers = [int(line) for line in lines[:-2]]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert len(numbers) > 50_000


def test_a_stream_opened_again_by_its_name_loses_nothing(machine: Machine) -> None:
    again = (
        "echo first; for i in $(seq 300); do echo e$i > /dev/stderr; echo o$i > /dev/stdout; done"
    )
    task = machine.start(shell(f"{again}; echo t | tee /dev/stderr; echo last"))
    machine.end_of(task)

    numbers = range(1, 301)
    assert lines_of(machine, task, "stdout") == ["first", *(f"o{i}" for i in numbers), "t", "last"]
    assert lines_of(machine, task, "stderr") == [*(f"e{i}" for i in numbers), "t"]


def test_floods_of_several_tasks_at_once_are_complete(machine: Machine) -> None:
    expected = subprocess.run(["sh", "-c", f"{FLOOD} | sha256sum"], capture_output=True, check=True)
    tasks = [machine.task(shell(FLOOD)) for _ in range(FLOODS)]
    machine.start_tasks(tasks)

    for task in tasks:
        assert machine.end_of(task).phase == "Succeeded"
        with open(machine.folder(task) / "main.stdout", "rb") as log:
            digest = hashlib.file_digest(log, "sha256").hexdigest()
        assert digest == expected.stdout.split()[0].decode()


def test_what_a_task_wrote_just_before_its_end_is_there(machine: Machine) -> None:
    # One write that fills the pipe, then the end at once.
    tasks = [machine.task(shell("head -c 65536 /dev/zero; exec true")) for _ in range(20)]
    machine.start_tasks(tasks)

    for task in tasks:
        machine.end_of(task)
        assert (machine.folder(task) / "main.stdout").read_bytes() == bytes(65536)


def test_a_process_that_holds_the_output_open_does_not_delay_the_end(machine: Machine) -> None:
    mark = f"55{os.getpid()}"
    task = machine.start(shell(f"echo before; setsid sleep {mark} & setsid yes >&2 & echo after"))

    end = machine.end_of(task)

    assert end.phase == "Succeeded"
    assert lines_of(machine, task, "stdout") == ["before", "after"]
    assert machine.processes(f"sleep {mark}") == []


def test_a_task_that_is_killed_keeps_what_it_wrote(machine: Machine) -> None:
    task = machine.start(shell("echo up; seq 100; kill -9 $$$$"))
    machine.end_of(task)

    assert lines_of(machine, task, "stdout") == ["up", *(str(i) for i in range(1, 101))]


def test_a_line_can_be_read_while_its_task_runs(machine: Machine) -> None:
    task = machine.start(shell("echo up; sleep 600"))

    machine.wait_for_log(task, "up")

    machine.stop([task], grace=0)
    machine.end_of(task)


def test_a_task_that_writes_nothing_has_no_log_files(machine: Machine) -> None:
    task = machine.start(shell("true"))
    machine.end_of(task)

    assert list(machine.folder(task).glob("main.std*")) == []
    assert list(LogReader(machine.folder(task)).read(final=True)) == []


def test_a_member_that_is_tried_again_goes_on_with_its_log(machine: Machine) -> None:
    node = model.ContainerNode(name="a", command=("sh", "-c", "echo try; exit 1"))
    retry = model.ContainerSetRetryStrategy(retries="2")
    members = model.ContainerSetTemplate(containers=(node,), retry_strategy=retry)
    task = machine.start(model.Template(name="t", container_set=members))
    machine.end_of(task)

    assert lines_of(machine, task, "stdout") == ["try"] * 3


def test_another_user_may_open_its_output_again(isolation: str, machine: Machine) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    main = model.Container(
        command=("sh", "-c", "echo one; echo two > /dev/stdout"),
        security_context=model.SecurityContext(run_as_user=12345),
        working_dir="/",
    )
    task = machine.start(model.Template(name="t", container=main))
    machine.end_of(task)

    assert lines_of(machine, task, "stdout") == ["one", "two"]
