"""Watches Volcano's Jobs and their pods in namespaces, and tells of everything there.

All Jobs of a namespace are watched, not only those with our label: Volcano's own controller makes
Jobs for flows, and gives them labels of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tiphys.errors import ClusterError
from tiphys.kube.client import Client
from tiphys.kube.watch import Changed, Gone, Listed, watch
from tiphys.runtimes.kubernetes_lookout import pods_path
from tiphys.runtimes.volcano_crew import Spawn
from tiphys.runtimes.volcano_object import JOB_NAME, vcjobs_path

Json = dict[str, Any]
Take = Callable[[str, Json, bool], None]
"""Called with the namespace, an object, and whether it is gone."""
Kind = tuple[Callable[[str], str], str, Take]
"""A collection of a namespace, the labels that are looked for, and who is told."""
_PAUSE = 5.0


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
        self._client, self._spawn = client, spawn
        jobs, pods = (vcjobs_path, "", take_job), (pods_path, JOB_NAME, take_pod)
        self._takes = (*more, jobs, pods)
        self._known: dict[str, asyncio.Future[None]] = {}
        self._seen: dict[str, dict[str, Json]] = {}
        """By collection: what is there."""

    @property
    def namespaces(self) -> list[str]:
        """What is watched."""
        return list(self._known)

    def pods_of(self, namespace: str, job: Json) -> list[Json]:
        """Give the pods of a Job that are there."""
        there = self._seen.get(pods_path(namespace), {}).values()
        return [pod for pod in there if is_of(pod, job)]

    def jobs_of(self, namespace: str, flow: Json) -> list[Json]:
        """Give the Jobs of a flow that are there."""
        there = self._seen.get(vcjobs_path(namespace), {}).values()
        return [job for job in there if is_of(job, flow)]

    async def watch(self, namespace: str) -> None:
        """Know a namespace from now on; raise ClusterError where we may not."""
        known = self._known.get(namespace)
        if known is None:
            known = self._known[namespace] = asyncio.get_running_loop().create_future()
            told = [asyncio.Event() for _ in self._takes]
            for (path, selector, take), event in zip(self._takes, told, strict=True):
                self._spawn(self._follow(namespace, (path(namespace), selector), take, event))
            self._spawn(_settle(known, told))
        await asyncio.shield(known)

    async def _follow(
        self, namespace: str, what: tuple[str, str], take: Take, listed: asyncio.Event
    ) -> None:
        future = self._known[namespace]
        known = self._seen[what[0]] = {}
        while self._known.get(namespace) is future:
            try:
                async for news in watch(self._client, what[0], selector=what[1]):
                    for thing, gone in unfold(news, known):
                        take(namespace, thing, gone)
                    listed.set()
            except ClusterError as error:
                if not future.done():
                    # Nothing was made here yet: whoever waits hears why not.
                    self._known.pop(namespace, None)
                    future.set_exception(error)
                    return
                await asyncio.sleep(_PAUSE)


def is_of(thing: Json, owner: Mapping[str, Any]) -> bool:
    """Whether something belongs to this very object, not to an earlier one of its name."""
    owners = thing["metadata"].get("ownerReferences") or ()
    return any(each.get("uid") == owner["metadata"]["uid"] for each in owners)


async def _settle(known: asyncio.Future[None], told: list[asyncio.Event]) -> None:
    for each in told:
        await each.wait()
    if not known.done():
        known.set_result(None)


def unfold(news: Listed | Changed | Gone, known: dict[str, Json]) -> list[tuple[Json, bool]]:
    """Give each object that changed, and whether it is gone; keep what is known up to date.

    Known by uid: an object that is made again under its name is another.
    """
    match news:
        case Changed(thing):
            known[thing["metadata"]["uid"]] = thing
            return [(thing, False)]
        case Gone(thing):
            known.pop(thing["metadata"]["uid"], None)
            return [(thing, True)]
        case Listed(items):
            found = {thing["metadata"]["uid"]: thing for thing in items}
            gone = [(thing, True) for uid, thing in known.items() if uid not in found]
            known.clear()
            known.update(found)
            return [*gone, *((thing, False) for thing in items)]
