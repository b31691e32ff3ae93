"""Workflows of a server elsewhere, made into what the commands print: rows and nodes.

Pure: Argo's JSON in, rows and nodes out. What Argo's shape does not tell (CPU, memory) is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from tiphys.core.jobname import job_name
from tiphys.core.priority import effective_priority
from tiphys.engine.node import Node, NodeType, Ours, Phase
from tiphys.spec import model
from tiphys.store import WorkflowRow

Objects = Mapping[str, Any]


def row_of(found: Objects) -> WorkflowRow:
    """Give the workflow itself."""
    meta, status, spec = found["metadata"], found.get("status") or {}, found.get("spec") or {}
    created = _seconds(meta.get("creationTimestamp"))
    outputs = status.get("outputs")
    return WorkflowRow(
        uid=meta.get("uid", ""),
        name=meta["name"],
        namespace=meta.get("namespace", ""),
        phase=status.get("phase") or "",
        message=status.get("message") or "",
        created_at=created or 0.0,
        started_at=_seconds(status.get("startedAt")),
        finished_at=_seconds(status.get("finishedAt")),
        priority=effective_priority(
            spec.get("priority"), meta.get("labels") or {}, spec.get("podPriorityClassName") or ""
        ),
        progress=status.get("progress") or "",
        labels=meta.get("labels") or {},
        annotations=meta.get("annotations") or {},
        suspended=bool(spec.get("suspend")),
        manifest=msgspec.json.encode({"metadata": {"name": meta["name"]}, "spec": spec}),
        outputs=msgspec.json.encode(outputs) if outputs else None,
    )


def nodes_of(found: Objects) -> list[Node]:
    """Give its nodes, each after what it hangs below."""
    listed: Mapping[str, Objects] = (found.get("status") or {}).get("nodes") or {}
    parents: dict[str, list[str]] = {}
    for key, node in listed.items():
        for child in node.get("children") or ():
            parents.setdefault(child, []).append(key)
    nodes = [
        _node(node, tuple(parents.get(key, ())), number)
        for number, (key, node) in enumerate(listed.items())
    ]
    _name_pods(found["metadata"]["name"], nodes)
    return nodes


def _name_pods(workflow: str, nodes: Sequence[Node]) -> None:
    """Name the pods of Volcano Jobs; Argo's shape has no place for their names."""
    jobs = {node.id: node.name for node in nodes if node.type is NodeType.JOB}
    for node in nodes:
        if node.boundary_id in jobs:
            job = job_name(workflow, jobs[node.boundary_id])
            node.ours.pod = f"{job}-{node.display_name.partition('(')[0]}"


def _node(value: Objects, parents: tuple[str, ...], number: int) -> Node:
    kind = NodeType(value["type"])
    begun = _seconds(value.get("startedAt"))
    runs = kind in {NodeType.POD, NodeType.HTTP, NodeType.PLUGIN} and begun is not None
    return Node(
        id=value["id"],
        name=value["name"],
        display_name=value.get("displayName") or value["name"],
        type=kind,
        template_name=value.get("templateName") or "",
        template_ref=_model(value.get("templateRef"), model.TemplateRef),
        phase=Phase(value.get("phase") or "Pending"),
        boundary_id=value.get("boundaryID") or "",
        message=value.get("message") or "",
        started_at=begun,
        finished_at=_seconds(value.get("finishedAt")),
        inputs=_model(value.get("inputs"), model.Inputs),
        outputs=_model(value.get("outputs"), model.Outputs),
        ours=Ours(parents=parents, seq=number, attempt=int(runs)),
    )


def _model(value: Any, kind: Any) -> Any:
    if not value:
        return None
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None  # A newer server may say more than we know; the rest is shown.


def _seconds(text: str | None) -> float | None:
    return datetime.fromisoformat(text).timestamp() if text else None
