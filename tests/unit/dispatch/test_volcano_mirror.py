"""Flows that Volcano's controller runs, as our nodes; and what is made there for them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tiphys.dispatch.volcano import VolcanoDispatcher
from tiphys.dispatch.volcano_mirror import FlowMirror, is_over
from tiphys.dispatch.volcano_object import covers, drops_jobs, write_flow, write_templates
from tiphys.engine.event import JobSeen, PodSeen
from tiphys.engine.node import Node, Phase
from tiphys.ports import VOLCANO, Dispatch, Mirrored
from tiphys.runtimes.kubernetes_config import KubernetesConfig
from tiphys.spec import model
from tiphys.spec.parse import parse_text
from tiphys.store import WorkflowRow
from tiphys.testing.volcano import flow, step, task, template, text
from tiphys.wire.volcano import volcano_object

STEPS = [step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c")]
NEEDS = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}


def workflow(**spec: Any) -> model.Workflow:
    templates = [template(name, task("t", "true")) for name in "abcd"]
    bundle = parse_text(text([flow("f", STEPS, **spec), *templates]))
    bundle.raise_errors()
    return bundle.workflows[0].value


def mirror() -> FlowMirror:
    found = FlowMirror("f", workflow().spec)
    found.begin(1.0)
    return found


def seen(phase: str, *pods: PodSeen, **more: Any) -> JobSeen:
    return JobSeen(at=9.0, node="", attempt=0, phase=phase, pods=pods, **more)


def pod(phase: str, **more: Any) -> PodSeen:
    return PodSeen(task="t", index=0, number=1, name="f-a-t-0", phase=phase, **more)


def by_name(nodes: list[Node]) -> dict[str, Node]:
    return {node.name: node for node in nodes}


def test_a_job_and_its_pod_have_the_places_that_our_engine_would_give_them() -> None:
    history = (("Pending", 2.0), ("Running", 3.0))

    nodes = by_name(mirror().see("b", seen("Running", pod("Running"), history=history), ""))

    job, replica = nodes["f.b"], nodes["f.b.t-0"]
    assert (job.type, str(job.phase), job.boundary_id) == ("Job", "Running", "f")
    assert job.ours.parents == (by_name(mirror().see("a", seen("Pending"), ""))["f.a"].id,)
    assert (replica.boundary_id, replica.ours.parents) == (job.id, (job.id,))
    assert job.ours.job is not None
    assert job.ours.job.history == history
    assert job.started_at == 2.0


def test_what_has_not_changed_is_not_told_again() -> None:
    found = mirror()
    found.see("a", seen("Running", pod("Running"), history=(("Running", 1.0),)), "")

    again = found.see("a", seen("Running", pod("Running"), history=(("Running", 1.0),)), "")
    changed = found.see("a", seen("Running", pod("Succeeded"), history=(("Running", 1.0),)), "")

    assert again == []
    assert [node.name for node in changed] == ["f.a.t-0"]


def test_what_was_told_does_not_change_afterwards() -> None:
    found = mirror()
    (told,) = found.see("a", seen("Running"), "")

    found.see("a", seen("Completed"), "")

    assert told.phase is Phase.RUNNING


def test_steps_that_never_came_are_omitted_at_the_end() -> None:
    found = mirror()
    found.see("a", seen("Failed"), "bad")

    nodes = by_name(found.end(Phase.FAILED, 9.0))

    assert str(nodes["f"].phase) == "Failed"
    assert {name for name, node in nodes.items() if node.phase is Phase.OMITTED} == {
        "f.b", "f.c", "f.d",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("phases", "inert", "over"),
    [
        ({}, False, False),
        ({"a": "Running"}, False, False),
        ({"a": "Completed"}, False, False),  # b and c will come.
        ({"a": "Completed"}, True, True),
        ({"a": "Failed"}, False, True),
        ({"a": "Aborted"}, False, True),  # Upstream's own flow would hang.
        ({"a": "Completed", "b": "Failed", "c": "Running"}, True, False),  # Siblings end first.
        ({"a": "Completed", "b": "Failed", "c": "Completed"}, False, True),
        (dict.fromkeys("abcd", "Completed"), False, True),
    ],
)
def test_a_flow_is_over_when_nothing_more_can_happen(
    phases: dict[str, str], inert: bool, over: bool
) -> None:
    assert is_over(phases, NEEDS, inert=inert) is over


def order(**spec: Any) -> Dispatch:
    return Dispatch(
        uid="u", name="f-1", namespace="n", scheduler=VOLCANO, workflow=workflow(**spec)
    )


def test_jobs_of_a_flow_are_kept_there_until_their_logs_are_read() -> None:
    given = order(jobRetainPolicy="delete")

    made = write_flow(given, "n", "me")

    assert drops_jobs(given)
    assert made["spec"]["jobRetainPolicy"] == "retain"
    assert made["metadata"]["name"] == "f-1"
    assert made["metadata"]["labels"]["workflow-id"] == "u"
    assert [each["name"] for each in made["spec"]["flows"]] == list("abcd")


def test_templates_carry_the_defaults_of_a_webhook_that_may_be_missing() -> None:
    first, *_ = write_templates(order(), "n", "me")

    assert first["metadata"]["name"] == "a"
    spec = first["spec"]
    assert (spec["schedulerName"], spec["queue"], spec["maxRetry"]) == ("volcano", "default", 3)
    assert (spec["minAvailable"], spec["tasks"][0]["minAvailable"]) == (1, 1)


def test_jobs_that_name_no_queue_and_no_class_get_those_of_their_flow() -> None:
    jobs = [template("a", task("t", "true")), template("b", task("t", "true"), queue="own")]
    bundle = parse_text(text([flow("f", [step("a"), step("b", "a")]), *jobs]))
    given = Dispatch(
        uid="u",
        name="f",
        namespace="n",
        scheduler=VOLCANO,
        workflow=bundle.workflows[0].value,
        queue="gold",
        priority_class="high",
    )

    first, second = (each["spec"] for each in write_templates(given, "n", "me"))

    assert (first["queue"], first["priorityClassName"]) == ("gold", "high")
    assert (second["queue"], second["priorityClassName"]) == ("own", "high")


def test_what_is_there_may_say_more_than_is_wanted_but_nothing_else() -> None:
    wanted = {"a": [{"b": 1}], "c": "x"}

    assert covers(json.loads('{"a": [{"b": 1, "more": 2}], "c": "x", "d": 0}'), wanted)
    assert not covers({"a": [{"b": 2}], "c": "x"}, wanted)
    assert not covers({"a": [{"b": 1}, {"b": 1}], "c": "x"}, wanted)
    assert not covers({"a": [{"b": 1}]}, wanted)


@pytest.mark.parametrize(
    ("phase", "listed"),
    [
        ("Pending", "pendingJobs"),
        ("Running", "runningJobs"),
        ("Restarting", "runningJobs"),
        ("Terminating", "runningJobs"),
        ("Completed", "completedJobs"),
        ("Failed", "failedJobs"),
        ("Aborted", "terminatedJobs"),
        ("Terminated", "terminatedJobs"),
        ("NewToUs", "unKnowJobs"),
    ],
)
def test_every_phase_of_a_job_has_its_list_in_the_status(phase: str, listed: str) -> None:
    given = workflow()
    nodes = mirror().see("a", seen(phase, pod("Running"), retries=2), "")
    row = WorkflowRow(
        uid="u",
        name="f",
        namespace="n",
        phase="Running",
        created_at=1.0,
        annotations=given.metadata.annotations,
    )

    status = volcano_object(row, nodes)["status"]

    assert status[listed] == ["f-a"]
    assert [name for name in status if name.endswith("Jobs")] == [listed]
    assert status["jobStatusList"][0]["restartCount"] == 2
    assert status["conditions"]["f-a"]["taskStatusCount"] == {"t": {"phase": {"Running": 1}}}


def test_a_record_that_is_no_flow_ends_and_nothing_else_does(tmp_path: Path) -> None:
    main = model.Template(name="main", container=model.Container(image="x"))
    spec = model.WorkflowSpec(entrypoint="main", templates=(main,))
    order = Dispatch(
        uid="u", name="w", namespace="n", scheduler=VOLCANO, workflow=model.Workflow(spec=spec)
    )
    told: list[Mirrored] = []

    async def dispatch() -> None:
        dispatcher = VolcanoDispatcher(tmp_path, KubernetesConfig())
        await dispatcher.open(told.extend)
        await dispatcher.dispatch([order])
        await dispatcher.close()

    asyncio.run(dispatch())

    ((uid, phase, message),) = [(each.uid, each.phase, each.message) for each in told]
    assert (uid, phase) == ("u", "Error")
    assert "this is no flow" in message
