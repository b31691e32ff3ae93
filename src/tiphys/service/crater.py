"""What a server that is configured for Volcano does about it as long as it is up.

Makes the queues and priority classes that ship where the cluster has none of the name, and sees to
it that no PodGroup outlives its workflow: the runtime deletes each with its last member, but a
server may die in between. A cluster that is away or says no is told of, and is no reason not to
start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

from tiphys.config import Config
from tiphys.control.host import Host
from tiphys.control.task import scheduler_of
from tiphys.control.volcano_queues import VolcanoQueues
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.errors import ClusterError
from tiphys.ports import VOLCANO
from tiphys.runtimes.kubernetes_gang import groups_path, is_ours
from tiphys.runtimes.kubernetes_job import OWNER, owner_of

UID = "workflow-id"
PAUSE = 30.0
"""Seconds until a cluster that was away is asked again."""


class Crater:
    """The cluster's Volcano, as a server sees it."""

    def __init__(self, host: Host, config: Config, say: Callable[[str], None]) -> None:
        self.queues = VolcanoQueues(config.kubernetes)
        self._host, self._namespace = host, config.kubernetes.namespace
        self._presets, self._say = config.scheduler.volcano.presets, say
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Crater:
        """Begin to make what ships, and remove what an earlier server left behind."""
        if self._presets:
            self._spawn(self._ensure())
        if not self._host.unread:  # Groups of a workflow that cannot be read are not nobody's.
            self._spawn(self._clear(self._namespace, ""))
        self._host.control.show_to(self)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Hang up."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.queues.close()

    def _spawn(self, job: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(job)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ensure(self) -> None:
        told = ""
        while True:
            try:
                made = await self.queues.ensure_presets()
            except ClusterError as error:
                if error.status == 403:
                    self._say(f"queues and priority classes are not made: {error}")
                    return
                if str(error) != told:
                    told = str(error)
                    self._say(f"queues and priority classes are not made yet: {error}")
            else:
                if made:
                    self._say(f"made on the cluster: {', '.join(made)}")
                return
            await asyncio.sleep(PAUSE)

    # --- as a watcher -----------------------------------------------------------------------

    def workflow(self, run: Run) -> None:
        """Remove what is left of a run that has ended."""
        if run.ended and scheduler_of(run) == VOLCANO:
            self._spawn(self._clear(self._namespace or run.namespace, run.uid))

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        """See nothing."""

    def note(self, text: str) -> None:
        """Leave notes to others."""

    async def _clear(self, namespace: str, uid: str) -> None:
        """Delete groups of layers whose workflow (``uid``, or any) is not under way."""
        selector = f"{OWNER}={owner_of(self._host.data)}" + (f",{UID}={uid}" if uid else "")
        with suppress(ClusterError):
            for group in await self.queues.groups_of(namespace, selector):
                meta = group["metadata"]
                run = self._host.control.runs.get(meta["labels"].get(UID, ""))
                if is_ours(meta["name"]) and (run is None or run.ended):
                    path = f"{groups_path(meta['namespace'])}/{meta['name']}"
                    await self.queues.client.delete(path)
