"""A strict JSON schema of all documents, for editors.

Made from the model, so it cannot drift from what we read: ``additionalProperties`` is false
everywhere, and ``kind`` decides which document is meant.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tiphys.spec.model import (
    API_VERSION,
    ClusterWorkflowTemplate,
    ConfigMap,
    CronWorkflow,
    Model,
    PersistentVolumeClaim,
    Secret,
    Workflow,
    WorkflowTemplate,
)
from tiphys.spec.model.volcano import (
    BATCH_VERSION,
    FLOW_VERSION,
    JobFlow,
    JobTemplate,
    VolcanoJob,
)

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_KINDS: tuple[tuple[type[Model], str, str], ...] = (
    (Workflow, "Workflow", API_VERSION),
    (WorkflowTemplate, "WorkflowTemplate", API_VERSION),
    (ClusterWorkflowTemplate, "ClusterWorkflowTemplate", API_VERSION),
    (CronWorkflow, "CronWorkflow", API_VERSION),
    (JobFlow, "JobFlow", FLOW_VERSION),
    (JobTemplate, "JobTemplate", FLOW_VERSION),
    (VolcanoJob, "Job", BATCH_VERSION),
    (ConfigMap, "ConfigMap", "v1"),
    (Secret, "Secret", "v1"),
    (PersistentVolumeClaim, "PersistentVolumeClaim", "v1"),
)


def json_schema() -> dict[str, Any]:
    """Give the schema of a file's document."""
    classes = [cls for cls, _, _ in _KINDS]
    _, parts = msgspec.json.schema_components(classes, ref_template="#/$defs/{name}")
    return {
        "$schema": _DIALECT,
        "title": "Tiphys documents",
        "description": "Workflows, their templates and schedules, and what they refer to.",
        "oneOf": [_document(cls.__name__, kind, version) for cls, kind, version in _KINDS],
        "$defs": {name: _strict(part) for name, part in sorted(parts.items())},
    }


def _document(name: str, kind: str, version: str) -> dict[str, Any]:
    """Say when a definition is meant; it may also be a part of another document."""
    return {
        "$ref": f"#/$defs/{name}",
        "properties": {"kind": {"const": kind}, "apiVersion": {"const": version}},
        "required": ["apiVersion", "kind", "metadata"],
    }


def _strict(part: Any) -> Any:
    """Forbid unknown fields, and take out what msgspec adds for Python's sake."""
    if isinstance(part, list):
        return [_strict(item) for item in part]
    if not isinstance(part, dict):
        return part
    strict = {key: _strict(value) for key, value in part.items() if key != "default"}
    if "x-type" in strict:
        strict["type"] = strict.pop("x-type")
    if "properties" in strict and strict.get("type") == "object":
        properties = strict["properties"]
        # A property may itself be called "default".
        if "default" in part["properties"]:
            properties["default"] = _strict(part["properties"]["default"])
        strict["additionalProperties"] = False
    return strict
