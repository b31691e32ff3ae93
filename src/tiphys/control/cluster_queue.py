"""Runs of our engine that wait in a queue of Kueue's: has their cluster told of them.

A watcher of the loop that does nothing, and loads nothing, before the first such run comes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tiphys.control.task import has_queue_there
from tiphys.engine import event as ev
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.errors import TiphysError
from tiphys.runtimes.kubernetes_config import KubernetesConfig

if TYPE_CHECKING:
    from tiphys.kueue.herald import Herald


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

    async def close(self) -> None:
        """Have the last words said."""
        if self._herald is not None:
            await self._herald.close()

    def _herald_for(self, run: Run) -> Herald | None:
        if not has_queue_there(run):
            return None
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
        herald.kept = float(given.ttl_seconds_after_finished)
        return herald
