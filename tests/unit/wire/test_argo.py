"""Runs as Argo's Workflow objects."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tiphys.engine.node import (
    MemoizationStatus,
    Node,
    NodeFlag,
    NodeType,
    Ours,
    Phase,
    SynchronizationStatus,
)
from tiphys.spec import model
from tiphys.store import WorkflowRow
from tiphys.wire.argo import workflow_json, workflow_object
from tiphys.wire.node import decode_node, encode_node

NOON = 1_767_268_800.75
MANIFEST = (
    b'{"apiVersion":"argoproj.io/v1alpha1","kind":"Workflow","metadata":{"name":"wf-x",'
    b'"generateName":"wf-","labels":{"old":"1"}},"spec":{"entrypoint":"main","odd":1.50}}'
)


def row(**changes: Any) -> WorkflowRow:
    fields: dict[str, Any] = {
        "uid": "11111111-2222-4333-8444-555555555555",
        "name": "wf-x",
        "namespace": "argo",
        "phase": "Running",
        "created_at": NOON,
        "started_at": NOON + 1,
        "progress": "1/2",
        "labels": {"team": "a"},
        "manifest": MANIFEST,
        "spec": b'{"entrypoint":"main"}',
    }
    return WorkflowRow(**{**fields, **changes})


def node(number: int, *parents: int, **changes: Any) -> Node:
    fields: dict[str, Any] = {
        "id": f"wf-x-{number}",
        "name": f"wf-x[{number}]",
        "type": NodeType.POD,
        "phase": Phase.SUCCEEDED,
        "started_at": NOON,
        "finished_at": NOON + 2,
        "ours": Ours(attempt=3, parents=tuple(f"wf-x-{parent}" for parent in parents)),
    }
    return Node(**{**fields, **changes})


def test_an_unfinished_workflow_has_argos_shape() -> None:
    found = workflow_object(row(), [])

    assert found == {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {
            "name": "wf-x",
            "generateName": "wf-",
            "namespace": "argo",
            "uid": "11111111-2222-4333-8444-555555555555",
            "creationTimestamp": "2026-01-01T12:00:00Z",
            "labels": {
                "team": "a",
                "workflows.argoproj.io/phase": "Running",
                "workflows.argoproj.io/completed": "false",
            },
        },
        "spec": {"entrypoint": "main", "odd": 1.5},
        "status": {
            "phase": "Running",
            "startedAt": "2026-01-01T12:00:01Z",
            "finishedAt": None,
            "progress": "1/2",
            "conditions": [{"type": "PodRunning", "status": "False"}],
        },
    }


def test_a_finished_workflow_shows_its_end_message_and_outputs() -> None:
    outputs = b'{"parameters":[{"name":"p","value":"v"}]}'

    found = workflow_object(
        row(phase="Failed", finished_at=NOON + 9, message="child failed", outputs=outputs), []
    )

    status = found["status"]
    assert (status["phase"], status["message"]) == ("Failed", "child failed")
    assert status["finishedAt"] == "2026-01-01T12:00:09Z"
    assert status["outputs"] == {"parameters": [{"name": "p", "value": "v"}]}
    assert {"type": "Completed", "status": "True"} in status["conditions"]
    assert found["metadata"]["labels"]["workflows.argoproj.io/completed"] == "true"


def test_a_workflow_that_has_not_begun_has_no_phase_and_no_conditions() -> None:
    found = workflow_object(row(phase="", started_at=None, progress=""), [])

    assert found["status"] == {"startedAt": None, "finishedAt": None}
    assert found["metadata"]["labels"] == {"team": "a"}


def test_the_spec_is_passed_on_as_it_was_submitted_to_the_byte() -> None:
    assert b'"spec":{"entrypoint":"main","odd":1.50}' in workflow_json(row(), [])


def test_the_switches_that_people_turn_show_in_the_spec() -> None:
    found = workflow_object(row(suspended=True, shutdown="Stop"), [])

    assert found["spec"] == {
        "entrypoint": "main",
        "odd": 1.5,
        "suspend": True,
        "shutdown": "Stop",
    }


def test_a_workflow_by_reference_shows_the_spec_that_really_runs() -> None:
    manifest = b'{"metadata":{},"spec":{"workflowTemplateRef":{"name":"t"}}}'

    found = workflow_object(row(manifest=manifest), [])

    assert found["spec"] == {"workflowTemplateRef": {"name": "t"}}
    assert found["status"]["storedWorkflowTemplateSpec"] == {"entrypoint": "main"}
    assert "storedWorkflowTemplateSpec" not in workflow_object(row(), [])["status"]


def test_a_node_shows_all_of_argos_fields_and_none_of_ours() -> None:
    full = node(
        1,
        display_name="one",
        template_name="t",
        template_ref=model.TemplateRef(name="lib", template="t"),
        template_scope="local/wf-x",
        phase=Phase.RUNNING,
        boundary_id="wf-x",
        message="m",
        finished_at=None,
        progress="0/1",
        inputs=model.Inputs(parameters=(model.Parameter(name="p", value=""),)),
        outputs=model.Outputs(result="r", exit_code="0"),
        daemoned=True,
        node_flag=NodeFlag(hooked=True),
        memoization_status=MemoizationStatus(hit=False, key="k", cache_name="c"),
        synchronization_status=SynchronizationStatus("argo/Mutex/m"),
        host_node_name="host",
        pod_ip="127.0.0.1",
        outbound_nodes=("wf-x-9",),
    )

    status = workflow_object(row(), [full])["status"]

    assert status["nodes"] == {
        "wf-x-1": {
            "id": "wf-x-1",
            "name": "wf-x[1]",
            "displayName": "one",
            "type": "Pod",
            "templateName": "t",
            "templateRef": {"name": "lib", "template": "t"},
            "templateScope": "local/wf-x",
            "phase": "Running",
            "boundaryID": "wf-x",
            "message": "m",
            "startedAt": "2026-01-01T12:00:00Z",
            "finishedAt": None,
            "progress": "0/1",
            "inputs": {"parameters": [{"name": "p", "value": ""}]},
            "outputs": {"result": "r", "exitCode": "0"},
            "daemoned": True,
            "nodeFlag": {"hooked": True},
            "memoizationStatus": {"hit": False, "key": "k", "cacheName": "c"},
            "synchronizationStatus": {"waiting": "argo/Mutex/m"},
            "hostNodeName": "host",
            "podIP": "127.0.0.1",
            "outboundNodes": ["wf-x-9"],
        }
    }
    assert status["conditions"] == [{"type": "PodRunning", "status": "True"}]


def test_no_field_of_a_node_is_forgotten() -> None:
    from tiphys.wire.argo import NodeStatus  # noqa: PLC0415

    known = {field.encode_name for field in msgspec.structs.fields(NodeStatus)}
    stored = {field.encode_name for field in msgspec.structs.fields(Node)}

    assert known == stored - {"ours"} | {"children"}


def test_children_come_back_from_their_parents_in_the_order_of_creation() -> None:
    nodes = [node(0), node(1, 0), node(2, 0), node(3, 1, 2), node(4, 77)]

    found = workflow_object(row(), nodes)["status"]["nodes"]

    children = {name: status.get("children") for name, status in found.items()}
    assert children == {
        "wf-x-0": ["wf-x-1", "wf-x-2"],
        "wf-x-1": ["wf-x-3"],
        "wf-x-2": ["wf-x-3"],
        "wf-x-3": None,
        "wf-x-4": None,
    }


def test_a_stored_node_comes_back_as_it_was() -> None:
    original = node(1, 0, outputs=model.Outputs(result="ü"), node_flag=NodeFlag(retried=True))

    assert decode_node(encode_node(original)) == original


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"id": 1}', b"\xff"])
def test_a_body_that_is_no_node_is_refused(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_node(body)


def test_a_quarantined_workflow_can_still_be_shown() -> None:
    damaged = row(quarantine="damaged", manifest=b"{", outputs=b"{", spec=b"")

    found = workflow_object(damaged, [])

    assert found["metadata"]["name"] == "wf-x"
    assert "outputs" not in found["status"]
    assert found["status"]["conditions"][-1] == {
        "type": "SpecError",
        "status": "True",
        "message": "damaged",
    }
