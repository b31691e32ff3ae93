"""Volumes and artifacts of tasks without a sandbox, several of them at once and after a crash."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.contract.machine import Machine
from tiphys.spec import model


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with Machine(tmp_path / "data", "process") as made:
        yield made


def with_claim(command: str, target: Path) -> model.Template:
    claim = model.PersistentVolumeClaimVolumeSource(claim_name="shared")
    volume = model.Volume(name="v", persistent_volume_claim=claim)
    mount = model.VolumeMount(name="v", mount_path=str(target))
    main = model.Container(command=("sh", "-c", command), volume_mounts=(mount,))
    return model.Template(name="t", container=main, volumes=(volume,))


def with_input(command: str, target: Path, text: str) -> model.Template:
    raw = model.Artifact(name="in", path=str(target), raw=model.RawArtifact(data=text))
    main = model.Container(command=("sh", "-c", command))
    return model.Template(name="t", container=main, inputs=model.Inputs(artifacts=(raw,)))


def test_a_volume_stays_until_the_last_task_that_mounts_it_has_ended(
    machine: Machine, tmp_path: Path
) -> None:
    target, go = tmp_path / "v", tmp_path / "go"
    waits = f"echo in > {target}/begun; until [ -e {go} ]; do sleep 0.05; done; cat {target}/said"
    last = machine.start(with_claim(waits, target))
    machine.wait_until((target / "begun").exists)

    first = machine.run(with_claim(f"echo hello > {target}/said", target))
    assert first.phase == "Succeeded"
    go.touch()
    end = machine.end_of(last)

    assert end.outputs is not None
    assert end.outputs.result == "hello"
    assert not os.path.lexists(target)


def test_tasks_whose_artifacts_lie_at_the_same_path_come_one_after_the_other(
    machine: Machine, tmp_path: Path
) -> None:
    target = tmp_path / "in"
    tasks = [
        machine.task(with_input(f"sleep 0.1; cat {target}", target, text)) for text in "abcdef"
    ]

    machine.start_tasks(tasks)
    results = [end.outputs.result for t in tasks if (end := machine.end_of(t)).outputs is not None]

    assert results == list("abcdef")
    assert not os.path.lexists(target)


def test_one_that_waits_for_a_path_can_be_stopped(machine: Machine, tmp_path: Path) -> None:
    target = tmp_path / "in"
    holds = machine.start(with_input("sleep 600", target, "a"))
    machine.wait_until(target.exists)
    waits = machine.start(with_input("true", target, "b"))

    machine.stop([waits], grace=0)
    assert machine.end_of(waits).stopped

    machine.stop([holds], grace=0)
    assert machine.end_of(holds).stopped


def test_nobody_waits_for_a_path_that_a_daemon_has(machine: Machine, tmp_path: Path) -> None:
    target = tmp_path / "in"
    template = msgspec.structs.replace(with_input("sleep 600", target, "a"), daemon=True)
    daemon = machine.start(template)
    machine.wait_until(target.exists)

    end = machine.run(with_input("true", target, "b"))
    machine.stop([daemon], grace=0)
    machine.end_of(daemon)

    assert end.phase == "Error"
    assert "in use by another task" in end.message


def test_after_a_crash_the_next_server_takes_away_what_was_placed(
    machine: Machine, tmp_path: Path
) -> None:
    target, go = tmp_path / "new" / "v", tmp_path / "go"
    task = machine.start(with_claim(f"until [ -e {go} ]; do sleep 0.05; done", target))
    machine.wait_until(target.exists)
    machine.close()
    go.touch()

    machine.open()
    machine.attach([task])
    assert machine.end_of(task).phase == "Succeeded"

    assert not (tmp_path / "new").exists()
    assert os.listdir(tmp_path / "data" / "placed") == []


def test_a_link_to_nowhere_on_the_host_is_not_in_the_way_of_a_sandbox(tmp_path: Path) -> None:
    # Not below /tmp: of that a sandbox has its own.
    target = Path("/var/tmp", f"tiphys-{os.getpid()}-dangling")
    with Machine(tmp_path / "data", "sandbox") as sandbox:
        if not sandbox.usable:
            pytest.skip(f"no sandbox on this machine: {sandbox.why}")
        os.symlink(tmp_path / "gone", target)
        try:
            end = sandbox.run(with_claim(f"echo in > {target}/f; cat {target}/f", target))
            left = os.readlink(target)
        finally:
            os.unlink(target)

    assert end.outputs is not None
    assert end.outputs.result == "in"
    assert left == str(tmp_path / "gone")
