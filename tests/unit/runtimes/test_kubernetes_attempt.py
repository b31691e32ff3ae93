"""What follows from the state of a Job and its pod; nothing here talks to a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from tiphys.ports import Task
from tiphys.runtimes.kubernetes_attempt import PodAttempt, Step
from tiphys.runtimes.kubernetes_pod import exit_of, pulling
from tiphys.scheduling.reason import ImagePulling, text
from tiphys.spec import model

FAILED = {"status": {"conditions": [{"type": "Failed", "status": "True", "reason": "PodFailed"}]}}
EVICTED = {"type": "DisruptionTarget", "status": "True", "message": "evicted by somebody"}


def attempt(pod: dict[str, Any], job: dict[str, Any] | None = None) -> PodAttempt:
    template = model.Template(container=model.Container(image="i", command=("c",)))
    task = Task(
        id="u.1",
        workflow="w",
        namespace="n",
        workflow_uid="u",
        node_id="w",
        node_name="w",
        template=template,
    )
    made = PodAttempt(task, template, Path("/nowhere"), "n", created=True, job=job)
    made.pods["p"] = {"metadata": {"name": "p", "creationTimestamp": ""}, **pod}
    return made


def pod(state: dict[str, Any], *conditions: dict[str, Any], **more: Any) -> dict[str, Any]:
    status = {"name": "main", "image": "i", "state": state, **more}
    return {"status": {"conditions": list(conditions), "containerStatuses": [status]}}


def test_a_pod_that_was_evicted_while_it_ran_is_taken_away() -> None:
    found = attempt(pod({"terminated": {"exitCode": 143}}, EVICTED), FAILED)

    assert found.look()[-1] is Step.CONCLUDE
    assert (found.reason(), found.is_taken_away) == ("lost", True)
    assert found.lost_message() == "evicted by somebody"


def test_what_had_succeeded_before_its_pod_was_evicted_has_succeeded() -> None:
    found = attempt(pod({"terminated": {"exitCode": 0}}, EVICTED), FAILED)

    assert (found.reason(), found.is_taken_away) == ("", False)


def test_an_evicted_pod_is_not_judged_before_its_job_is() -> None:
    found = attempt(pod({"terminated": {"exitCode": 143}}, EVICTED))

    assert Step.CONCLUDE not in found.look()


def test_a_sidecar_that_is_started_again_has_failed_before() -> None:
    last = {"terminated": {"exitCode": 3, "startedAt": "2026-01-01T00:00:00Z"}}
    side = {"name": "side", "state": {"running": {}}, "lastState": last}

    assert exit_of({"status": {"initContainerStatuses": [side]}}, "side").code == 3


def test_a_sidecar_that_failed_before_the_task_began_ends_it() -> None:
    found = attempt(pod({"waiting": {"reason": "PodInitializing"}}))
    found.template = msgspec.structs.replace(
        found.template, sidecars=(model.Container(name="side", image="i"),)
    )
    assert Step.CONCLUDE not in found.look()

    failed = {"name": "side", "state": {"terminated": {"exitCode": 3}}}
    found.pods["p"]["status"]["initContainerStatuses"] = [failed]

    assert found.look() == [Step.CONCLUDE]


def test_an_image_that_cannot_be_pulled_is_why_a_pod_waits() -> None:
    waits = {"waiting": {"reason": "ImagePullBackOff", "message": "no such host"}}
    found = attempt(pod(waits))

    reason = found.waits_for()

    assert reason == ImagePulling("i", "ImagePullBackOff: no such host")
    assert text(reason) == (
        "image i is being pulled and cannot be had: ImagePullBackOff: no such host"
    )


def test_a_pod_that_is_being_made_waits_for_no_image() -> None:
    assert pulling(pod({"waiting": {"reason": "ContainerCreating"}})) is None
