"""From a node that may start to the task that a runtime runs, and to the work that the scheduler
weighs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec

from tiphys.core.priority import effective_priority
from tiphys.core.quantity import bytes_of, cpu_millis
from tiphys.engine.command import StartNode
from tiphys.engine.node import Node, NodeType
from tiphys.engine.run import Run
from tiphys.errors import InvalidInputError
from tiphys.kueue import label
from tiphys.ports import LOCAL, PLAIN_JOBS, SCHEDULER_LABEL, VOLCANO, AttemptId, Task
from tiphys.scheduling import Resources, Work, WorkId, clamp
from tiphys.scheduling.admission import queue_of
from tiphys.spec import model
from tiphys.spec.repository import repository_text


def attempt_id(run: Run, attempt: int) -> AttemptId:
    """Give the id of one start of one node."""
    return f"{run.uid}.{attempt}"


def make_task(run: Run, command: StartNode, now: float) -> Task:
    """Build what a runtime needs to run the node."""
    node = run.nodes[command.node]
    template = command.template
    scheduler = scheduler_of(run)
    if run.spec.host_aliases and scheduler == LOCAL:
        aliases = (*run.spec.host_aliases, *template.host_aliases)
        template = msgspec.structs.replace(template, host_aliases=aliases)
    common = run.spec.pod_metadata if scheduler != LOCAL else None
    own = template.metadata
    return Task(
        id=attempt_id(run, command.attempt),
        workflow=run.name,
        namespace=run.namespace,
        workflow_uid=run.uid,
        node_id=node.id,
        node_name=node.name,
        template=template,
        volumes=volumes_of(run),
        capture_result=command.capture_result,
        deadline=_deadline(command, now),
        pod_spec_patch=run.spec.pod_spec_patch,
        labels={**common.labels, **own.labels} if common else own.labels,
        annotations={**common.annotations, **own.annotations} if common else own.annotations,
        archive_logs=_archives(run, template),
        artifact_repository=repository_text(
            run.library.config_maps, run.namespace, run.spec.artifact_repository_ref
        ),
        values=_values(run, template),
        scheduler=scheduler,
        layer=layer_of(run, node) if scheduler == VOLCANO else "",
        queue=_queue(run, template) if scheduler == VOLCANO else "",
        retried=(template.retry_strategy or run.spec.retry_strategy) is not None,
        claims=_claims(run) if scheduler != LOCAL else (),
        pod=_pod_fields(run.spec) if scheduler != LOCAL else {},
        gates=gates_of(run) if scheduler in PLAIN_JOBS else (),
        job_labels=job_labels_of(run) if scheduler in PLAIN_JOBS else {},
        pod_name=node.ours.pod,
    )


def has_queue_there(run: Run) -> bool:
    """Whether a run of our engine waits in a queue of Kueue's on its cluster."""
    return scheduler_of(run) in PLAIN_JOBS and bool(run.labels.get(label.QUEUE))


def gates_of(run: Run) -> tuple[str, ...]:
    """Give the gates of a run's pods: ours, where groups of them are admitted (docs/kueue.md)."""
    by_pod = run.annotations.get(label.UNIT) == "pod"
    is_gated = run.labels.get(label.QUEUE) and not by_pod and not run.spec.suspend_by_steps
    return (label.GATE,) if is_gated else ()


def job_labels_of(run: Run) -> dict[str, str]:
    """Give what has Kueue itself admit a run's Jobs one by one: the unit ``pod``."""
    if run.annotations.get(label.UNIT) != "pod" or run.spec.suspend_by_steps:
        return {}
    return {key: run.labels[key] for key in (label.QUEUE, label.PRIORITY) if run.labels.get(key)}


def _queue(run: Run, template: model.Template) -> str:
    """Give the queue of a task: its template's own, or that of its workflow."""
    own, whole = template.metadata, run.workflow.metadata
    labels, annotations = {**whole.labels, **own.labels}, {**whole.annotations, **own.annotations}
    return queue_of(labels, annotations)


def scheduler_of(run: Run) -> str:
    """Say where the nodes of a run are to run."""
    return run.workflow.metadata.labels.get(SCHEDULER_LABEL) or LOCAL


def priority_of(run: Run) -> int:
    """Give the priority of a run; one that says nothing is like any other."""
    number, named = run.spec.priority, run.spec.pod_priority_class_name
    return effective_priority(number, run.labels, named, run.library.priority_classes)


def _pod_fields(spec: model.WorkflowSpec) -> dict[str, Any]:
    """Give what a workflow sets for the pods of all its templates, as Kubernetes spells it."""
    fields = {
        "affinity": spec.affinity,
        "automountServiceAccountToken": spec.automount_service_account_token,
        "dnsConfig": spec.dns_config,
        "dnsPolicy": spec.dns_policy,
        "hostAliases": spec.host_aliases,
        "hostNetwork": spec.host_network,
        "imagePullSecrets": spec.image_pull_secrets,
        "nodeSelector": spec.node_selector,
        "priorityClassName": spec.pod_priority_class_name,
        "schedulerName": spec.scheduler_name,
        "securityContext": spec.security_context,
        "serviceAccountName": spec.service_account_name,
        "tolerations": spec.tolerations,
    }
    given = {name: value for name, value in fields.items() if value not in (None, "", (), {})}
    return {name: msgspec.to_builtins(value) for name, value in given.items()}


