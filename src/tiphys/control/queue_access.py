"""What the queues of a cluster have in common, whoever schedules there: the way to them.

Holds nothing but a connection: the cluster has the truth, and whoever else changes queues there is
seen at once. ``volcano_queues`` and ``kueue_queues`` say what a queue is; ``perform`` does with
either what ``tiphys queue`` asks for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Protocol

from tiphys.errors import ClusterError, ConflictError, InvalidInputError, NotFoundError
from tiphys.kube.access import find_access
from tiphys.kube.client import Client
from tiphys.runtimes.kubernetes_config import KubernetesConfig

Json = dict[str, Any]
PATIENCE = 20.0
"""Seconds that a cluster has to answer."""
_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?")


class QueueAccess:
    """Queues of one kind in one cluster."""

    whose = ""
    """The scheduler, as people call it."""
    path = ""
    """The collection of its queues."""

    def __init__(self, config: KubernetesConfig) -> None:
        self._config = config
        self._known: Client | None = None

    @property
    def client(self) -> Client:
        """The cluster; looked for when it is needed first."""
        if self._known is None:
            given = self._config
            access = find_access(os.environ, kubeconfig=given.kubeconfig, context=given.context)
            self._known = Client(access)
        return self._known

    async def close(self) -> None:
        """Hang up."""
        if self._known is not None:
            await self._known.close()

    async def _all(self, collection: str) -> list[Json]:
        found = await self.client.get(collection, patience=PATIENCE)
        return found.get("items") or []

    async def _queues(self) -> list[Json]:
        try:
            return await self._all(self.path)
        except ClusterError as error:
            raise self._told(error, "") from error

    async def get(self, name: str) -> Json:
        """Read a queue."""
        self._check_name(name)
        try:
            return await self.client.get(f"{self.path}/{name}", patience=PATIENCE)
        except ClusterError as error:
            raise self._told(error, name) from error

    def _check_name(self, name: str) -> None:
        """Raise NotFoundError for what cannot be a part of a path."""
        if not _NAME.fullmatch(name):
            raise NotFoundError(f"{self.whose} has no queue {name[:200]!r}")

    async def _create(self, thing: Json) -> Json:
        try:
            return await self.client.create(self.path, thing, patience=PATIENCE)
        except ClusterError as error:
            raise self._told(error, str(thing["metadata"]["name"])) from error

    async def _patch(self, name: str, patch: Mapping[str, Any]) -> Json:
        try:
            return await self.client.patch(f"{self.path}/{name}", dict(patch), patience=PATIENCE)
        except ClusterError as error:
            raise self._told(error, name) from error

    async def _delete(self, name: str) -> None:
        try:
            await self.client.delete(f"{self.path}/{name}", patience=PATIENCE)
        except ClusterError as error:
            raise self._told(error, name) from error

    def _told(self, error: ClusterError, name: str) -> Exception:
        """Give the error as callers of queues know it."""
        if error.status == 404 and not name:
            kind = self.path.rpartition("/")[2]
            return ClusterError(f"the cluster has no {self.whose}: it knows no {kind}", status=404)
        if error.status == 404:
            return NotFoundError(f"{self.whose} has no queue {name[:200]!r}")
        if error.status == 409:
            return ConflictError(f"queue {name} exists already (an update changes it)")
        if error.status in (400, 422):
            return InvalidInputError(f"queue {name}: {error}")
        return error


class PlannedQueues(Protocol):
    """Queues that can be spoken of in the words of a queue plan."""

    async def listed(self) -> list[Json]:
        """List all."""

    async def get(self, name: str) -> Json:
        """Read one; raise NotFoundError."""

    async def save(self, plan: Mapping[str, Any], *, new: bool) -> Json:
        """Have one be what a plan says, its state too; ``new`` refuses one that is there."""

    async def set_state(self, name: str, state: str) -> Json:
        """Open or close one."""

    async def remove(self, name: str) -> None:
        """Remove one that has no work."""

    def described(self, thing: Json) -> Json:
        """Give one as ``tiphys queue`` shows it."""


async def perform(queues: PlannedQueues, op: str, arguments: Mapping[str, Any]) -> Any:
    """Do one thing that ``tiphys queue`` asks for; as ``control.queues.perform_queue``."""
    match op:
        case "queue-list":
            return [queues.described(thing) for thing in await queues.listed()]
        case "queue-get":
            return queues.described(await queues.get(str(arguments["name"])))
        case "queue-save":
            new = bool(arguments.get("new"))
            return queues.described(await queues.save(arguments["queue"], new=new))
        case "queue-state":
            name, state = str(arguments["name"]), str(arguments["state"])
            return queues.described(await queues.set_state(name, state))
        case "queue-delete":
            await queues.remove(str(arguments["name"]))
            return {"name": arguments["name"]}
        case _:
            raise InvalidInputError(f"{op!r} is nothing that can be done to a queue")


def described_change(spec: Mapping[str, Any], annotation: str, description: str | None) -> Json:
    """Give the merge patch of a queue whose description may change, too."""
    patch: Json = {"spec": spec}
    if description is not None:
        patch["metadata"] = {"annotations": {annotation: description or None}}
    return patch
