"""From a task to a Job: one pod, its containers wrapped so that their outputs can be collected.

Pure: whoever calls has staged the inputs and says which there are.
The name is made of the attempt's id, so that making a Job twice finds the first one.
"""

from __future__ import annotations

import math
import posixpath
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from tiphys.core.duration import parse_duration_or_seconds
from tiphys.errors import InvalidInputError, RuntimeFailure
from tiphys.ports import Task
from tiphys.runtimes import kubernetes_helper as helper
from tiphys.runtimes.command import find_image
from tiphys.runtimes.config import LocalConfig
from tiphys.runtimes.kubernetes_config import KubernetesConfig
from tiphys.runtimes.kubernetes_gang import GROUP_NAME, SCHEDULER_NAME, group_name, is_ganged
from tiphys.runtimes.kubernetes_patch import apply_patches
from tiphys.runtimes.translate import MAIN, SCRIPT_PATH
from tiphys.spec import model

Json = dict[str, Any]
OWNER = "tiphys.dev/owner"
"""Which Tiphys made a Job: the id of its data directory."""
OWNER_FILE = "cluster-owner"
"""In a data directory from which something was made on a cluster."""
ATTEMPT, ATTEMPT_ID = "tiphys.dev/attempt", "tiphys.dev/attempt-id"
NODE_NAME = "workflows.argoproj.io/node-name"
NODE_ID = "workflows.argoproj.io/node-id"
WORKFLOW = "workflows.argoproj.io/workflow"
_NOT_KUBERNETES = ("source", "mirrorVolumeMounts", "dependencies", "terminationMessagePath")
"""Fields of Argo's containers that pods do not have, and one that is ours to set."""
_HELPER_RESOURCES = {
    "requests": {"cpu": "10m", "memory": "16Mi"},
    "limits": {"cpu": "1", "memory": "128Mi"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A task, with what is known about its files."""

    task: Task
    template: model.Template
    inputs: tuple[tuple[str, str], ...] = ()
    """Names of the input files in the shared folder, and the paths where main sees them."""
    files: str = ""
    """The packed inputs; "" where they are brought once the pod is there."""
    wanted: tuple[str, ...] = ()
    """Paths of output files."""

    @property
    def collects(self) -> bool:
        """Whether anything but the exit code is wanted of main."""
        return bool(self.wanted) or self.task.capture_result

    @property
    def is_plain(self) -> bool:
        """Whether the task's command can run as it is: nothing is brought, awaited or collected.

        Such a pod has no helper, which would be half of it: it starts sooner, and every write of it
        costs the cluster less.
        """
        template = self.template
        others = template.init_containers or template.sidecars
        return not (template.container is None or others or self.inputs or self.collects)


@dataclass(frozen=True, slots=True)
class Clerk:
    """What all Jobs of one Tiphys have in common."""

    owner: str
    config: KubernetesConfig
    images: LocalConfig = field(default_factory=LocalConfig)

    def namespace_of(self, task: Task) -> str:
        """Give where a task's Job lives."""
        return self.config.namespace or task.namespace

    def write(self, order: Order) -> Json:
        """Give the Job of a task."""
        task = order.task
        labels = self.labels_of(task)
        spec: Json = {
            "backoffLimit": 0 if task.retried else self.config.backoff_limit,
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": {"rules": _RULES},
            "template": {
                "metadata": {
                    "labels": {**task.labels, **labels},
                    "annotations": {**task.annotations, **_annotations(task), **_gang(task)},
                },
                "spec": self._pod(order),
            },
        }
        deadline = self._deadline(order)
        if deadline:
            # A Job's clock runs while its pod waits at a gate; a pod's own does not.
            holder = spec["template"]["spec"] if _waits_untimed(task) else spec
            holder["activeDeadlineSeconds"] = deadline
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": job_name(task),
                "namespace": self.namespace_of(task),
                "labels": {**labels, **task.job_labels},
                "annotations": _annotations(task),
            },
            "spec": spec,
        }

    def labels_of(self, task: Task) -> dict[str, str]:
        return {
            "workflow-id": task.workflow_uid,
            "scheduler": task.scheduler,
            OWNER: self.owner,
            ATTEMPT: task.id.rpartition(".")[2],
            WORKFLOW: task.workflow[:63].rstrip("-."),
        }

    def _deadline(self, order: Order) -> int:
        given = order.task.deadline
        if given is not None:
            return max(1, math.ceil(given))
        return 0 if order.template.daemon else self.config.active_deadline_seconds

    # --- the pod --------------------------------------------------------------------------

    def _pod(self, order: Order) -> Json:
        task, template = order.task, order.template
        mains = [self._main(order, *each) for each in members(template)]
        pod: Json = {
            **task.pod,
            **_pod_fields(template),
            "restartPolicy": "Never",
            "containers": mains,
            "volumes": _volumes(task, template),
        }
        if not order.is_plain:
            pod["initContainers"] = self._before(order)
            pod["volumes"].append({"name": helper.VOLUME, "emptyDir": {}})
        if task.gates:
            pod["schedulingGates"] = [{"name": name} for name in task.gates]
        if is_ganged(task):
            pod["schedulerName"] = SCHEDULER_NAME
        if order.collects:
            mains.append(self._helper(order, helper.WAIT, helper.WAIT_SCRIPT))
        made = apply_patches(pod, task.pod_spec_patch, template.pod_spec_patch)
        if order.is_plain and not made.get("hostPID"):
            # As process 1 a program hears no signal that it does not handle: no stop, then.
            made.setdefault("shareProcessNamespace", True)
        return made

    def _before(self, order: Order) -> list[Json]:
        """Give what runs before the task, and beside it."""
        template = order.template
        return [
            self._helper(order, helper.INIT, helper.INIT_SCRIPT),
            *(_plain(each) for each in template.init_containers),
            *({**_plain(each), "restartPolicy": "Always"} for each in template.sidecars),
        ]

    def _helper(self, order: Order, name: str, script: str) -> Json:
        env = [{"name": "TIPHYS_FILES", "value": order.files}]
        if not order.files:
            env.append({"name": "TIPHYS_AWAIT", "value": "1"})
        made: Json = {
            "name": name,
            "image": self.config.helper_image,
            "imagePullPolicy": "IfNotPresent",
            "command": helper.shell(script),
            "env": env if name == helper.INIT else [],
            "resources": _HELPER_RESOURCES,
            "volumeMounts": [{"name": helper.VOLUME, "mountPath": helper.SHARED}],
        }
        context = order.template.security_context
        if context is not None and context.run_as_non_root and context.run_as_user is None:
            # The helper's image is root's; anybody can do what it does.
            made["securityContext"] = {"runAsUser": 65534}
        return made

    def _main(self, order: Order, container: model.Container, name: str) -> Json:
        made = _plain(container)
        made["name"] = name
        made["env"] = [*_argo_variables(order.task, name), *made.get("env", [])]
        if order.is_plain and (container.command or not self._knows(container.image)):
            return made
        made.pop("args", None)
        made["command"] = list(self._argv(container))
        if not order.is_plain:
            made["command"] = _wrapping(order, container, name).wrap(made["command"])
            made["volumeMounts"] = _mounts(order, container, made.get("volumeMounts", []))
        return made

    def _knows(self, image: str) -> bool:
        found = find_image(self.images, image)
        return found is not None and bool(found.entrypoint or found.cmd)

    def _argv(self, container: model.Container) -> tuple[str, ...]:
        command, args = container.command, container.args
        if not command:
            found = find_image(self.images, container.image)
            if found is None or not (found.entrypoint or found.cmd):
                raise RuntimeFailure(
                    f"no command for image {container.image}: give the container a command, or add "
                    "the image's own under images: in tiphys.yaml"
                )
            command = found.entrypoint or (() if args else found.cmd)
            args = args or (found.cmd if found.entrypoint else ())
        if isinstance(container, model.ScriptTemplate) and container.source:
            return (*command, *args, SCRIPT_PATH)
        return (*command, *args)


