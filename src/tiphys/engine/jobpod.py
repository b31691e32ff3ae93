"""The pods of a Volcano Job as templates: what each replica runs and knows of the others.

Replicas find each other by name. On a cluster that is a headless service; here each replica has an
address of its own on the loopback network, and the names stand in the pods' ``/etc/hosts``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from tiphys.core.name import fnv1a32
from tiphys.spec import model
from tiphys.spec.model.volcano import JobSpec, JobTask

replace = msgspec.structs.replace
HOSTS_FOLDER = "/etc/volcano"
"""Where the plugin ``svc`` puts a file of host names for each task."""
_HOSTS = "volcano-hosts"
_QUEUE = "scheduling.volcano.sh/queue-name"


def read_job(value: dict[str, Any]) -> JobSpec:
    """Read the job of a template whose tags are resolved."""
    return msgspec.convert(value, JobSpec, strict=False)


def pod_template(job: str, spec: JobSpec, task: JobTask, index: int, base: str) -> model.Template:
    """Give the template of one replica of a task; ``base`` names the Job's own template."""
    pod = task.template.spec
    own = [*_environment(job, spec, index)]
    mounts = tuple(
        model.VolumeMount(name=f"job-volume-{i}", mount_path=volume.mount_path)
        for i, volume in enumerate(spec.volumes)
    )
    if "svc" in spec.plugins:
        mounts = (*mounts, model.VolumeMount(name=_HOSTS, mount_path=HOSTS_FOLDER))
    containers = [_with(each, own, mounts) for each in pod.containers]
    made = model.Template(
        name=f"{base}-{task.name}" if task.name else base,
        metadata=_metadata(job, spec, task),
        init_containers=tuple(_with(each, own, mounts) for each in pod.init_containers),
        volumes=(*pod.volumes, *_volumes(spec, base)),
        node_selector=pod.node_selector,
        tolerations=pod.tolerations,
        affinity=pod.affinity,
        security_context=pod.security_context,
        service_account_name=pod.service_account_name,
        scheduler_name=spec.scheduler_name,
        priority_class_name=pod.priority_class_name or spec.priority_class_name,
        active_deadline_seconds=_text(pod.active_deadline_seconds),
        host_aliases=(*pod.host_aliases, *_aliases(job, spec)),
    )
    if len(containers) == 1:
        return replace(made, container=_single(containers[0]))
    members = tuple(_member(each) for each in containers)
    return replace(made, container_set=model.ContainerSetTemplate(containers=members))


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _with(
    container: model.UserContainer,
    env: list[model.EnvVar],
    mounts: tuple[model.VolumeMount, ...],
) -> model.UserContainer:
    return replace(
        container,
        env=(*env, *container.env),
        volume_mounts=(*container.volume_mounts, *mounts),
    )


def _single(container: model.UserContainer) -> model.Container:
    """The only container of a pod is its main one, whatever its name."""
    fields = {
        each.name: getattr(container, each.name) for each in msgspec.structs.fields(model.Container)
    }
    return model.Container(**{**fields, "name": "main"})


def _member(container: model.UserContainer) -> model.ContainerNode:
    names = {each.name for each in msgspec.structs.fields(model.ContainerNode)}
    fields = {
        each.name: getattr(container, each.name)
        for each in msgspec.structs.fields(model.UserContainer)
        if each.name in names
    }
    return model.ContainerNode(**fields)


def _volumes(spec: JobSpec, base: str) -> tuple[model.Volume, ...]:
    claims = tuple(
        model.Volume(
            name=f"job-volume-{index}",
            persistent_volume_claim=model.PersistentVolumeClaimVolumeSource(
                claim_name=volume.volume_claim_name or f"{base}-volume-{index}"
            ),
        )
        for index, volume in enumerate(spec.volumes)
    )
    if "svc" not in spec.plugins:
        return claims
    files = tuple(
        model.DownwardAPIVolumeFile(
            path=f"{task.name}.host",
            field_ref=model.ObjectFieldSelector(
                field_path=f"metadata.annotations['{_hosts_key(task)}']"
            ),
        )
        for task in spec.tasks
    )
    hosts = model.Volume(name=_HOSTS, downward_api=model.DownwardAPIVolumeSource(items=files))
    return (*claims, hosts)


def _hosts_key(task: JobTask) -> str:
    """Name the annotation that holds the host names of a task's replicas."""
    return f"tiphys.dev/hosts-{task.name}"


def _metadata(job: str, spec: JobSpec, task: JobTask) -> model.Metadata:
    meta = task.template.metadata
    annotations = dict(meta.annotations)
    if spec.queue and spec.queue != "default":
        annotations.setdefault(_QUEUE, spec.queue)
    if "svc" in spec.plugins:
        for each in spec.tasks:
            hosts = (host_name(job, each.name, index) for index in range(each.replicas))
            annotations[_hosts_key(each)] = "\n".join(hosts)
    labels = {"volcano.sh/job-name": job, "volcano.sh/task-spec": task.name}
    return model.Metadata(labels={**meta.labels, **labels}, annotations=annotations)


def _environment(job: str, spec: JobSpec, index: int) -> Iterator[model.EnvVar]:
    """What the plugins ``env`` and ``svc`` tell a replica."""
    if "env" in spec.plugins:
        yield model.EnvVar(name="VC_TASK_INDEX", value=str(index))
        yield model.EnvVar(name="VK_TASK_INDEX", value=str(index))
    if "svc" in spec.plugins:
        for task in spec.tasks:
            word = task.name.upper().replace("-", "_")
            hosts = ",".join(host_name(job, task.name, i) for i in range(task.replicas))
            yield model.EnvVar(name=f"VC_{word}_HOSTS", value=hosts)
            yield model.EnvVar(name=f"VC_{word}_NUM", value=str(task.replicas))


def _aliases(job: str, spec: JobSpec) -> tuple[model.HostAlias, ...]:
    if "svc" not in spec.plugins:
        return ()
    return tuple(
        model.HostAlias(
            ip=address(job, task.name, index),
            hostnames=(host_name(job, task.name, index), f"{job}-{task.name}-{index}"),
        )
        for task in spec.tasks
        for index in range(task.replicas)
    )


def host_name(job: str, task: str, index: int) -> str:
    """The name by which replicas know each other."""
    return f"{job}-{task}-{index}.{job}"


def address(job: str, task: str, index: int) -> str:
    """A replica's own address on the loopback network: the same at every start."""
    number = int(fnv1a32(f"{job}/{task}/{index}"))
    return f"127.{64 + (number >> 16) % 128}.{(number >> 8) % 256}.{1 + number % 254}"
