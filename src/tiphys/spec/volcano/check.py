"""What is wrong with a Job, a JobTemplate or a JobFlow: all of it, before anything starts.

Upstream's controller admits most of this and then hangs (a cycle never starts, two steps of one
name never both end), so here each is an error with its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from tiphys.core.duration import parse_duration
from tiphys.core.name import is_dns1123_label
from tiphys.errors import InvalidInputError
from tiphys.spec.model.volcano import (
    Flow,
    JobFlow,
    JobSpec,
    JobTask,
    JobTemplate,
    JobVolume,
    LifecyclePolicy,
)
from tiphys.spec.report import Report
from tiphys.spec.validate.resources import check_container
from tiphys.spec.yaml import Path

EVENTS = frozenset(
    {"*", "PodFailed", "PodEvicted", "PodPending", "PodRunning", "Unknown", "TaskCompleted",
     "TaskFailed", "JobUpdated"}
)  # fmt: skip
ACTIONS = frozenset(
    {"AbortJob", "RestartJob", "RestartTask", "RestartPod", "RestartPartition", "TerminateJob",
     "CompleteJob", "ResumeJob"}
)  # fmt: skip
PHASES = frozenset({"Pending", "Running", "Succeeded", "Failed", "Completed"})
PLUGINS = frozenset({"env", "svc"})
_MOST_NAME = 63


def check_template(template: JobTemplate, report: Report) -> None:
    """Check a JobTemplate."""
    name = template.metadata.name
    if not is_dns1123_label(name):
        message = f"{name[:80]!r} is no name for a JobTemplate" if name else "it needs a name"
        report.add(("metadata", "name"), message, hint="at most 63 of a-z, 0-9 and dashes")
    check_job(template.spec, report)


def check_names(spec: JobSpec, job: str, report: Report, path: Path = ("spec",)) -> None:
    """Check that the pods of a Job that will be called ``job`` can have their names."""
    for index, task in enumerate(spec.tasks):
        pod = f"{job}-{task.name}-{max(0, task.replicas - 1)}"
        if len(pod) > _MOST_NAME:
            message = f"the pod name {pod[:80]!r} has {len(pod)} letters, {_MOST_NAME} are allowed"
            hint = "shorten the names of flow, step or task"
            report.add((*path, "tasks", index, "name"), message, hint=hint)


def check_job(spec: JobSpec, report: Report, path: Path = ("spec",)) -> None:
    """Check what a Job does, whatever it will be called."""
    if not spec.tasks:
        report.add((*path, "tasks"), "a Job needs at least one task", hint="tasks: [{name: …}]")
        return
    for index, task in enumerate(spec.tasks):
        _check_task(task, report, (*path, "tasks", index))
    _check_unique([task.name for task in spec.tasks], "task", report, (*path, "tasks"))
    _check_task_order(spec.tasks, report, path)
    _check_policies(spec.policies, report, (*path, "policies"))
    _check_volumes(spec.volumes, report, (*path, "volumes"))
    total = sum(task.replicas for task in spec.tasks)
    for field, value in (("minAvailable", spec.min_available), ("minSuccess", spec.min_success)):
        if value is not None and not 0 <= value <= total:
            report.add((*path, field), f"{value} is not between 0 and the {total} replicas")
    for plugin in spec.plugins.keys() - PLUGINS:
        message = f"the plugin {plugin[:40]!r} works on a cluster only; here it does nothing"
        report.warn((*path, "plugins", plugin), message)


def _check_task(task: JobTask, report: Report, path: Path) -> None:
    if task.replicas < 0:
        report.add((*path, "replicas"), "replicas cannot be negative")
    if task.min_available is not None and not 0 <= task.min_available <= task.replicas:
        message = f"{task.min_available} is not between 0 and the {task.replicas} replicas"
        report.add((*path, "minAvailable"), message)
    if task.name and not is_dns1123_label(task.name):
        report.add((*path, "name"), f"{task.name[:70]!r} is no name: a-z, 0-9 and dashes")
    if not task.template.spec.containers:
        report.add((*path, "template", "spec", "containers"), "a pod needs a container")
    for kind, own in (
        ("containers", task.template.spec.containers),
        ("initContainers", task.template.spec.init_containers),
    ):
        for index, container in enumerate(own):
            check_container(container, (*path, "template", "spec", kind, index), report)
    _check_policies(task.policies, report, (*path, "policies"))
    parts = task.partition_policy
    if parts is not None and parts.total_partitions * parts.partition_size != task.replicas:
        message = f"{parts.total_partitions} partitions of {parts.partition_size} are not the "
        report.add((*path, "partitionPolicy"), f"{message}{task.replicas} replicas")


def _check_volumes(volumes: Sequence[JobVolume], report: Report, path: Path) -> None:
    seen: set[str] = set()
    for index, volume in enumerate(volumes):
        if not volume.mount_path or volume.mount_path in seen:
            what = "is there twice" if volume.mount_path else "is needed"
            report.add((*path, index, "mountPath"), f"mountPath {volume.mount_path[:60]!r} {what}")
        seen.add(volume.mount_path)
        if (volume.volume_claim is None) == (not volume.volume_claim_name):
            report.add((*path, index), "a volume has either volumeClaimName or volumeClaim")


def _check_task_order(tasks: Sequence[JobTask], report: Report, path: Path) -> None:
    names = {task.name for task in tasks}
    edges: dict[str, tuple[str, ...]] = {}
    for index, task in enumerate(tasks):
        wanted = task.depends_on.name if task.depends_on else ()
        for place, name in enumerate(wanted):
            if name not in names:
                where = (*path, "tasks", index, "dependsOn", "name", place)
                report.add(
                    where, f"there is no task {name[:60]!r}", hint=report.close_to(name, names)
                )
        edges[task.name] = tuple(name for name in wanted if name in names)
    cycle = find_cycle(edges)
    if cycle:
        report.add(
            (*path, "tasks"), f"tasks wait for each other: {' → '.join(cycle)}", code="cycle"
        )


def _check_policies(policies: Sequence[LifecyclePolicy], report: Report, path: Path) -> None:
    for index, policy in enumerate(policies):
        events = events_of(policy)
        place = (*path, index)
        if bool(events) == (policy.exit_code is not None):
            report.add(place, "a policy has either events or an exit code")
        if policy.exit_code == 0:
            report.add((*place, "exitCode"), "0 is no error: a policy cannot wait for it")
        for event in events:
            if event not in EVENTS:
                hint = report.close_to(event, EVENTS)
                report.add(place, f"there is no event {event[:40]!r}", hint=hint)
        if policy.action not in ACTIONS:
            hint = report.close_to(policy.action, ACTIONS)
            report.add((*place, "action"), f"there is no action {policy.action[:40]!r}", hint=hint)
        if "PodPending" in events and not policy.timeout:
            report.add(place, "PodPending needs a timeout", hint="timeout: 5m")
        _check_duration(policy.timeout, report, (*place, "timeout"))
    _check_clear(policies, report, path)


def _check_clear(policies: Sequence[LifecyclePolicy], report: Report, path: Path) -> None:
    """Check that no two policies answer to the same."""
    seen: set[str | int] = set()
    for index, policy in enumerate(policies):
        code = () if policy.exit_code is None else (policy.exit_code,)
        for cause in dict.fromkeys((*events_of(policy), *code)):
            if cause in seen:
                what = f"exit code {cause}" if isinstance(cause, int) else f"event {cause[:40]!r}"
                report.add((*path, index), f"the {what} has two policies", code="duplicate_name")
            seen.add(cause)
    if "*" in seen and sum(isinstance(each, str) for each in seen) > 1:
        report.add(path, "'*' stands for every event: no policy for another can be beside it")


def events_of(policy: LifecyclePolicy) -> tuple[str, ...]:
    """Give the events of a policy, whichever field they stand in."""
    return (*policy.events, *((policy.event,) if policy.event else ()))


def _check_duration(text: str, report: Report, path: Path) -> None:
    try:
        if text:
            parse_duration(text)
    except InvalidInputError as error:
        report.add(path, str(error))


def _check_unique(names: Sequence[str], what: str, report: Report, path: Path) -> None:
    seen: Counter[str] = Counter()
    for index, name in enumerate(names):
        seen[name] += 1
        if seen[name] == 2:
            message = f"the {what} {name[:60]!r} is there twice"
            report.add((*path, index, "name"), message, code="duplicate_name")


def check_flow(flow: JobFlow, report: Report) -> None:
    """Check a flow by itself; whether its templates are there is seen when it is compiled."""
    flows, path = flow.spec.flows, ("spec", "flows")
    if not flows:
        report.add(path, "a flow needs at least one step", hint="flows: [{name: …}]")
    policy = flow.spec.job_retain_policy
    if policy not in ("", "retain", "delete"):
        report.add(("spec", "jobRetainPolicy"), f"{policy[:40]!r} is neither retain nor delete")
    _check_unique([each.name for each in flows], "step", report, path)
    names = {each.name for each in flows}
    for index, each in enumerate(flows):
        _check_step(flow, each, names, report, (*path, index))
    edges = {each.name: tuple(t for t in targets_of(each) if t in names) for each in flows}
    cycle = find_cycle(edges)
    if cycle:
        report.add(path, f"steps wait for each other: {' → '.join(cycle)}", code="cycle")


def _check_step(flow: JobFlow, step: Flow, names: set[str], report: Report, path: Path) -> None:
    job = f"{flow.metadata.name or flow.metadata.generate_name + 'x' * 5}-{step.name}"
    if not is_dns1123_label(job):
        message = f"the Job's name {job[:80]!r} is too long or no name"
        report.add((*path, "name"), message, hint="at most 63 of a-z, 0-9 and dashes")
    for index, target in enumerate(targets_of(step)):
        if target not in names:
            hint = report.close_to(target, names)
            where = (*path, "dependsOn", "targets", index)
            report.add(where, f"there is no step {target[:60]!r}", hint=hint)
    probe = step.depends_on.probe if step.depends_on else None
    if probe is None:
        return
    if not targets_of(step):
        report.add((*path, "dependsOn", "probe"), "a probe without targets probes nothing")
    for index, status in enumerate(probe.task_status_list):
        if status.phase not in PHASES:
            where = (*path, "dependsOn", "probe", "taskStatusList", index, "phase")
            hint = report.close_to(status.phase, PHASES)
            report.add(where, f"there is no phase {status.phase[:40]!r}", hint=hint)


def targets_of(step: Flow) -> tuple[str, ...]:
    """Give the steps that a step depends on."""
    return step.depends_on.targets if step.depends_on else ()


def find_cycle(edges: Mapping[str, Sequence[str]]) -> list[str]:
    """Give a cycle of a graph, the first name again at its end; empty where there is none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []
