"""Volumes that a workflow claimed for itself on a cluster go when it has ended.

When, says ``volumeClaimGC`` as Argo reads it: once it succeeded, or once it is over in any way with
``OnWorkflowCompletion``. Only claims that carry the workflow's own id are deleted. A host that ends
in between leaves them; they hold nothing that anybody could still read by way of the workflow.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from tiphys.control.task import scheduler_of, volumes_of
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.errors import ClusterError, TiphysError
from tiphys.ports import K8S_NATIVE, VOLCANO, is_dispatched
from tiphys.runtimes.kubernetes_config import KubernetesConfig

if TYPE_CHECKING:
    from tiphys.kube.client import Client

LAST_WORDS = 10.0
"""Seconds for deletions when the host goes."""
ALWAYS = "OnWorkflowCompletion"
_GUARD = "kubernetes.io/pvc-protection"


def goes(run: Run) -> bool:
    """Whether the claims of a run are to be deleted."""
    if not run.ended or not run.spec.volume_claim_templates:
        return False
    ours = scheduler_of(run) in (K8S_NATIVE, VOLCANO)
    if not ours or is_dispatched(run.workflow.metadata.labels):
        return False
    rule = run.spec.volume_claim_gc
    return run.phase == "Succeeded" or (rule is not None and rule.strategy == ALWAYS)


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
        if goes(run):
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
        from tiphys.kube.access import find_access  # noqa: PLC0415 - few hosts have a cluster
        from tiphys.kube.client import Client  # noqa: PLC0415

        await self._ended(uid)
        given = self._config
        try:
            access = find_access(
                os.environ,
                kubeconfig=given.kubeconfig,
                context=given.context,
                namespace=given.namespace,
            )
            client = Client(access)
            try:
                for name in names:
                    await _delete(client, f"{_path(namespace)}/{name}", uid)
            finally:
                await client.close()
        except TiphysError as error:
            self._note(f"volume claims of {uid} are left: {error}")


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
    if (found["metadata"].get("labels") or {}).get("workflow-id") != uid:
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
