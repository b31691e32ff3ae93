"""Watches collections of namespaces, and tells of everything there.

Nothing that is heard may end the watch: whoever waits for his pods would wait for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any

from tiphys.errors import ClusterError
from tiphys.kube.client import Client
from tiphys.kube.remark import going_on, log
from tiphys.kube.watch import Changed, Gone, Listed, watch
from tiphys.runtimes.kubernetes_job import Json

Take = Callable[[str, Json, bool], None]
"""Called with the namespace, an object, and whether it is gone."""
Kind = tuple[Callable[[str], str], str, Take]
"""A collection of a namespace, the labels that are looked for, and who is told."""
_PAUSE = 5.0


def jobs_path(namespace: str) -> str:
    """Give the collection of a namespace's Jobs."""
    return f"/apis/batch/v1/namespaces/{namespace}/jobs"


def pods_path(namespace: str) -> str:
    """Give the collection of a namespace's pods."""
    return f"/api/v1/namespaces/{namespace}/pods"


class Lookout:
    """Watches some kinds for one process."""

    def __init__(
        self,
        client: Client,
        spawn: Callable[[Coroutine[Any, Any, None]], object],
        kinds: Sequence[Kind],
    ) -> None:
        self._client, self._spawn, self._kinds = client, spawn, kinds
        self._known: dict[str, asyncio.Future[None]] = {}
        """Namespaces; done once everything in them has been told."""
        self._seen: dict[str, dict[str, Json]] = {}
        """By collection: what is there."""

    @property
    def namespaces(self) -> list[str]:
        """What is watched."""
        return list(self._known)

    def there(self, collection: str) -> Collection[Json]:
        """Give what is in a collection that is watched."""
        return self._seen.get(collection, {}).values()

    async def watch(self, namespace: str) -> None:
        """Know a namespace from now on; raise ClusterError where we may not."""
        known = self._known.get(namespace)
        if known is None:
            known = self._known[namespace] = asyncio.get_running_loop().create_future()
            told = [asyncio.Event() for _ in self._kinds]
            for (path, selector, take), event in zip(self._kinds, told, strict=True):
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
                        with going_on(f"{what[0]}/{thing['metadata']['name']}"):
                            take(namespace, thing, gone)
                    listed.set()
            except Exception as error:  # Also what no server should answer.
                if not future.done():
                    # Nothing was made here yet: whoever waits hears why not.
                    self._known.pop(namespace, None)
                    future.set_exception(error)
                    return
                if not isinstance(error, ClusterError):
                    log.exception("the watch of %s broke off", what[0])
                await asyncio.sleep(_PAUSE)


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
