"""Gangs on Volcano: tasks of one layer that start together are one PodGroup, placed all or none.

A group's size is the number of tasks that the engine really started at once, so that neither
``parallelism`` nor locks can make it wait for members that never come. It is made before its first
Job and deleted when the last of its members is on record. Its name follows from the layer, so that
it is found again after a crash, and another attempt of a member joins it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tiphys.core.name import fnv1a32
from tiphys.core.quantity import bytes_of, cpu_millis
from tiphys.errors import InvalidInputError, RuntimeFailure
from tiphys.ports import VOLCANO, AttemptId, Task
from tiphys.spec import model

Json = dict[str, Any]
GROUP_NAME = "scheduling.k8s.io/group-name"
"""The annotation that Volcano's scheduler reads on pods."""
SCHEDULER_NAME = "volcano"
_PREFIX = "pg-"
_API = "scheduling.volcano.sh/v1beta1"


def is_ganged(task: Task) -> bool:
    """Whether a task is placed by Volcano."""
    return task.scheduler == VOLCANO


def group_name(task: Task) -> str:
    """Give the name of a task's group."""
    if task.layer in ("", task.workflow):
        return f"{_PREFIX}{task.workflow_uid}"
    return f"{_PREFIX}{task.workflow_uid}-{fnv1a32(task.layer):x}"


def is_ours(group: str) -> bool:
    """Whether a group is one of a layer, and not one that a Volcano Job has made for itself."""
    return group.startswith(_PREFIX)


def groups_path(namespace: str) -> str:
    """Give the collection of a namespace's groups."""
    return f"/apis/{_API}/namespaces/{namespace}/podgroups"


@dataclass(frozen=True, slots=True)
class Gang:
    """What a group must be, as its first member knows it."""

    name: str
    size: int
    resources: dict[str, str]

    def write(self, task: Task, labels: dict[str, str]) -> Json:
        """Give the PodGroup."""
        spec: Json = {"minMember": self.size, "queue": task.queue or "default"}
        priority = task.template.priority_class_name or task.pod.get("priorityClassName")
        if priority:
            spec["priorityClassName"] = priority
            # Without minResources: Volcano keeps a group that does not fit out of its queue by
            # them, and a group that is kept out never preempts anybody.
        else:
            spec["minResources"] = self.resources
        return {
            "apiVersion": _API,
            "kind": "PodGroup",
            "metadata": {"name": self.name, "labels": labels},
            "spec": spec,
        }


def gangs_of(tasks: Sequence[Task]) -> dict[AttemptId, Gang]:
    """Give the gang of each task among those that start together."""
    members: dict[str, list[Task]] = {}
    for task in tasks:
        if is_ganged(task) and task.template.resource is None:
            members.setdefault(group_name(task), []).append(task)
    found = {}
    for name, group in members.items():
        gang = Gang(name, len(group), _total(group))
        found.update(dict.fromkeys((task.id for task in group), gang))
    return found


def _total(tasks: Iterable[Task]) -> dict[str, str]:
    total: Counter[str] = Counter()
    try:
        for task in tasks:
            for container in _containers(task.template):
                asked = {**container.resources.limits, **container.resources.requests}
                for name, amount in asked.items():
                    total[name] += cpu_millis(amount) if name == "cpu" else bytes_of(amount)
    except InvalidInputError as error:
        raise RuntimeFailure(f"resources: {error}") from error
    return {name: f"{n}m" if name == "cpu" else str(n) for name, n in total.items()}


def _containers(template: model.Template) -> list[model.Container]:
    main = template.script or template.container
    mains: list[model.Container] = [main] if main is not None else []
    if template.container_set is not None:
        mains += template.container_set.containers
    return [*mains, *template.sidecars]
