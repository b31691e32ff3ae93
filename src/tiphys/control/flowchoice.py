"""Who drives a JobFlow on Volcano: Volcano's own controller where that is safe, else our engine.

Decided once, when the flow is submitted, and kept as a label: a later Tiphys with other rules must
not change its mind about a flow that is under way. Pure.
"""

from __future__ import annotations

import msgspec

from tiphys.ports import CONTROLLER_LABEL, SCHEDULER_LABEL, VOLCANO
from tiphys.spec import model

_KIND, _MANIFEST = "tiphys.dev/kind", "tiphys.dev/manifest"
replace = msgspec.structs.replace


def settle_controller(workflow: model.Workflow, namespace: str) -> model.Workflow:
    """Give the workflow with the label that says who drives it; ``namespace`` is the cluster's."""
    labels = {k: v for k, v in workflow.metadata.labels.items() if k != CONTROLLER_LABEL}
    is_flow = labels.get(SCHEDULER_LABEL) == VOLCANO and labels.get(_KIND) == "JobFlow"
    if is_flow and not _reasons(workflow, namespace):
        labels[CONTROLLER_LABEL] = VOLCANO
    if labels == workflow.metadata.labels:
        return workflow
    return replace(workflow, metadata=replace(workflow.metadata, labels=labels))


def _reasons(workflow: model.Workflow, namespace: str) -> list[str]:
    from tiphys.spec.model.volcano import JobFlow  # noqa: PLC0415 - few have one
    from tiphys.spec.volcano.plain import reasons  # noqa: PLC0415

    flow = msgspec.json.decode(workflow.metadata.annotations[_MANIFEST], type=JobFlow)
    jobs = {each.name: each.volcano_job for each in workflow.spec.templates if each.volcano_job}
    where = namespace or workflow.metadata.namespace
    return reasons(flow, jobs, workflow.metadata.name, where)