def _values(run: Run, template: model.Template) -> dict[str, str]:
    """Give what a key format may name: the workflow's values and the inputs of the template."""
    values = dict(run.globals)
    for each in template.inputs.parameters:
        if each.value is not None:
            values[f"inputs.parameters.{each.name}"] = str(each.value)
    return values


def _deadline(command: StartNode, now: float) -> float | None:
    seconds = command.template.active_deadline_seconds
    if seconds is None and command.deadline_at is None:
        return None
    found = []
    if command.deadline_at is not None:
        found.append(max(0.0, command.deadline_at - now))
    if seconds is not None:
        try:
            found.append(float(seconds))
        except ValueError:
            raise InvalidInputError(
                f"activeDeadlineSeconds must be a number, got {seconds!r}"
            ) from None
    return min(found, default=None)


def _archives(run: Run, template: model.Template) -> bool:
    place = template.archive_location
    if place is not None and place.archive_logs is not None:
        return place.archive_logs
    return bool(run.spec.archive_logs)


def layer_of(run: Run, node: Node) -> str:
    """Name the step group, loop or set of dependencies that a node comes from.

    Nodes with the same name that become ready together are a layer.
    """
    parents = node.ours.parents
    while len(parents) == 1 and _is_retry(run, parents[0]):
        parents = run.nodes[parents[0]].ours.parents
    if len(parents) == 1 and parents[0] in run.nodes:
        return run.nodes[parents[0]].name
    return _join(parents) or run.name


@lru_cache(maxsize=64)
def _join(parents: tuple[str, ...]) -> str:
    """Name all of them; those that wait for the same ask one after another."""
    return "+".join(sorted(parents))


def _is_retry(run: Run, node_id: str) -> bool:
    node = run.nodes.get(node_id)
    return node is not None and node.type is NodeType.RETRY


def _claims(run: Run) -> tuple[model.PersistentVolumeClaim, ...]:
    replace = msgspec.structs.replace
    return tuple(
        replace(claim, metadata=replace(claim.metadata, name=f"{run.name}-{claim.metadata.name}"))
        for claim in run.spec.volume_claim_templates
    )


def volumes_of(run: Run) -> tuple[model.Volume, ...]:
    """Give the run's volumes, its claims among them under the names they get."""
    if not run.spec.volume_claim_templates:
        return run.spec.volumes
    claims = tuple(
        model.Volume(
            name=claim.metadata.name,
            persistent_volume_claim=model.PersistentVolumeClaimVolumeSource(
                claim_name=f"{run.name}-{claim.metadata.name}"
            ),
        )
        for claim in run.spec.volume_claim_templates
    )
    return (*run.spec.volumes, *claims)


def make_work(
    run: Run, command: StartNode, capacity: Resources, now: float
) -> tuple[Work, tuple[str, ...]]:
    """Build what the scheduler weighs; give also what had to be cut down to fit the machine."""
    wanted = requests_of(command.template)
    if not command.template.daemon:
        wanted["pods"] = 1
    requests, warnings = clamp(Resources(wanted).positive(), capacity)
    work = Work(
        id=WorkId(attempt_id(run, command.attempt)),
        requests=requests,
        priority=priority_of(run),
        workflow=run.uid,
        created_at=run.nodes[command.node].ours.queued_at or now,
        workflow_created_at=run.created_at,
    )
    return work, warnings


def requests_of(template: model.Template) -> dict[str, int]:
    """Sum up what the containers of a template ask for; a limit alone counts as asked for."""
    total: dict[str, int] = {}
    for container in _containers(template):
        for name, amount in _asked(container).items():
            total[name] = total.get(name, 0) + amount
    for container in template.init_containers:
        for name, amount in _asked(container).items():
            total[name] = max(total.get(name, 0), amount)
    return total


def _containers(template: model.Template) -> Iterable[model.Container]:
    if template.container is not None:
        yield template.container
    if template.script is not None:
        yield template.script
    if template.container_set is not None:
        yield from template.container_set.containers
    yield from template.sidecars


def _asked(container: model.Container) -> dict[str, int]:
    resources = container.resources
    if resources is None:
        return {}
    found: dict[str, int] = {}
    for name, quantity in {**resources.limits, **resources.requests}.items():
        found[name] = _amount(name, quantity)
    return found


def _amount(name: str, quantity: object) -> int:
    text = str(quantity)
    if name == "cpu":
        return cpu_millis(text)
    return bytes_of(text)
