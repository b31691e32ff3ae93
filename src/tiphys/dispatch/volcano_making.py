"""Makes a flow on the cluster, or finds the one that was made: templates, flow, and who owns what.

Whatever was done before a crash is found again by name and label, so all of it may be done twice.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tiphys.dispatch.volcano_object import (
    covers,
    flows_path,
    owned_by,
    templates_path,
    write_flow,
    write_templates,
)
from tiphys.errors import ClusterError
from tiphys.kube.client import FOREVER, Client
from tiphys.ports import Dispatch
from tiphys.runtimes.kubernetes_config import KubernetesPolicy
from tiphys.runtimes.kubernetes_job import OWNER, labels_of
from tiphys.runtimes.volcano_lookout import is_of
from tiphys.runtimes.volcano_object import WORKFLOW_ID, check_job

Json = dict[str, Any]


class Maker:
    """Makes flows of one Tiphys in one namespace."""

    def __init__(
        self, client: Client, namespace: str, owner: str, policy: KubernetesPolicy
    ) -> None:
        self._client, self._namespace, self._owner = client, namespace, owner
        self._policy = policy

    async def make(self, order: Dispatch, is_used: Callable[[str], bool]) -> Json:
        """Give the JobFlow; ``is_used`` says whether another flow needs a template as it is."""
        templates = write_templates(order, self._namespace, self._owner)
        if not order.known:
            for template in templates:
                check_job(template["spec"], self._namespace, self._policy)
            for template in templates:
                await self._ensure(template, is_used)
            flow = write_flow(order, self._namespace, self._owner)
            await self._create(flows_path(self._namespace), flow)
        found = await self._find(order)
        for template in templates:
            await self._own(template, found)
        return found

    async def _find(self, order: Dispatch) -> Json:
        path = f"{flows_path(self._namespace)}/{order.name}"
        try:
            found = await self._client.get(path, patience=FOREVER)
        except ClusterError as error:
            if error.status != 404:
                raise
            raise ClusterError(deleted(order.name)) from error
        if labels_of(found).get(WORKFLOW_ID) != order.uid:
            raise ClusterError(f"a JobFlow {order.name} exists on the cluster and is not ours")
        return found

    async def _create(self, collection: str, thing: Json) -> bool:
        """Make an object; tell whether there was none of its name."""
        try:
            await self._client.create(collection, thing, patience=FOREVER)
        except ClusterError as error:
            if error.status != 409:
                raise
            return False
        return True

    async def _ensure(self, template: Json, is_used: Callable[[str], bool]) -> None:
        """Make a JobTemplate; one that is there is used if it says the same."""
        meta, collection = template["metadata"], templates_path(self._namespace)
        if await self._create(collection, template):
            return
        path = f"{collection}/{meta['name']}"
        found = await self._client.get(path, patience=FOREVER)
        if covers(found["spec"], template["spec"]):
            return
        if labels_of(found).get(OWNER) != self._owner or is_used(meta["name"]):
            raise ClusterError(
                f"another JobTemplate {meta['name']} exists in namespace {self._namespace}: "
                "give the step another name, or run one flow after the other"
            )
        kept = {**meta, "resourceVersion": found["metadata"]["resourceVersion"]}
        kept["ownerReferences"] = found["metadata"].get("ownerReferences") or []
        await self._client.call("PUT", path, {**template, "metadata": kept}, patience=FOREVER)

    async def _own(self, template: Json, flow: Json) -> None:
        """Have a template of ours go with the last flow that uses it."""
        path = f"{templates_path(self._namespace)}/{template['metadata']['name']}"
        with suppress(ClusterError):
            found = await self._client.get(path)
            if labels_of(found).get(OWNER) == self._owner and not is_of(found, flow):
                others = found["metadata"].get("ownerReferences") or []
                change = {"ownerReferences": [*others, owned_by(flow)]}
                await self._client.patch(path, {"metadata": change})


def deleted(name: str) -> str:
    """Say that a flow is gone."""
    return f"the JobFlow {name} was deleted from the cluster"
