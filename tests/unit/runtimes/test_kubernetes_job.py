"""From a task to a Job, from a pod to a verdict; nothing here talks to a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tiphys.errors import RuntimeFailure
from tiphys.ports import Task
from tiphys.runtimes.config import ImageCommand, LocalConfig
from tiphys.runtimes.kubernetes_attempt import PodAttempt
from tiphys.runtimes.kubernetes_condition import holds
from tiphys.runtimes.kubernetes_config import KubernetesConfig
from tiphys.runtimes.kubernetes_job import Clerk, Order, job_name, wanted_paths
from tiphys.runtimes.kubernetes_patch import apply_patches
from tiphys.runtimes.kubernetes_pod import exit_of, first_start
from tiphys.scheduling.reason import Gated
from tiphys.spec import model

UID = "11111111-2222-3333-4444-555555555555"
MAIN = model.Container(image="busybox", command=("echo",), args=("hi",))


def task(template: model.Template, **more: Any) -> Task:
    given: dict[str, Any] = {
        "id": f"{UID}.1",
        "workflow": "w",
        "namespace": "default",
        "workflow_uid": UID,
        "node_id": "w",
        "node_name": "w",
        "template": template,
        **more,
    }
    return Task(**given)


def job(template: model.Template, config: KubernetesConfig | None = None, **more: Any) -> Any:
    images = LocalConfig(images={"app": ImageCommand(entrypoint=("/app",), cmd=("serve",))})
    clerk = Clerk("me", config or KubernetesConfig(), images)
    order = Order(
        task=task(template, **more), template=template, files="x", wanted=wanted_paths(template)
    )
    return clerk.write(order)


def main_of(made: Any) -> Any:
    return made["spec"]["template"]["spec"]["containers"][0]


def test_the_only_node_of_a_workflow_gives_the_job_its_name() -> None:
    template = model.Template(container=MAIN)

    assert job_name(task(template)) == f"job-{UID}"
    assert job_name(task(template, id=f"{UID}.2")) == f"job-{UID}-2"
    assert job_name(task(template, node_name="w.step")) == f"job-{UID}-1"


def test_limits_of_the_configuration_hold_where_the_template_says_nothing() -> None:
    made = job(model.Template(container=MAIN))

    assert made["spec"]["backoffLimit"] == 3
    assert made["spec"]["activeDeadlineSeconds"] == 3600
    assert "ttlSecondsAfterFinished" not in made["spec"]


def test_a_template_with_retries_and_a_deadline_rules_itself() -> None:
    made = job(model.Template(container=MAIN), retried=True, deadline=12.3)

    assert made["spec"]["backoffLimit"] == 0
    assert made["spec"]["activeDeadlineSeconds"] == 13


def test_a_gated_pod_keeps_its_own_time_so_that_waiting_does_not_count() -> None:
    made = job(model.Template(container=MAIN), gates=("example.com/gate",))

    pod = made["spec"]["template"]["spec"]
    assert pod["schedulingGates"] == [{"name": "example.com/gate"}]
    assert pod["activeDeadlineSeconds"] == 3600
    assert "activeDeadlineSeconds" not in made["spec"]


def test_a_deadline_that_is_an_instant_holds_also_at_a_gate() -> None:
    template = model.Template(container=MAIN, active_deadline_seconds="60")

    short = job(template, gates=("g",), deadline=20.0)
    own = job(template, gates=("g",), deadline=60.0)

    assert short["spec"]["activeDeadlineSeconds"] == 20
    assert own["spec"]["template"]["spec"]["activeDeadlineSeconds"] == 60


def test_a_job_that_others_start_has_their_labels_and_its_pod_has_not() -> None:
    made = job(model.Template(container=MAIN), job_labels={"queue": "q"})

    assert made["metadata"]["labels"]["queue"] == "q"
    assert "queue" not in made["spec"]["template"]["metadata"]["labels"]


def test_a_job_that_waits_suspended_for_others_has_not_been_stopped(tmp_path: Path) -> None:
    template = model.Template(container=MAIN)
    waits = PodAttempt(task(template, job_labels={"queue": "q"}), template, tmp_path, "n")

    assert waits.waits_suspended
    waits.job = {"spec": {"suspend": True}}
    assert waits.waits_for() == Gated()
    waits.started = True
    assert waits.waits_for() is None
    assert not waits.waits_suspended
    assert not PodAttempt(task(template), template, tmp_path, "n").waits_suspended


def test_a_pod_that_ran_out_of_its_own_time_ended_by_its_deadline(tmp_path: Path) -> None:
    template = model.Template(container=MAIN)
    attempt = PodAttempt(task(template, gates=("g",)), template, tmp_path, "n")
    meta = {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z"}
    status = {"phase": "Failed", "reason": "DeadlineExceeded"}
    attempt.pods["p"] = {"metadata": meta, "spec": {}, "status": status}

    assert attempt.reason() == "deadline"


def test_a_daemon_has_no_deadline() -> None:
    made = job(model.Template(container=MAIN, daemon=True))

    assert "activeDeadlineSeconds" not in made["spec"]


def test_a_command_with_a_result_runs_under_the_wrapper() -> None:
    command = main_of(job(model.Template(container=MAIN), capture_result=True))["command"]

    assert command[:3] == ["/var/run/tiphys/busybox", "sh", "/var/run/tiphys/run"]
    assert command[-2:] == ["echo", "hi"]


@pytest.mark.parametrize(
    ("args", "argv"), [((), ["/app", "serve"]), (("other",), ["/app", "other"])]
)
def test_the_command_of_an_image_comes_from_the_configuration(
    args: tuple[str, ...], argv: list[str]
) -> None:
    template = model.Template(container=model.Container(image="app:1", args=args))

    assert main_of(job(template))["command"][-2:] == argv


def test_an_image_whose_command_nobody_knows_is_refused_where_it_would_be_wrapped() -> None:
    template = model.Template(container=model.Container(image="other", args=("x",)))

    with pytest.raises(RuntimeFailure, match="no command for image other"):
        job(template, capture_result=True)
    main = main_of(job(template))
    assert "command" not in main
    assert main["args"] == ["x"]


def test_a_pod_from_which_nothing_is_wanted_has_no_helper_and_hears_signals() -> None:
    pod = job(model.Template(container=MAIN))["spec"]["template"]["spec"]

    assert [each["name"] for each in pod["containers"]] == ["main"]
    assert pod["containers"][0]["command"] == ["echo"]
    assert pod["containers"][0]["args"] == ["hi"]
    assert "initContainers" not in pod
    assert pod["volumes"] == []
    assert pod["shareProcessNamespace"]


def test_a_pod_in_the_nodes_process_namespace_has_none_of_its_own() -> None:
    template = model.Template(container=MAIN, pod_spec_patch="hostPID: true")

    assert "shareProcessNamespace" not in job(template)["spec"]["template"]["spec"]


def test_a_patch_adds_to_what_a_container_has() -> None:
    mount = model.VolumeMount(name="v", mount_path="/a")
    patch = "containers: [{name: main, volumeMounts: [{name: v, mountPath: /b}]}]"
    container = msgspec.structs.replace(MAIN, volume_mounts=(mount,))

    main = main_of(job(model.Template(container=container, pod_spec_patch=patch)))

    assert [each["mountPath"] for each in main["volumeMounts"]] == ["/a", "/b"]


@pytest.mark.parametrize(
    "why",
    [
        'exec: "nobody": executable file not found in $PATH',
        'exec: "/no/where": stat /no/where: no such file or directory',
    ],
)
def test_a_program_that_a_node_cannot_find_ends_as_everywhere(why: str) -> None:
    long = f"failed to create task: error during container init: {why}: unknown"
    times = {"startedAt": "1970-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:00Z"}
    state = {"terminated": {"exitCode": 128, "reason": "StartError", "message": long, **times}}
    pod = {"status": {"containerStatuses": [{"name": "main", "state": state}]}}

    found = exit_of(pod, "main")

    assert (found.code, found.error) == (64, f"failed to find name in PATH: {why}")
    assert found.started_at is None
    assert first_start(pod, ["main"]) is None


def test_only_a_task_with_outputs_has_a_container_that_waits() -> None:
    source = model.ValueFrom(path="/out")
    outputs = model.Outputs(parameters=(model.Parameter(name="o", value_from=source),))

    plain = job(model.Template(container=MAIN))
    collecting = job(model.Template(container=MAIN, outputs=outputs))

    assert len(plain["spec"]["template"]["spec"]["containers"]) == 1
    assert collecting["spec"]["template"]["spec"]["containers"][1]["name"] == "tiphys-wait"


def test_fields_of_the_workflow_lie_under_those_of_the_template() -> None:
    template = model.Template(container=MAIN, node_selector={"disk": "ssd"})

    made = job(
        template,
        pod={"nodeSelector": {"disk": "any"}, "priorityClassName": "high"},
        pod_spec_patch="containers: [{name: main, resources: {limits: {memory: 1Gi}}}]",
    )

    pod = made["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"disk": "ssd"}
    assert pod["priorityClassName"] == "high"
    assert pod["containers"][0]["resources"] == {"limits": {"memory": "1Gi"}}
    assert pod["containers"][0]["image"] == "busybox"


def test_a_patch_merges_named_things_and_removes_with_null() -> None:
    spec = {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b"}], "x": 1, "v": {"z": 1}}

    patched = apply_patches(
        spec,
        '{"volumes": [{"name": "a", "emptyDir": {"medium": "Memory"}}], "x": null}',
        "v: {w: 2}",
    )

    assert patched == {
        "volumes": [{"name": "a", "emptyDir": {"medium": "Memory"}}, {"name": "b"}],
        "v": {"z": 1, "w": 2},
    }


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("status.phase == Running", True),
        ("status.phase = Pending", False),
        ("status.phase != Pending", True),
        ("status.count > 2", True),
        ("status.count < 2", False),
        ("status.phase in (Running, Done), status.count > 0", True),
        ("status.phase notin (Running)", False),
        ("status.list.0.name == first", True),
        ("status.list.# == 1", True),
        ("status.ready == true", True),
        ("status.missing", False),
        ("!status.missing", True),
        ("status.missing > 0", False),
    ],
)
def test_conditions_look_into_the_object(condition: str, expected: bool) -> None:
    status = {"phase": "Running", "count": 3, "list": [{"name": "first"}], "ready": True}

    assert holds(condition, {"status": status}) is expected


def test_a_condition_that_says_nothing_readable_is_refused() -> None:
    with pytest.raises(RuntimeFailure, match="cannot read the condition"):
        holds("a b c", {})
