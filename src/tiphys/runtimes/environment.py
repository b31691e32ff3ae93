"""The environment of a container: a little of the host's, what Argo gives, what the file says.

Values of secrets go from here to the process and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TypeVar

from tiphys.core import quantity
from tiphys.core.name import pod_name
from tiphys.errors import RuntimeFailure
from tiphys.ports import Resources, Task
from tiphys.runtimes.command import expand
from tiphys.spec import model

T = TypeVar("T")
HOST_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME")
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def pod_of(task: Task) -> str:
    """Return the name that the task's pod would have."""
    return task.pod_name or pod_name(
        task.workflow, task.node_name, task.template.name, task.node_id
    )


def host_environment(more: tuple[str, ...] = ()) -> dict[str, str]:
    """Return what tasks see of the server's own environment."""
    found = {name: os.environ[name] for name in (*HOST_VARIABLES, *more) if name in os.environ}
    found.setdefault("PATH", DEFAULT_PATH)
    return found


def argo_environment(task: Task, container: str) -> dict[str, str]:
    """Return the variables that Argo sets."""
    pod = pod_of(task)
    return {
        "TIPHYS_ATTEMPT_ID": task.id,
        "ARGO_CONTAINER_NAME": container,
        "ARGO_NODE_ID": task.node_id,
        "ARGO_POD_NAME": pod,
        "ARGO_WORKFLOW_NAME": task.workflow,
        "ARGO_WORKFLOW_UID": task.workflow_uid,
        "HOSTNAME": pod,
    }


class Environment:
    """Reads the variables that a container declares."""

    def __init__(self, task: Task, resources: Resources) -> None:
        self._task = task
        self._resources = resources

    def declared(self, container: model.Container) -> dict[str, str]:
        """Return the container's own variables, sources read and references replaced."""
        variables: dict[str, str] = {}
        for source in container.env_from:
            variables |= self._all_of(source)
        for variable in container.env:
            if variable.value_from is None:
                variables[variable.name] = expand(variable.value, variables)
                continue
            value = self._value(variable.value_from, container)
            if value is not None:
                variables[variable.name] = value
        return variables

    def _all_of(self, source: model.EnvFromSource) -> dict[str, str]:
        found: Mapping[str, str] = {}
        if source.config_map_ref is not None:
            ref = source.config_map_ref
            found = self.config_map(ref.name, optional=bool(ref.optional))
        elif source.secret_ref is not None:
            secret = source.secret_ref
            data = self.secret(secret.name, optional=bool(secret.optional))
            found = {key: _text(value, key) for key, value in data.items()}
        return {source.prefix + key: value for key, value in found.items()}

    def _value(self, source: model.EnvVarSource, container: model.Container) -> str | None:
        if source.config_map_key_ref is not None:
            ref = source.config_map_key_ref
            data = self.config_map(ref.name, optional=bool(ref.optional))
            return _pick(data, ref.key, f"config map {ref.name}", optional=bool(ref.optional))
        if source.secret_key_ref is not None:
            secret = source.secret_key_ref
            values = self.secret(secret.name, optional=bool(secret.optional))
            optional = bool(secret.optional)
            value = _pick(values, secret.key, f"secret {secret.name}", optional=optional)
            return None if value is None else _text(value, secret.key)
        if source.field_ref is not None:
            return self.field(source.field_ref.field_path)
        if source.resource_field_ref is not None:
            return resource_field(source.resource_field_ref, container.resources)
        return ""

    def config_map(self, name: str, *, optional: bool) -> Mapping[str, str]:
        """Return the data of a config map."""
        data = self._resources.config_map(self._task.namespace, name)
        if data is None and not optional:
            raise RuntimeFailure(f'configmap "{name}" not found')
        return data or {}

    def secret(self, name: str, *, optional: bool) -> Mapping[str, bytes]:
        """Return the data of a secret."""
        data = self._resources.secret(self._task.namespace, name)
        if data is None and not optional:
            raise RuntimeFailure(f'secret "{name}" not found')
        return data or {}

    def field(self, path: str) -> str:
        """Return a field of the pod that this task would be."""
        task = self._task
        simple = {
            "metadata.name": pod_of(task),
            "metadata.namespace": task.namespace,
            "metadata.uid": task.id,
            "spec.nodeName": os.uname().nodename,
            "spec.serviceAccountName": task.template.service_account_name or "default",
            "status.podIP": "127.0.0.1",
            "status.podIPs": "127.0.0.1",
            "status.hostIP": "127.0.0.1",
            "status.hostIPs": "127.0.0.1",
        }
        if path in simple:
            return simple[path]
        for kind, values in (("labels", task.labels), ("annotations", task.annotations)):
            if path == f"metadata.{kind}":
                return "\n".join(f'{key}="{value}"' for key, value in sorted(values.items()))
            if path.startswith(f"metadata.{kind}['") and path.endswith("']"):
                return values.get(path[len(f"metadata.{kind}['") : -2], "")
        raise RuntimeFailure(f"field {path} is not known here")


def _text(value: bytes, key: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise RuntimeFailure(f"the secret's key {key} is no text: mount it as a file") from None


def _pick(data: Mapping[str, T], key: str, where: str, *, optional: bool) -> T | None:
    if key not in data and not optional:
        raise RuntimeFailure(f"couldn't find key {key} in {where}")
    return data.get(key)


def resource_field(source: model.ResourceFieldSelector, given: model.ResourceRequirements) -> str:
    """Return an amount of a container's resources, divided and rounded up as Kubernetes does."""
    kind, _, name = source.resource.partition(".")
    amounts = given.limits if kind == "limits" else given.requests
    if name not in amounts:
        total = os.cpu_count() or 1 if name == "cpu" else _memory_of_machine()
        amount = quantity.parse_quantity(total)
    else:
        amount = quantity.parse_quantity(amounts[name])
    divisor = quantity.parse_quantity(source.divisor or "1")
    return str(-(-amount // (divisor or 1)))


def _memory_of_machine() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
