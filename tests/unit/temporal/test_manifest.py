"""Jobs and gangs as text, and payloads as gangs."""

from __future__ import annotations

import json

import pytest
from temporalio.exceptions import ApplicationError

from tiphys.temporal.manifest import gang_text, job_text
from tiphys.temporal.payload import GangInput, JobInput, Worker
from tiphys.temporal.workflow import Payload, gang_of


def test_a_gang_is_a_volcano_job_that_needs_all_of_its_tasks() -> None:
    spec = json.loads(gang_text(GangInput(workers=[Worker(replicas=2), Worker(name="b")])))["spec"]

    assert (spec["minAvailable"], spec["minSuccess"]) == (3, 3)
    assert [task["replicas"] for task in spec["tasks"]] == [2, 1]
    assert spec["policies"] == [{"event": "PodFailed", "action": "TerminateJob"}]


def test_a_gang_may_begin_with_fewer() -> None:
    spec = json.loads(gang_text(GangInput(workers=[Worker(replicas=5)], size=2)))["spec"]

    assert (spec["minAvailable"], spec["minSuccess"]) == (2, 5)


@pytest.mark.parametrize("size", [-1, 3])
def test_a_gang_larger_than_its_workers_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="cannot be had"):
        gang_text(GangInput(workers=[Worker(replicas=2)], size=size))


def test_amounts_are_requested() -> None:
    text = job_text(JobInput(worker=Worker(cpu="2", memory="1Gi", gpu=1)))

    (task,) = json.loads(text)["spec"]["tasks"]
    (container,) = task["template"]["spec"]["containers"]
    wanted = {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "1"}
    assert container["resources"] == {"requests": wanted, "limits": {"nvidia.com/gpu": "1"}}


def test_each_agent_gets_its_name() -> None:
    worker = Worker(args=["--as", "{agent}"])

    gang = gang_of(Payload(kind="directive", agents=["ann", "bob"], worker=worker))

    assert [each.name for each in gang.workers] == ["ann", "bob"]
    assert [each.args for each in gang.workers] == [["--as", "ann"], ["--as", "bob"]]
    assert [each.env["AGENT"] for each in gang.workers] == ["ann", "bob"]
    assert gang.placement.queue == "batch"


@pytest.mark.parametrize(
    "payload",
    [
        Payload(kind="task", worker=Worker(), queue="elsewhere"),
        Payload(kind="directive", worker=Worker()),
        Payload(kind="crusade", worker=Worker()),
    ],
)
def test_a_payload_that_makes_no_sense_fails_for_good(payload: Payload) -> None:
    with pytest.raises(ApplicationError) as error:
        gang_of(payload)

    assert error.value.non_retryable