_RULES: list[Json] = [
    # Neither a pod that was evicted, preempted or lost nor one that failed by itself is tried again
    # behind the engine's back: another attempt is the engine's to start, and on record. What is
    # left for backoffLimit are pods that a node refused, so that nothing of them ever ran.
    {
        "action": "FailJob",
        "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
    },
    {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}},
]


def _wrapping(order: Order, container: model.Container, name: str) -> helper.Wrapping:
    after = container.dependencies if isinstance(container, model.ContainerNode) else ()
    retries, pause = _retries(order.template)
    return helper.Wrapping(
        name=name,
        capture=order.task.capture_result and name == MAIN,
        collect=order.collects and name == MAIN,
        retries=retries,
        pause=pause,
        after=after,
    )


def _waits_untimed(task: Task) -> bool:
    """Whether the time at a gate does not count: not where the deadline is an instant."""
    own = task.template.active_deadline_seconds
    relative = task.deadline is None or (own is not None and task.deadline == float(own))
    return bool(task.gates) and relative


def job_name(task: Task) -> str:
    """Give the name of a task's Job: that of the workflow itself, where it is its only node."""
    number = task.id.rpartition(".")[2]
    if task.node_name == task.workflow and number == "1":
        return f"job-{task.workflow_uid}"
    return f"job-{task.workflow_uid}-{number}"


def members(template: model.Template) -> Iterable[tuple[model.Container, str]]:
    """Give the containers that are the task itself."""
    main = template.script or template.container
    if main is not None:
        yield main, MAIN
    elif template.container_set is not None:
        for node in template.container_set.containers:
            yield node, node.name
    else:
        raise RuntimeFailure(f'template "{template.name}" has nothing to run in a pod')


def _annotations(task: Task) -> dict[str, str]:
    return {NODE_NAME: task.node_name, NODE_ID: task.node_id, ATTEMPT_ID: task.id}


