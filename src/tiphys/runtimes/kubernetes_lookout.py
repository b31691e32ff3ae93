"""Watches the Jobs and pods of namespaces, and tells of everything that is ours there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from tiphys.errors import ClusterError
from tiphys.kube.client import Client
from tiphys.kube.watch import Changed, Gone, Listed, watch
from tiphys.runtimes.kubernetes_job import Json

Take = Callable[[str, Json, bool], None]
"""Called with the namespace, an object, and whether it is gone."""
_PAUSE = 5.0


def jobs_path(namespace: str) -> str:
    """Give the collection of a namespace's Jobs."""
    return f"/apis/batch/v1/namespaces/{namespace}/jobs"


def pods_path(namespace: str) -> str:
    """Give the collection of a namespace's pods."""
    return f"/api/v1/namespaces/{namespace}/pods"


class Lookout:
    """Watches for one owner."""

    def __init__(
        self, client: Client, selector: str, spawn: Callable[[Coroutine[Any, Any, None]], object]
    ) -> None:
        self._client, self._selector, self._spawn = client, selector, spawn
        self._known: dict[str, asyncio.Future[None]] = {}
        """Namespaces; done once everything in them has been told."""

    @property
    def namespaces(self) -> list[str]:
        """What is watched."""
        return list(self._known)

    async def watch(self, namespace: str, take_job: Take, take_pod: Take) -> None:
        """Know a namespace from now on; raise ClusterError where we may not."""
        known = self._known.get(namespace)
        if known is None:
            known = self._known[namespace] = asyncio.get_running_loop().create_future()
            told = [asyncio.Event(), asyncio.Event()]
            for path, take, event in (
                (jobs_path(namespace), take_job, told[0]),
                (pods_path(namespace), take_pod, told[1]),
            ):
                self._spawn(self._follow(namespace, path, take, event))
            self._spawn(_settle(known, told))
        await asyncio.shield(known)

    async def _follow(self, namespace: str, path: str, take: Take, listed: asyncio.Event) -> None:
        future = self._known[namespace]
        known: dict[str, Json] = {}
        while self._known.get(namespace) is future:
            try:
                async for news in watch(self._client, path, selector=self._selector):
                    for thing, gone in _unfold(news, known):
                        take(namespace, thing, gone)
                    listed.set()
            except ClusterError as error:
                if not future.done():
                    # Nothing was made here yet: whoever waits hears why not.
                    self._known.pop(namespace, None)
                    future.set_exception(error)
                    return
                await asyncio.sleep(_PAUSE)


async def _settle(known: asyncio.Future[None], told: list[asyncio.Event]) -> None:
    for each in told:
        await each.wait()
    if not known.done():
        known.set_result(None)


def _unfold(news: Listed | Changed | Gone, known: dict[str, Json]) -> list[tuple[Json, bool]]:
    """Give each object that changed, and whether it is gone; keep what is known up to date."""
    match news:
        case Changed(thing):
            known[thing["metadata"]["name"]] = thing
            return [(thing, False)]
        case Gone(thing):
            known.pop(thing["metadata"]["name"], None)
            return [(thing, True)]
        case Listed(items):
            found = {thing["metadata"]["name"]: thing for thing in items}
            gone = [(thing, True) for name, thing in known.items() if name not in found]
            known.clear()
            known.update(found)
            return [*gone, *((thing, False) for thing in items)]
