"""What earlier submissions left behind for later ones: templates and config maps.

Every host reads it when it opens, so it is apart from the use cases, which few hosts are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tiphys.spec import model
from tiphys.spec.library import Library
from tiphys.store import ObjectRow

KEPT = ("WorkflowTemplate", "ClusterWorkflowTemplate", "ConfigMap", "JobTemplate")
"""Kinds of documents that a submission leaves behind for later ones."""


def stored_library(rows: Sequence[ObjectRow], namespace: str) -> Library:
    """Give the library of what earlier submissions left behind."""
    found: dict[str, dict[object, object]] = {kind: {} for kind in KEPT}
    types: dict[str, type[model.Model]] = {
        "WorkflowTemplate": model.WorkflowTemplate,
        "ClusterWorkflowTemplate": model.ClusterWorkflowTemplate,
        "ConfigMap": model.ConfigMap,
    }
    if any(row.kind == "JobTemplate" for row in rows):
        from tiphys.spec.model.volcano import JobTemplate  # noqa: PLC0415 - few have any

        types["JobTemplate"] = JobTemplate
    for row in rows:
        if row.kind in types:
            value = msgspec.json.decode(row.body, type=types[row.kind])
            key = row.name if row.kind == "ClusterWorkflowTemplate" else (row.namespace, row.name)
            found[row.kind][key] = value
    return Library(
        namespace=namespace,
        workflow_templates=found["WorkflowTemplate"],  # type: ignore[arg-type]
        cluster_workflow_templates=found["ClusterWorkflowTemplate"],  # type: ignore[arg-type]
        config_maps=found["ConfigMap"],  # type: ignore[arg-type]
        job_templates=found["JobTemplate"],  # type: ignore[arg-type]
    )
