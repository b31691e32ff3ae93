"""Who drives a JobFlow on Volcano: Volcano's own controller where that is safe, else our engine.

Decided once, when the flow is submitted, and kept as a label: a later Tiphys with other rules must
not change its mind about a flow that is under way. Pure.
"""

from __future__ import annotations

import msgspec

from tiphys.ports import CONTROLLER_LABEL, SCHEDULER_LABEL, VOLCANO
from tiphys.spec import model
from tiphys.spec.mark import KIND, MANIFEST

DRIVEN = "FlowController"
"""The kind of the event that tells why a flow is driven from here."""
_TOLD = 5
replace = msgspec.structs.replace


def settle_controller(workflow: model.Workflow, namespace: str) -> tuple[model.Workflow, str]:
    """Give the workflow with the label that says who drives it, and why that is not Volcano.

    ``namespace`` is the cluster's; "" stands for the workflow's own.
    """
    labels = {k: v for k, v in workflow.metadata.labels.items() if k != CONTROLLER_LABEL}
    why: list[str] = []
    if labels.get(SCHEDULER_LABEL) == VOLCANO and labels.get(KIND) == "JobFlow":
        why = _reasons(workflow, namespace)
        if not why:
            labels[CONTROLLER_LABEL] = VOLCANO
    told = f"driven from here: {'; '.join(why[:_TOLD])}" if why else ""
    if labels == workflow.metadata.labels:
        return workflow, told
    return replace(workflow, metadata=replace(workflow.metadata, labels=labels)), told


def _reasons(workflow: model.Workflow, namespace: str) -> list[str]:
    from tiphys.spec.model.volcano import JobFlow  # noqa: PLC0415 - few have one
    from tiphys.spec.volcano.plain import reasons  # noqa: PLC0415

    try:
        flow = msgspec.json.decode(workflow.metadata.annotations[MANIFEST], type=JobFlow)
    except (KeyError, msgspec.MsgspecError):  # It was kept by an earlier version, or touched.
        return ["its document is not on record"]
    spec = workflow.spec
    if not any(each.dag and each.name == spec.entrypoint for each in spec.templates):
        return ["an entrypoint that is not the flow"]
    jobs = {each.name: each.volcano_job for each in workflow.spec.templates if each.volcano_job}
    where = namespace or workflow.metadata.namespace
    return reasons(flow, jobs, workflow.metadata.name, where)
