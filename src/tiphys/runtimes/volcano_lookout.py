"""Watches Volcano's Jobs and their pods in namespaces, and tells of everything there.

All Jobs of a namespace are watched, not only those with our label: Volcano's own controller makes
Jobs for flows, and gives them labels of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tiphys.kube.client import Client
from tiphys.runtimes.kubernetes_lookout import Kind, Lookout, Take, pods_path
from tiphys.runtimes.volcano_crew import Spawn
from tiphys.runtimes.volcano_object import JOB_NAME, vcjobs_path

Json = dict[str, Any]


class VolcanoLookout:
    """Watches for one process."""

    def __init__(
        self,
        client: Client,
        spawn: Spawn,
        take_job: Take,
        take_pod: Take,
        more: Sequence[Kind] = (),
    ) -> None:
        jobs, pods = (vcjobs_path, "", take_job), (pods_path, JOB_NAME, take_pod)
        self._lookout = Lookout(client, spawn, (*more, jobs, pods))

    @property
    def namespaces(self) -> list[str]:
        """What is watched."""
        return self._lookout.namespaces

    def pods_of(self, namespace: str, job: Json) -> list[Json]:
        """Give the pods of a Job that are there."""
        return [pod for pod in self._lookout.there(pods_path(namespace)) if is_of(pod, job)]

    def jobs_of(self, namespace: str, flow: Json) -> list[Json]:
        """Give the Jobs of a flow that are there."""
        return [job for job in self._lookout.there(vcjobs_path(namespace)) if is_of(job, flow)]

    async def watch(self, namespace: str) -> None:
        """Know a namespace from now on; raise ClusterError where we may not."""
        await self._lookout.watch(namespace)


def is_of(thing: Json, owner: Mapping[str, Any]) -> bool:
    """Whether something belongs to this very object, not to an earlier one of its name."""
    owners = thing["metadata"].get("ownerReferences") or ()
    return any(each.get("uid") == owner["metadata"]["uid"] for each in owners)
