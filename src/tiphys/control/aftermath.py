"""What an earlier server left undone on clusters is done once this one has taken everything up.

Orders to a cluster follow the commit that asks for them, so a crash in between loses them: to end
Jobs of nodes that were stopped, to remove volumes and flows of runs that are over. What they were
about is found again, by labels or on record. Nothing here waits for the cluster.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tiphys.ports import PLAIN_JOBS, SCHEDULER_LABEL, VOLCANO
from tiphys.store import Store, WorkflowFilter

if TYPE_CHECKING:
    from tiphys.control.host import Host

_MOST = 5000
"""Workflows that are looked at, newest first: whatever was under way is among them."""
_ON_CLUSTER = f"{SCHEDULER_LABEL} in ({','.join((*PLAIN_JOBS, VOLCANO))})"


async def clean_up(host: Host) -> None:
    """Begin to end what belongs to no run, and to remove what should be gone."""
    from tiphys.runtimes.kubernetes_job import (  # noqa: PLC0415 - few hosts have a cluster
        OWNER,
        OWNER_FILE,
        owner_of,
    )

    host.clearings.resume()  # Also those of a server that led from another data directory.
    if not (host.data / OWNER_FILE).exists():
        return  # Nothing was ever made from here.
    namespaces = await asyncio.to_thread(places, host.store, host.cluster_namespace)
    if not host.unread:  # Tasks of a workflow that cannot be read are not nobody's.
        await host.sweep(host.control.ours(), namespaces)
    if host.claims is not None:
        host.claims.resume(host.store, f"{OWNER}={owner_of(host.data)}", namespaces)


def places(store: Store, configured: str) -> list[str]:
    """Give the namespaces where an earlier server may have left something."""
    rows = store.workflows(WorkflowFilter(label_selector=_ON_CLUSTER), limit=_MOST)
    found = {row.namespace for row in rows}
    return sorted(found | {configured} if configured else found)
