"""Runs that another engine drives: what goes there, and how what is heard shows here."""

from __future__ import annotations

from typing import Any

import msgspec

from tiphys.control.abroad import apply_mirror, order_of
from tiphys.dispatch.mirror import Mirror
from tiphys.engine import event as ev
from tiphys.engine.lifecycle import begin, take_effects
from tiphys.engine.run import Run
from tiphys.ports import ARGO_DEFAULT, SCHEDULER_LABEL, Dispatch, Instruction, Mirrored
from tiphys.spec import model
from tiphys.spec.library import Library

replace = msgspec.structs.replace
START, END = "2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z"


def run() -> Run:
    template = model.Template(name="main", container=model.Container(image="x", command=("true",)))
    workflow = model.Workflow(
        metadata=model.ObjectMeta(
            name="w", namespace="default", labels={SCHEDULER_LABEL: ARGO_DEFAULT}
        ),
        spec=model.WorkflowSpec(entrypoint="main", templates=(template,)),
    )
    return begin(workflow, workflow.spec, Library(), uid="u", created_at=1.0)


def node(name: str, phase: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "name": name, "type": "Pod", "phase": phase, "startedAt": START, **more}


def status(phase: str, *nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    found = {each["id"]: each for each in nodes}
    return {"spec": {}, "status": {"phase": phase, "nodes": found, "startedAt": START, **more}}


def test_starting_hands_the_workflow_over() -> None:
    order = order_of(run(), ev.RunStarted(at=2.0))

    assert isinstance(order, Dispatch)
    assert (order.uid, order.name, order.known) == ("u", "w", False)


def test_the_queue_and_the_class_of_a_run_go_with_it() -> None:
    found = run()
    meta = found.workflow.metadata
    labels = {**meta.labels, "tiphys.dev/queue": "gold"}
    found.workflow = replace(found.workflow, metadata=replace(meta, labels=labels))
    found.spec = replace(found.spec, pod_priority_class_name="high")

    order = order_of(found, ev.RunStarted(at=2.0))

    assert isinstance(order, Dispatch)
    assert (order.queue, order.priority_class) == ("gold", "high")


def test_a_run_that_was_seen_there_is_not_made_again() -> None:
    known = run()
    known.started_at = 2.0

    order = order_of(known, ev.RunStarted(at=3.0))

    assert isinstance(order, Dispatch)
    assert order.known


def test_what_people_ask_becomes_an_instruction() -> None:
    stop = ev.RunStopped(at=2.0, strategy=ev.Shutdown.TERMINATE)

    order = order_of(run(), stop)

    assert isinstance(order, Instruction)
    assert (order.verb, order.name, order.namespace) == ("terminate", "w", "default")


def test_a_mirror_tells_only_what_changed() -> None:
    mirror = Mirror("u", {})
    root = {**node("w", "Running"), "type": "Steps", "children": ["a"]}

    first = mirror.take(status("Running", root, node("a", "Running")), 1.0)
    second = mirror.take(status("Running", root, node("a", "Succeeded", finishedAt=END)), 2.0)
    third = mirror.take(status("Running", root, node("a", "Succeeded", finishedAt=END)), 3.0)

    assert [each.id for each in first.nodes] == ["a", "w"]
    assert first.nodes[0].ours.parents == ("w",)
    assert [(each.id, str(each.phase)) for each in second.nodes] == [("a", "Succeeded")]
    assert second.nodes[0].finished_at == second.nodes[0].started_at + 5  # type: ignore[operator]
    assert third.nodes == ()


def test_pods_keep_the_number_of_their_logs_after_a_restart() -> None:
    before, after = Mirror("u", {}), Mirror("u", {"b": 1, "a": 2})

    first = before.take(status("Running", node("a", "Running")), 1.0)
    again = after.take(status("Running", node("a", "Running"), node("c", "Running")), 2.0)

    assert first.nodes[0].ours.attempt == 1
    assert {each.id: each.ours.attempt for each in again.nodes} == {"a": 2, "c": 3}


def test_a_run_looks_as_it_is_told() -> None:
    mirrored = run()
    news = Mirror("u", {}).take(status("Running", node("w", "Running")), 1.0)

    apply_mirror(mirrored, news)

    assert (mirrored.phase, mirrored.pods, mirrored.pods_done) == ("Running", 1, 0)
    effects = take_effects(mirrored)
    assert effects.header
    assert [each.id for each in effects.nodes] == ["w"]


def test_a_workflow_that_was_deleted_leaves_no_node_running() -> None:
    mirrored = run()
    apply_mirror(mirrored, Mirror("u", {}).take(status("Running", node("w", "Running")), 1.0))

    apply_mirror(
        mirrored, Mirrored(uid="u", at=9.0, phase="Error", message="deleted", finished_at=9.0)
    )

    assert str(mirrored.nodes["w"].phase) == "Error"
    assert mirrored.nodes["w"].finished_at == 9.0