def _gang(task: Task) -> dict[str, str]:
    return {GROUP_NAME: group_name(task)} if is_ganged(task) else {}


def _plain(container: model.Container) -> Json:
    made: Json = _built(container)
    for name in _NOT_KUBERNETES:
        made.pop(name, None)
    return made


def _built(value: object) -> Any:
    """Give a value as it is sent, with lists: to tuples no patch could add anything."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _argo_variables(task: Task, container: str) -> list[Json]:
    template = msgspec.json.encode(task.template).decode()
    values = {
        "ARGO_CONTAINER_NAME": container,
        "ARGO_TEMPLATE": template if len(template) < 64 * 1024 else "{}",
        "ARGO_NODE_ID": task.node_id,
        "ARGO_INCLUDE_SCRIPT_OUTPUT": str(task.capture_result).lower(),
        "TIPHYS_ATTEMPT_ID": task.id,
    }
    return [{"name": name, "value": _literal(value)} for name, value in values.items()]


def _literal(text: str) -> str:
    """Keep Kubernetes from looking for variables in a value."""
    return text.replace("$(", "$$(")


def _pod_fields(template: model.Template) -> Json:
    names = {
        "affinity": template.affinity,
        "automountServiceAccountToken": template.automount_service_account_token,
        "hostAliases": template.host_aliases,
        "nodeSelector": template.node_selector,
        "priorityClassName": template.priority_class_name,
        "schedulerName": template.scheduler_name,
        "securityContext": template.security_context,
        "serviceAccountName": template.service_account_name,
        "tolerations": template.tolerations,
    }
    return {name: _built(value) for name, value in names.items() if value not in (None, "", (), {})}


def _volumes(task: Task, template: model.Template) -> list[Json]:
    used = {mount.name for each in _containers(template) for mount in each.volume_mounts}
    if template.container_set is not None:
        used |= {mount.name for mount in template.container_set.volume_mounts}
    volumes = {v.name: v for v in (*task.volumes, *template.volumes)}
    return [_built(volume) for name, volume in volumes.items() if name in used]


def _containers(template: model.Template) -> list[model.Container]:
    mains = [container for container, _ in members(template)]
    return [*template.init_containers, *mains, *template.sidecars]


def _mounts(order: Order, container: model.Container, given: list[Json]) -> list[Json]:
    template = order.template
    mounts = list(given)
    if template.container_set is not None:
        mounts += _built(template.container_set.volume_mounts)
    mounts.append({"name": helper.VOLUME, "mountPath": helper.SHARED})
    for name, path in order.inputs:
        mounts.append(_shared_at(f"inputs/{name}", posixpath.normpath(path)))
    if isinstance(container, model.ScriptTemplate) and container.source:
        mounts.append(_shared_at("script", SCRIPT_PATH))
    return mounts


def _shared_at(inside: str, path: str) -> Json:
    return {"name": helper.VOLUME, "mountPath": path, "subPath": inside}


def _retries(template: model.Template) -> tuple[int, float]:
    strategy = template.container_set.retry_strategy if template.container_set else None
    if strategy is None:
        return 0, 0.0
    try:
        pause = parse_duration_or_seconds(strategy.duration) if strategy.duration else 0.0
        return int(strategy.retries), pause
    except (ValueError, InvalidInputError) as error:
        raise RuntimeFailure(f"retryStrategy of the container set: {error}") from error


def wanted_paths(template: model.Template) -> tuple[str, ...]:
    """Give the paths of all output files of a template."""
    parameters = (p.value_from.path for p in template.outputs.parameters if p.value_from)
    artifacts = (artifact.path for artifact in template.outputs.artifacts)
    return tuple(dict.fromkeys(path for path in (*parameters, *artifacts) if path))


def claims_of(task: Task, owner: str) -> list[Json]:
    """Give the claims that a task mounts, as objects of the cluster."""
    used = {volume["name"] for volume in _volumes(task, task.template)}
    made = []
    for volume in task.volumes:
        source = volume.persistent_volume_claim
        for claim in task.claims:
            if volume.name in used and source and source.claim_name == claim.metadata.name:
                thing: Json = msgspec.to_builtins(claim)
                thing["metadata"]["labels"] = {
                    **thing["metadata"].get("labels", {}),
                    "workflow-id": task.workflow_uid,
                    OWNER: owner,
                }
                thing |= {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
                thing.pop("status", None)
                made.append(thing)
    return made


def labels_of(thing: Mapping[str, Any]) -> Mapping[str, str]:
    """Give the labels of an object."""
    found: Mapping[str, str] = thing["metadata"].get("labels") or {}
    return found


def owner_of(data: Path) -> str:
    """Give the id of a data directory among all that use the cluster; made once."""
    path = data / OWNER_FILE
    with suppress(FileExistsError), open(path, "x") as file:
        file.write(secrets.token_hex(8))
    return path.read_text()
