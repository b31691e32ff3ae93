"""What is only so with a container engine."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.engine_image import IMAGE, containers_of
from tests.contract.machine import Machine, shell
from tiphys.errors import RuntimeFailure
from tiphys.runtimes.config import ENGINES
from tiphys.spec import model


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def machine(engine: str, tmp_path: Path) -> Iterator[Machine]:
    with Machine(tmp_path / "data", engine) as machine:
        if not machine.usable:
            pytest.skip(f"no {engine} on this machine: {machine.why}")
        yield machine


def clients(engine: str, word: str) -> list[int]:
    """Return the processes of the engine's program with ``word`` in their arguments."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(f"/{engine}".encode()) and word.encode() in b" ".join(words):
            found.append(int(path.parent.name))
    return found


def test_the_image_itself_says_what_it_runs(machine: Machine) -> None:
    end = machine.run(model.Template(name="t", container=model.Container(image=IMAGE)))

    assert end.outputs is not None
    assert end.outputs.result == "from the image"


def test_an_image_that_is_not_there_is_a_clear_failure(machine: Machine) -> None:
    container = model.Container(
        image="localhost/tiphys-none:1", command=("true",), image_pull_policy="Never"
    )

    end = machine.run(model.Template(name="t", container=container))

    assert end.phase == "Failed"
    assert end.message.startswith("main: Error (exit code 125): ")
    assert "tiphys-none:1" in end.message


def test_a_task_that_itself_exits_with_an_engines_code_keeps_it(machine: Machine) -> None:
    codes = [125, 126, 127]

    messages = [machine.run(shell(f"exit {code}")).message for code in codes]

    assert messages == [f"main: Error (exit code {code})" for code in codes]


def test_the_container_goes_when_the_end_is_on_record(
    engine: str, machine: Machine, tmp_path: Path
) -> None:
    task = machine.start(shell("echo x"))
    machine.end_of(task)
    assert len(containers_of(engine, tmp_path / "data")) == 1

    machine.acknowledge([task])

    machine.wait_for_files(task, ["main.stdout"])
    machine.wait_until(lambda: not containers_of(engine, tmp_path / "data"))


def test_a_container_whose_client_was_killed_is_ended(engine: str, machine: Machine) -> None:
    mark = f"56{os.getpid()}"
    task = machine.start(shell(f"echo up; exec sleep {mark}"))
    machine.wait_for_log(task, "up")

    for pid in clients(engine, mark):
        os.kill(pid, signal.SIGKILL)
    end = machine.end_of(task)

    assert end.phase == "Failed"
    assert machine.processes(f"sleep {mark}") == []


def test_nothing_a_container_writes_reaches_the_host(machine: Machine) -> None:
    name = f"tiphys-test-{os.getpid()}"

    machine.run(shell(f"echo x > /tmp/{name}; echo x > /etc/{name}"))

    assert [p for p in ("/tmp", "/etc") if Path(p, name).exists()] == []


def test_a_value_of_several_lines_is_refused(machine: Machine) -> None:
    env = (model.EnvVar(name="TEXT", value="one\ntwo"),)
    container = model.Container(command=("env",), env=env)

    end = machine.run(model.Template(name="t", container=container))

    assert end.phase == "Error"
    assert "the variable TEXT has several lines" in end.message


def test_a_secret_stands_in_no_argument_list(machine: Machine) -> None:
    ref = model.SecretKeySelector(name="sec", key="pass")
    env = (model.EnvVar(name="X", value_from=model.EnvVarSource(secret_key_ref=ref)),)
    command = "test $X = s3cret && echo up; sleep 600"
    container = model.Container(
        command=("sh", "-c", command.replace("s3cret", "s3''cret")), env=env
    )
    task = machine.start(model.Template(name="t", container=container))
    machine.wait_for_log(task, "up")

    listed = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, check=True).stdout

    assert b"s3cret" not in listed
    machine.stop([task], grace=0)
    machine.end_of(task)


def test_a_machine_without_the_engine_says_so(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path / "data", engine, image=IMAGE)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(RuntimeFailure, match=f"{engine} is not on the PATH"):
        machine.open()

    machine.close()
