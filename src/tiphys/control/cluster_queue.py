"""Runs of our engine that wait in a queue of Kueue's: has their cluster told of them.

A watcher of the loop that does nothing, and loads nothing, before the first such run comes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tiphys.control.task import has_queue_there
from tiphys.engine import event as ev
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.errors import NotFoundError, TiphysError
from tiphys.kueue import label
from tiphys.ports import PLAIN_JOBS, SCHEDULER_LABEL
from tiphys.runtimes.kubernetes_config import KubernetesConfig
from tiphys.store import Store, WorkflowFilter

if TYPE_CHECKING:
    from tiphys.kueue.herald import Herald


_MOST = 500
"""Workflows that are looked at for the namespaces that they were in."""


class ClusterQueues:
    """Passes on what concerns such runs."""

    def __init__(
        self,
        data: Path,
        config: KubernetesConfig,
        send: Callable[[str, ev.Event], None],
        clock: Callable[[], float],
        note: Callable[[str], None],
    ) -> None:
        self._data, self._config, self._send, self._clock = data, config, send, clock
        self._note = note
        self._herald: Herald | None = None
        self._failed = False
        self._store: Store | None = None
        self._runs: Mapping[str, Run] = {}

    # --- control.turn.Watcher ---------------------------------------------------------------

    def workflow(self, run: Run) -> None:
        """See a run begin, change or end."""
        herald = self._herald_for(run)
        if herald is not None:
            herald.workflow(run)

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        """See its nodes change."""
        herald = self._herald_for(run)
        if herald is not None:
            herald.nodes(run, nodes)

    def note(self, text: str) -> None:
        """Hear nothing."""

    # --- of the host ------------------------------------------------------------------------

    def resume(self, store: Store, runs: Mapping[str, Run]) -> None:
        """See to what an earlier process has left on the cluster, if it used one."""
        self._store, self._runs = store, runs
        if not (self._data / "cluster-owner").exists():
            return
        selector = f"{label.QUEUE},{SCHEDULER_LABEL} in ({','.join(PLAIN_JOBS)})"
        rows = store.workflows(WorkflowFilter(label_selector=selector), limit=_MOST)
        for namespace in {self._config.namespace or row.namespace for row in rows}:
            herald = self._get()
            if herald is not None:
                herald.listen(namespace)

    def _phase_of(self, uid: str) -> str:
        """Tell how a workflow has ended; one that nobody remembers is over, too."""
        run = self._runs.get(uid)
        if self._store is None or (run is not None and not run.ended):
            return ""
        try:
            phase = self._store.workflow(uid).phase
        except NotFoundError:
            return "Error"
        return phase if phase in ("Succeeded", "Failed", "Error") else ""

    async def close(self) -> None:
        """Have the last words said."""
        if self._herald is not None:
            await self._herald.close()

    def _herald_for(self, run: Run) -> Herald | None:
        return self._get() if has_queue_there(run) else None

    def _get(self) -> Herald | None:
        if self._herald is None and not self._failed:
            try:
                self._herald = self._make()
            except TiphysError as error:
                self._failed = True
                self._note(f"Kueue cannot be told of workflows: {error}")
        return self._herald

    def _make(self) -> Herald:
        from tiphys.kube.access import find_access  # noqa: PLC0415 - few need a cluster
        from tiphys.kube.client import Client  # noqa: PLC0415
        from tiphys.kueue.herald import Herald  # noqa: PLC0415
        from tiphys.runtimes.kubernetes_job import OWNER, owner_of  # noqa: PLC0415

        given = self._config
        access = find_access(
            os.environ,
            kubeconfig=given.kubeconfig,
            context=given.context,
            namespace=given.namespace,
        )
        owner = (OWNER, owner_of(self._data))
        herald = Herald(Client(access), owner, self._send, self._clock)
        herald.namespace, herald.note = given.namespace, self._note
        herald.phase_of = self._phase_of
        herald.kept = float(given.ttl_seconds_after_finished)
        return herald
