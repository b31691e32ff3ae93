"""From a node that may start to the task that a runtime runs, and to the work that the scheduler
weighs.
"""

from __future__ import annotations

from collections.abc import Iterable

from tiphys.core.quantity import bytes_of, cpu_millis
from tiphys.engine.command import StartNode
from tiphys.engine.run import Run
from tiphys.errors import InvalidInputError
from tiphys.ports import AttemptId, Task
from tiphys.scheduling import Resources, Work, WorkId, clamp
from tiphys.spec import model


def attempt_id(run: Run, attempt: int) -> AttemptId:
    """Give the id of one start of one node."""
    return f"{run.uid}.{attempt}"


def make_task(run: Run, command: StartNode, now: float) -> Task:
    """Build what a runtime needs to run the node."""
    node = run.nodes[command.node]
    template = command.template
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
        pod_spec_patch=template.pod_spec_patch or run.spec.pod_spec_patch,
        labels=template.metadata.labels,
        annotations=template.metadata.annotations,
        archive_logs=_archives(run, template),
    )


def _deadline(command: StartNode, now: float) -> float | None:
    found = []
    if command.deadline_at is not None:
        found.append(max(0.0, command.deadline_at - now))
    seconds = command.template.active_deadline_seconds
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


def volumes_of(run: Run) -> tuple[model.Volume, ...]:
    """Give the run's volumes, its claims among them under the names they get."""
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
        priority=run.spec.priority if run.spec.priority is not None else 10,
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
