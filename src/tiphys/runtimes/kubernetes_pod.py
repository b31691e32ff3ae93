"""What the status of a pod and of its Job says about an attempt. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from tiphys.executor.life import CANNOT_START
from tiphys.executor.protocol import ContainerExit
from tiphys.runtimes import kubernetes_helper as helper

Json = Mapping[str, Any]
LOST = "pod deleted"
_UNSTARTED = ("StartError", "ContainerCannotRun")
_NOT_FOUND = re.compile(
    r'exec: "[^"]+": (executable file not found in \$PATH|stat [^:]+: no such file or directory)'
)
_PULLING = ("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "RegistryUnavailable")


def statuses(pod: Json) -> Iterator[Json]:
    """Give the status of each container, init containers first."""
    status = pod.get("status") or {}
    yield from status.get("initContainerStatuses") or ()
    yield from status.get("containerStatuses") or ()


def state_of(pod: Json, container: str, kind: str) -> Json | None:
    """Give a container's ``running``, ``waiting`` or ``terminated`` state, if it is in that."""
    for each in statuses(pod):
        if each["name"] == container:
            found: Json | None = (each.get("state") or {}).get(kind)
            return found
    return None


def all_ended(pod: Json, containers: Sequence[str]) -> bool:
    """Tell whether nothing more will happen in these containers."""
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return True
    return all(state_of(pod, name, "terminated") is not None for name in containers)


def first_start(pod: Json, containers: Sequence[str]) -> float | None:
    """Give when the first of these containers began."""
    times = []
    for name in containers:
        state = state_of(pod, name, "running") or state_of(pod, name, "terminated")
        # What could not be started has the instant 0.
        if at := seconds((state or {}).get("startedAt")):
            times.append(at)
    return min(times, default=None)


def is_ready(pod: Json) -> bool:
    """Tell whether a pod has passed its readiness probes."""
    return condition(pod, "Ready") is not None


def is_disrupted(pod: Json) -> bool:
    """Tell whether a pod ended for reasons that are not its own."""
    status = pod.get("status") or {}
    return condition(pod, "DisruptionTarget") is not None or status.get("reason") == "Evicted"


def condition(thing: Json, kind: str) -> Json | None:
    """Give a condition that is true."""
    for each in (thing.get("status") or {}).get("conditions") or ():
        if each.get("type") == kind and each.get("status") == "True":
            found: Json = each
            return found
    return None


def failure_of(job: Json) -> tuple[str, str]:
    """Give reason and message of a Job that has failed; two empty texts where it has not."""
    found = condition(job, "Failed")
    if found is None:
        return "", ""
    return str(found.get("reason") or "Failed"), str(found.get("message") or "")


def exit_of(pod: Json, container: str) -> ContainerExit:
    """Give how a container ended; of one that is started again, how it failed before."""
    state = _failed_before(pod, container) or state_of(pod, container, "terminated")
    if state is None:
        return ContainerExit(container)
    word, rest = helper.message_of(state.get("message") or "")
    if word == helper.OMITTED:
        return ContainerExit(container)
    code = int(state.get("exitCode", 0))
    error = rest.decode() if word == helper.MISSING else ""
    if found := _NOT_FOUND.search(_start_error(state)):
        # As the wrapper tells it, and Argo.
        code, error = CANNOT_START, f"failed to find name in PATH: {found[0]}"
    if not error and code and not seconds(state.get("startedAt")):
        error = str(state.get("message") or state.get("reason") or "")
    return ContainerExit(
        container,
        code,
        seconds(state.get("startedAt")) or None,
        seconds(state.get("finishedAt")),
        error,
        state.get("reason") == "OOMKilled",
    )


def _start_error(state: Json) -> str:
    """Give what a node says of a container whose program could not be started."""
    return str(state.get("message") or "") if state.get("reason") in _UNSTARTED else ""


def _failed_before(pod: Json, container: str) -> Json | None:
    """Give the last failure of a container that Kubernetes starts again: a sidecar."""
    for each in statuses(pod):
        last: Json = (each.get("lastState") or {}).get("terminated") or {}
        if each["name"] == container and last.get("exitCode"):
            return last
    return None


def pulling(pod: Json) -> tuple[str, str] | None:
    """Give the image that a pod waits for in vain, and what the node says of it."""
    for each in statuses(pod):
        waiting = (each.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in _PULLING:
            return str(each.get("image") or each["name"]), (
                f"{waiting['reason']}: {waiting.get('message') or ''}".removesuffix(": ")
            )
    return None


def start_problem(pod: Json) -> str:
    """Say why a pod that waits does not begin, where waiting longer will not help."""
    for each in statuses(pod):
        waiting = (each.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in ("InvalidImageName", "CreateContainerConfigError"):
            return f"{each['name']}: {waiting['reason']}: {waiting.get('message', '')}"
    return ""


def seconds(text: str | None) -> float | None:
    """Read an instant as the API server writes it."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None
