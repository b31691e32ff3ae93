"""Pods of labelled workflows are born with a gate."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest
from tests.unit.kueue.flow import Flow

from tiphys.kueue import label
from tiphys.kueue.webhook import gate, review

Json = dict[str, Any]


def pod(labels: Json | None = None) -> Json:
    return {"metadata": {"labels": {label.WORKFLOW: "flow", **(labels or {})}}, "spec": {}}


def test_a_pod_of_a_labelled_workflow_gets_a_gate() -> None:
    (patch,) = gate(pod(), Flow().owner)

    assert (patch["path"], patch["value"]) == ("/spec/schedulingGates", [{"name": label.GATE}])


def test_gates_of_others_stay() -> None:
    given = pod()
    given["spec"]["schedulingGates"] = [{"name": "other"}]

    (patch,) = gate(given, Flow().owner)

    assert patch["value"] == [{"name": "other"}, {"name": label.GATE}]


def test_a_pod_of_a_job_is_of_our_own_engine_and_gates_itself() -> None:
    given = pod()
    given["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "job-1", "uid": "u"}]
    asked = {"uid": "1", "namespace": "default", "object": given}

    async def lookup(_namespace: str, _name: str, _uid: str) -> Json:
        return Flow().owner

    answer = asyncio.run(review({"request": asked}, lookup))

    assert "patch" not in answer["response"]


def test_a_pod_as_unit_is_labelled_for_kueue_and_not_gated() -> None:
    flow = Flow(unit="pod")
    flow.owner["metadata"]["labels"][label.PRIORITY] = "high"

    (patch,) = gate(pod(), flow.owner)

    assert patch["path"] == "/metadata/labels"
    assert patch["value"][label.QUEUE] == "user-queue"
    assert patch["value"][label.PRIORITY] == "high"


def test_a_label_that_argo_is_about_to_write_counts_in_the_first_pass_and_not_later() -> None:
    flow = Flow()
    flow.owner["spec"]["workflowMetadata"] = {"labels": flow.owner["metadata"].pop("labels")}
    later = gate(pod(), flow.owner)
    del flow.owner["status"]

    (patch,) = gate(pod(), flow.owner)

    assert patch["path"] == "/spec/schedulingGates"
    assert later == []


@pytest.mark.parametrize("case", ["unlabelled", "unknown", "paused"])
def test_other_pods_are_left_alone(case: str) -> None:
    flow = Flow(notes={label.MODE: "suspend"} if case == "paused" else {})
    if case == "unlabelled":
        flow.owner["metadata"]["labels"] = {}

    assert gate(pod(), None if case == "unknown" else flow.owner) == []


def ask(thing: Json, *, broken: bool = False) -> Json:
    async def lookup(namespace: str, name: str, uid: str) -> Json | None:
        if broken:
            raise ConnectionError("no API server")
        return Flow().owner

    request = {"request": {"uid": "r-1", "namespace": "default", "object": thing}}
    answer: Json = asyncio.run(review(request, lookup))["response"]
    return answer


def test_an_answer_carries_the_patch() -> None:
    answer = ask(pod())

    assert (answer["uid"], answer["allowed"]) == ("r-1", True)
    assert json.loads(base64.b64decode(answer["patch"]))[0]["path"] == "/spec/schedulingGates"


def test_a_pod_whose_workflow_cannot_be_looked_up_is_refused() -> None:
    answer = ask(pod(), broken=True)

    assert answer["allowed"] is False
    assert "no API server" in answer["status"]["message"]
    assert answer["status"]["reason"] == "ServiceUnavailable"


def test_a_pod_that_is_not_argos_passes() -> None:
    answer = ask({"metadata": {}, "spec": {}}, broken=True)

    assert answer == {"uid": "r-1", "allowed": True}
