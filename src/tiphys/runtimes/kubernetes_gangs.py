"""The PodGroups of a cluster that are ours: made, watched, deleted.

Volcano writes into a group how far it is (``status.phase``) and why it waits (a condition).
Whatever changes there is told as ``GangChanged``; the rest of the runtime need not know groups at
all. A cluster that does not let us watch them still runs them: then only the reasons are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tiphys.errors import ClusterError
from tiphys.executor.clock import now
from tiphys.kube.client import FOREVER, Client
from tiphys.kube.remark import going_on
from tiphys.kube.watch import Changed, Gone, Listed, watch
from tiphys.ports import GANG_GONE, AttemptId, GangChanged, Sink, Task
from tiphys.runtimes.kubernetes_gang import GROUP_NAME, Gang, groups_path
from tiphys.runtimes.kubernetes_pod import seconds

Json = dict[str, Any]
_UNSCHEDULABLE = "Unschedulable"


@dataclass(frozen=True, slots=True)
class Look:
    """A group as it was last seen."""

    phase: str
    reason: str = ""
    message: str = ""

    @classmethod
    def of(cls, group: Json) -> Look:
        """Read Volcano's words; the latest condition counts, where it says that it cannot start."""
        status = group.get("status") or {}
        phase = str(status.get("phase") or "Pending")
        told = [each for each in status.get("conditions") or () if each.get("status") == "True"]
        latest: Json = max(told, key=lambda each: str(each.get("lastTransitionTime")), default={})
        if phase in ("Running", "Completed") or latest.get("type") != _UNSCHEDULABLE:
            return cls(phase)
        return cls(phase, str(latest.get("reason") or ""), str(latest.get("message") or ""))


Members = Callable[[str, str], Sequence[AttemptId] | None]
"""Gives the attempts of a group by its namespace and name; None for one that others tell of."""


class Gangs:
    """Groups of one Tiphys on one cluster."""

    def __init__(
        self,
        client: Client,
        selector: str,
        sink: Sink,
        spawn: Callable[[Coroutine[Any, Any, None]], object],
        members: Members,
    ) -> None:
        self._client, self._selector = client, selector
        self._sink, self._spawn, self._members = sink, spawn, members
        self._watched: set[str] = set()
        self._seen: dict[tuple[str, str], tuple[Look, Json]] = {}
        self._began: dict[tuple[str, str], float] = {}
        """When a node took the first pod of a group that is there."""

    async def ensure(self, namespace: str, gang: Gang, task: Task, labels: dict[str, str]) -> None:
        """Make a group unless it is there, and watch those of its namespace."""
        self.watch(namespace)
        try:
            group = gang.write(task, labels)
            await self._client.create(groups_path(namespace), group, patience=FOREVER)
        except ClusterError as error:
            if error.reason != "AlreadyExists":
                raise

    async def disband(self, namespace: str, name: str) -> None:
        """Delete a group."""
        with suppress(ClusterError):
            await self._client.delete(f"{groups_path(namespace)}/{name}")

    def watch(self, namespace: str) -> None:
        """Follow the groups of a namespace from now on."""
        if namespace not in self._watched:
            self._watched.add(namespace)
            self._spawn(self._follow(namespace))

    def take_pod(self, namespace: str, pod: Json) -> None:
        """Note when the first pod of a group came to a node."""
        key = (namespace, (pod["metadata"].get("annotations") or {}).get(GROUP_NAME, ""))
        at = seconds((pod.get("status") or {}).get("startTime"))
        if at is not None and key in self._seen:
            self._began[key] = min(at, self._began.get(key, at))

    async def _follow(self, namespace: str) -> None:
        try:
            async for news in watch(self._client, groups_path(namespace), selector=self._selector):
                with going_on(f"news of {groups_path(namespace)}"):
                    self._hear(namespace, news)
        except ClusterError:
            pass  # Without leave to watch only the reasons are missing.
        finally:
            self._watched.discard(namespace)  # The next group tries again.

    def _hear(self, namespace: str, news: Listed | Changed | Gone) -> None:
        match news:
            case Changed(thing):
                self._changed(namespace, thing)
            case Gone(thing):
                self._gone(namespace, thing)
            case Listed(items):
                for thing in items:
                    self._changed(namespace, thing)
                there = {thing["metadata"]["name"] for thing in items}
                for place, name in list(self._seen):
                    if place == namespace and name not in there:
                        self._gone(place, self._seen[place, name][1])

    def _changed(self, namespace: str, group: Json) -> None:
        key = (namespace, group["metadata"]["name"])
        look, (before, _) = Look.of(group), self._seen.get(key, (Look(""), group))
        if look != before:
            self._seen[key] = (look, group)
            self._tell(namespace, group, before, look)

    def _gone(self, namespace: str, group: Json) -> None:
        key = (namespace, group["metadata"]["name"])
        before = self._seen.pop(key, None)
        if before is not None:
            self._tell(namespace, group, before[0], Look(GANG_GONE))
            self._began.pop(key, None)

    def _tell(self, namespace: str, group: Json, before: Look, look: Look) -> None:
        meta, spec = group["metadata"], group.get("spec") or {}
        members = self._members(namespace, meta["name"])
        if members is None:
            return
        change = GangChanged(
            id="",
            at=now(),
            workflow_uid=(meta.get("labels") or {}).get("workflow-id", ""),
            gang=meta["name"],
            queue=str(spec.get("queue") or "default"),
            size=int(spec.get("minMember") or 1),
            was=before.phase,
            phase=look.phase,
            why=look.message,
            news=(before.phase, before.reason) != (look.phase, look.reason),
            made_at=seconds(meta.get("creationTimestamp")),
            began_at=self._began.get((namespace, meta["name"])),
            members=tuple(members),
        )
        self._sink([change])
