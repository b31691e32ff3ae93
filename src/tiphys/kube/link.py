"""A link to a cluster: a client, made when it is first needed, and the work that goes on with it.

For whoever drives or follows things on a cluster: all of them make a client late, start work in
the background, and hang up without leaving a task behind or an order unsent.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import Any, TypeVar

from tiphys.kube.access import find_access
from tiphys.kube.client import Client
from tiphys.kube.remark import tell_defect

T = TypeVar("T")


class Link:
    """One user's link to one cluster."""

    def __init__(self, *, kubeconfig: str, context: str, namespace: str = "") -> None:
        self._place = {"kubeconfig": kubeconfig, "context": context, "namespace": namespace}
        self._client: Client | None = None
        self._work: set[asyncio.Task[Any]] = set()
        self._owed: set[asyncio.Task[Any]] = set()
        self.closed = False
        """Whether it was hung up: what is heard later is for nobody."""

    @property
    def is_up(self) -> bool:
        """Whether the cluster was ever needed."""
        return self._client is not None

    @property
    def client(self) -> Client:
        """The client; ClusterError where no cluster is configured."""
        if self._client is None:
            self._client = Client(find_access(os.environ, **self._place))
        return self._client

    def spawn(self, job: Coroutine[Any, Any, T], *, owed: bool = False) -> asyncio.Task[T]:
        """Let something go on; what is owed to somebody is waited for before hanging up."""
        task = asyncio.get_running_loop().create_task(job)
        for among in [self._work, self._owed] if owed else [self._work]:
            among.add(task)
            task.add_done_callback(among.discard)
        task.add_done_callback(tell_defect)
        return task

    async def close(self, patience: float) -> None:
        """Hang up, once nothing is owed any more or nothing of it was done for so many seconds."""
        self.closed = True
        while waiting := [task for task in self._owed if not task.done()]:
            done, _ = await asyncio.wait(waiting, timeout=patience)
            if not done:
                break
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        if self._client is not None:
            await self._client.close()
