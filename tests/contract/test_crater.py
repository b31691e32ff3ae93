"""A server that is configured for Volcano, and the pod groups that an earlier one left."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from tests.contract.api_server import PATIENCE
from tests.contract.kube_server import Server, Told, answering, write_access
from tiphys.config import Config, SchedulerSettings, VolcanoSettings
from tiphys.control.host import hosting
from tiphys.control.server import Quiet
from tiphys.runtimes.kubernetes_config import KubernetesConfig
from tiphys.service.crater import Crater
from tiphys.spec.library import Library
from tiphys.store import Batch, Store, WorkflowRow

GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/n/podgroups"
GROUP = {"metadata": {"name": "pg-u-1", "namespace": "n", "labels": {"workflow-id": "u"}}}


def config(folder: Path, cluster: Server) -> Config:
    volcano = VolcanoSettings(enabled=True, presets=False)
    return Config(
        isolation="process",
        scheduler=SchedulerSettings(volcano=volcano),
        kubernetes=KubernetesConfig(kubeconfig=write_access(folder, cluster), namespace="n"),
    )


def begin(folder: Path, rows: Sequence[WorkflowRow], until: str) -> list[str]:
    """Start behind a server that left a group; give what was asked of the cluster."""
    with Store.open(folder / "data", owner=True) as store:
        store.commit(Batch(submitted=list(rows)))

    async def run(cluster: Server) -> None:
        given = config(folder, cluster)
        async with hosting(folder / "data", given, Library(), Quiet()) as host:
            host.recover()
            async with Crater(host, given, lambda text: None) as crater, asyncio.timeout(PATIENCE):
                await crater.queues.groups_of("n", "mine")
                while until not in asked(cluster):  # noqa: ASYNC110 - another thread is asked
                    await asyncio.sleep(0.01)

    items = json.dumps({"items": [GROUP]}).encode()
    with answering(lambda method, path: Told(body=items)) as cluster:
        asyncio.run(run(cluster))
        return asked(cluster)


def asked(cluster: Server) -> list[str]:
    return [f"{each[0]} {each[1].partition('?')[0]}" for each in list(cluster.asked)]


def test_a_group_of_a_workflow_that_is_no_more_is_removed(tmp_path: Path) -> None:
    assert begin(tmp_path, [], f"DELETE {GROUPS}/pg-u-1").count(f"GET {GROUPS}") == 2


def test_no_group_is_removed_as_long_as_a_workflow_cannot_be_read(tmp_path: Path) -> None:
    row = WorkflowRow(
        uid="u", name="u", namespace="n", phase="Running", created_at=1.0, manifest=b"?"
    )

    assert begin(tmp_path, [row], f"GET {GROUPS}") == [f"GET {GROUPS}"]
