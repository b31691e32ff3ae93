"""One of several controllers leads: a Lease of the cluster says which.

The others stand by. A leader that cannot renew its Lease stops before another may take it. Should
two act at once all the same, no harm is done (``kueue/controller.py``); this only keeps them out of
each other's way, and the webhook in one hand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from tiphys.errors import ClusterError
from tiphys.kube.client import Client
from tiphys.kueue.layer import Json

LASTS = 8
"""Seconds without news after which a Lease is free."""
RENEWED_EVERY = 1.5
"""Also how long a try may take."""
_API = "coordination.k8s.io/v1"


class Leadership:
    """Tries to lead, and to keep leading."""

    def __init__(
        self, client: Client, place: tuple[str, str], identity: str, clock: Callable[[], float]
    ) -> None:
        self._client, self._identity, self._clock = client, identity, clock
        self._namespace, self._name = place
        self._seen = ""
        """The Lease as it was when it last changed."""
        self._seen_at = 0.0

    async def during(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do some work whenever we lead, until cancelled."""
        while True:
            if not await self._try():
                await asyncio.sleep(RENEWED_EVERY)
                continue
            task = asyncio.ensure_future(work())
            try:
                await self._keep(task)
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            if task.done() and not task.cancelled():
                task.result()

    async def _keep(self, task: asyncio.Future[None]) -> None:
        """Renew until that fails for too long, or the work ends."""
        loop = asyncio.get_running_loop()
        renewed = loop.time()
        while not task.done():
            await asyncio.wait({task}, timeout=RENEWED_EVERY)
            asked = loop.time()
            if await self._try():
                renewed = asked
            elif loop.time() - renewed > LASTS - 2 * RENEWED_EVERY:
                # A pause and another try would take us past the end of the Lease.
                return

    async def leave(self) -> None:
        """Let another lead at once."""
        try:
            found = await self._client.get(self._path, patience=2)
            if found["spec"].get("holderIdentity") == self._identity:
                await self._write(found, "")
        except ClusterError:
            return  # It runs out by itself.

    async def _try(self) -> bool:
        """Take or renew the Lease, where it is ours or free; soon, or not at all."""
        try:
            async with asyncio.timeout(RENEWED_EVERY):
                return await self._ask()
        except TimeoutError:
            return False

    async def _ask(self) -> bool:
        try:
            found = await self._client.get(self._path, patience=2)
        except ClusterError as error:
            if error.status in (401, 403):
                raise  # Waiting will not help.
            return error.status == 404 and await self._make()
        holder = found["spec"].get("holderIdentity")
        if holder not in (self._identity, "", None) and not self._has_run_out(found):
            return False
        try:
            await self._write(found, self._identity)
        except ClusterError:
            return False
        return True

    def _has_run_out(self, found: Json) -> bool:
        """Whether nothing has changed for long, by our own clock: those of others may be wrong."""
        now, version = asyncio.get_running_loop().time(), found["metadata"]["resourceVersion"]
        if version != self._seen:
            self._seen, self._seen_at = version, now
        return now - self._seen_at > LASTS

    @property
    def _collection(self) -> str:
        return f"/apis/{_API}/namespaces/{self._namespace}/leases"

    @property
    def _path(self) -> str:
        return f"{self._collection}/{self._name}"

    def _spec(self, holder: str) -> Json:
        at = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="microseconds")
        at = at.replace("+00:00", "Z")
        return {"holderIdentity": holder, "leaseDurationSeconds": LASTS, "renewTime": at}

    async def _make(self) -> bool:
        meta = {"name": self._name, "namespace": self._namespace}
        lease = {"apiVersion": _API, "kind": "Lease", "metadata": meta}
        try:
            await self._client.create(
                self._collection, {**lease, "spec": self._spec(self._identity)}
            )
        except ClusterError:
            return False
        return True

    async def _write(self, seen: Json, holder: str) -> None:
        version = {"resourceVersion": seen["metadata"]["resourceVersion"]}
        change = {"metadata": version, "spec": self._spec(holder)}
        await self._client.patch(self._path, change, patience=2)
