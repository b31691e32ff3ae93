"""Volumes that a workflow claimed for itself on a cluster go when it has ended.

When, says ``volumeClaimGC`` as Argo reads it: once it succeeded, or once it is over in any way with
``OnWorkflowCompletion``. Only claims that carry the workflow's own id are deleted. What a host that
ends in between leaves, the next server finds by its label: claims of a workflow that is not stored
any more stay, because nobody can say what became of it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from tiphys.control.task import volumes_of
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.errors import ClusterError, NotFoundError, TiphysError
from tiphys.ports import PLAIN_JOBS, SCHEDULER_LABEL, VOLCANO, is_dispatched
from tiphys.runtimes.kubernetes_config import KubernetesConfig
from tiphys.spec import model
from tiphys.store import Store
from tiphys.store.row import FINISHED

if TYPE_CHECKING:
    from tiphys.kube.client import Client

LAST_WORDS = 10.0
"""Seconds for deletions when the host goes."""
ALWAYS = "OnWorkflowCompletion"
_GUARD = "kubernetes.io/pvc-protection"
_UID = "workflow-id"


def goes(spec: model.WorkflowSpec, labels: Mapping[str, str], phase: str) -> bool:
    """Whether the claims of a run that is in this phase are to be deleted."""
    if phase not in FINISHED or not spec.volume_claim_templates:
        return False
    ours = labels.get(SCHEDULER_LABEL) in (*PLAIN_JOBS, VOLCANO)
    if not ours or is_dispatched(labels):
        return False
    rule = spec.volume_claim_gc
    return phase == "Succeeded" or (rule is not None and rule.strategy == ALWAYS)


class Claims:
    """Deletes them for one host; a watcher of its loop."""

    def __init__(
        self,
        config: KubernetesConfig,
        ended: Callable[[str], Awaitable[None]],
        note: Callable[[str], None],
    ) -> None:
        self._config, self._ended, self._note = config, ended, note
        self._tasks: set[asyncio.Task[None]] = set()

    # --- control.turn.Watcher -------------------------------------------------------------

    def workflow(self, run: Run) -> None:
        """See that a run has ended."""
        if goes(run.spec, run.workflow.metadata.labels, run.phase):
            own = len(run.spec.volumes)
            names = [
                volume.persistent_volume_claim.claim_name
                for volume in volumes_of(run)[own:]
                if volume.persistent_volume_claim is not None
            ]
            namespace = self._config.namespace or run.namespace
            self._begin(self._remove(run.uid, namespace, names))

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        """See nothing."""

    def note(self, text: str) -> None:
        """Hear nothing."""

    # --- of the host ----------------------------------------------------------------------

    def resume(self, store: Store, owner: str, namespaces: Sequence[str]) -> None:
        """Delete what an earlier host had no time for."""
        for namespace in namespaces:
            self._begin(self._sweep(store, owner, namespace))

    async def close(self) -> None:
        """Finish what was begun, but not for long."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=LAST_WORDS)
            for task in late:
                task.cancel()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _remove(self, uid: str, namespace: str, names: Sequence[str]) -> None:
        await self._ended(uid)
        try:
            async with self._connected() as client:
                for name in names:
                    await _delete(client, f"{_path(namespace)}/{name}", uid)
        except TiphysError as error:
            self._note(f"volume claims of {uid} are left to the next start: {error}")

    async def _sweep(self, store: Store, owner: str, namespace: str) -> None:
        path = _path(namespace)
        query = {"labelSelector": f"{owner},{_UID}"}
        try:
            async with self._connected() as client:
                found = await client.get(path, query)
                for meta in [claim["metadata"] for claim in found.get("items") or ()]:
                    uid = meta["labels"][_UID]
                    if await asyncio.to_thread(_is_over, store, uid):
                        await _delete(client, f"{path}/{meta['name']}", uid)
        except TiphysError as error:
            self._note(f"volume claims in {namespace} are left to the next start: {error}")

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        from tiphys.kube.access import find_access  # noqa: PLC0415 - few hosts have a cluster
        from tiphys.kube.client import Client  # noqa: PLC0415

        given = self._config
        client = Client(
            find_access(
                os.environ,
                kubeconfig=given.kubeconfig,
                context=given.context,
                namespace=given.namespace,
            )
        )
        try:
            yield client
        finally:
            await client.close()


def _is_over(store: Store, uid: str) -> bool:
    """Whether a stored workflow has ended such that its claims go."""
    try:
        row = store.workflow(uid)
        spec = msgspec.json.decode(row.spec, type=model.WorkflowSpec)
        return goes(spec, row.labels, row.phase)
    except (NotFoundError, msgspec.MsgspecError):
        return False


def _path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"


async def _delete(client: Client, path: str, uid: str) -> None:
    """Delete a claim, if it is there and this workflow's."""
    try:
        found = await client.get(path)
    except ClusterError as error:
        if error.status == 404:
            return
        raise
    if (found["metadata"].get("labels") or {}).get(_UID) != uid:
        return
    await client.delete(path)
    # Kubernetes keeps a claim as long as pods name it, also those that have ended. Nothing of the
    # workflow runs any more, and its pods stay for an hour: so the guard is taken off.
    others = [each for each in found["metadata"].get("finalizers") or () if each != _GUARD]
    try:
        await client.patch(path, {"metadata": {"finalizers": others}})
    except ClusterError as error:
        if error.status != 404:
            raise
