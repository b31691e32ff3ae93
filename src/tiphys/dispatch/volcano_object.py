"""A flow's objects on the cluster: JobFlow and JobTemplates, as Volcano's controller wants them.

Pure. Step, JobTemplate and Job share a name upstream, so templates cannot be given names of our
own: flows of one namespace share them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tiphys.ports import Dispatch
from tiphys.runtimes.kubernetes_job import OWNER
from tiphys.runtimes.volcano_object import WORKFLOW_ID, filled
from tiphys.spec.mark import MANIFEST
from tiphys.spec.model.volcano import FLOW_VERSION

Json = dict[str, Any]
OF_FLOW = "volcano.sh/createdByJobFlow"
"""The label that Volcano puts on a flow's Jobs, and so on their PodGroups."""
_NEVER_SENT = ("resourceVersion", "uid", "creationTimestamp", "managedFields", "selfLink")


def flows_path(namespace: str) -> str:
    """Give the collection of a namespace's JobFlows."""
    return f"/apis/{FLOW_VERSION}/namespaces/{namespace}/jobflows"


def templates_path(namespace: str) -> str:
    """Give the collection of a namespace's JobTemplates."""
    return f"/apis/{FLOW_VERSION}/namespaces/{namespace}/jobtemplates"


def write_flow(order: Dispatch, namespace: str, owner: str) -> Json:
    """Give the JobFlow of an order.

    Its Jobs are kept until their logs are read: upstream would delete them at once.
    """
    text = order.workflow.metadata.annotations[MANIFEST]
    flow: Json = msgspec.json.decode(text)
    meta = {k: v for k, v in (flow.get("metadata") or {}).items() if k not in _NEVER_SENT}
    meta.pop("generateName", None)
    own = {WORKFLOW_ID: order.uid, OWNER: owner, "scheduler": order.scheduler}
    labels = {**(meta.get("labels") or {}), **own}
    return {
        "apiVersion": FLOW_VERSION,
        "kind": "JobFlow",
        "metadata": {**meta, "name": order.name, "namespace": namespace, "labels": labels},
        "spec": {**flow["spec"], "jobRetainPolicy": "retain"},
    }


def drops_jobs(order: Dispatch) -> bool:
    """Whether the Jobs of a flow go once it has succeeded."""
    flow = msgspec.json.decode(order.workflow.metadata.annotations[MANIFEST])
    return bool((flow.get("spec") or {}).get("jobRetainPolicy") == "delete")


def write_templates(order: Dispatch, namespace: str, owner: str) -> list[Json]:
    """Give the JobTemplates of an order."""
    labels = {WORKFLOW_ID: order.uid, OWNER: owner}
    return [
        {
            "apiVersion": FLOW_VERSION,
            "kind": "JobTemplate",
            "metadata": {"name": each.name, "namespace": namespace, "labels": labels},
            "spec": filled(each.volcano_job, order.queue, order.priority_class),
        }
        for each in order.workflow.spec.templates
        if each.volcano_job is not None
    ]


def covers(found: Any, wanted: Any) -> bool:
    """Whether what is there says all that is wanted; the server may have added defaults."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            key in found and covers(found[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        same = isinstance(found, list) and len(found) == len(wanted)
        return same and all(covers(a, b) for a, b in zip(found, wanted, strict=True))
    return bool(found == wanted)


def owned_by(flow: Mapping[str, Any]) -> Json:
    """Give the reference that makes something go with a flow."""
    meta = flow["metadata"]
    return {
        "apiVersion": FLOW_VERSION,
        "kind": "JobFlow",
        "name": meta["name"],
        "uid": meta["uid"],
    }
