"""A run as Argo's Workflow object, and nodes as the store keeps them.

Built from a header, the documents as submitted and the nodes, without looking into specs: what was
submitted is passed on byte by byte. ``ours`` never leaves here, ``children`` comes back from the
parents that each child names. Like Argo's own, a time that is not known yet is null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

import msgspec

from tiphys.engine.node import (
    MemoizationStatus,
    Node,
    NodeFlag,
    NodeType,
    Phase,
    SynchronizationStatus,
)
from tiphys.spec import model

API_VERSION = "argoproj.io/v1alpha1"
PHASE_LABEL = "workflows.argoproj.io/phase"
COMPLETED_LABEL = "workflows.argoproj.io/completed"
GC_ERROR = "tiphys.dev/artifact-gc-error"
"""The annotation that tells which artifacts could not be deleted."""
_ENDED = frozenset({"Succeeded", "Failed", "Error"})


class Header(Protocol):
    """What is asked of a stored workflow (``store.row.WorkflowRow`` has it all)."""

    uid: str
    name: str
    namespace: str
    phase: str
    message: str
    created_at: float
    started_at: float | None
    finished_at: float | None
    progress: str
    labels: dict[str, str]
    annotations: dict[str, str]
    shutdown: str
    suspended: bool
    quarantine: str
    manifest: bytes
    spec: bytes
    outputs: bytes | None


class NodeStatus(msgspec.Struct, omit_defaults=True, rename="camel"):
    """Argo's NodeStatus; the order is that of ``_status``, which fills it by place."""

    id: str
    name: str
    type: NodeType
    phase: Phase
    started_at: str | None
    finished_at: str | None
    display_name: str = ""
    template_name: str = ""
    template_ref: model.TemplateRef | None = None
    template_scope: str = ""
    boundary_id: str = msgspec.field(name="boundaryID", default="")
    message: str = ""
    progress: str = ""
    inputs: model.Inputs | None = None
    outputs: model.Outputs | None = None
    daemoned: bool | None = None
    node_flag: NodeFlag | None = None
    memoization_status: MemoizationStatus | None = None
    synchronization_status: SynchronizationStatus | None = None
    host_node_name: str = ""
    pod_ip: str = msgspec.field(name="podIP", default="")
    outbound_nodes: tuple[str, ...] = ()
    children: list[str] = []


class Condition(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of the workflow's conditions."""

    type: str
    status: str
    message: str = ""


class WorkflowStatus(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel"):
    """Argo's WorkflowStatus."""

    phase: str = ""
    started_at: str | None
    finished_at: str | None
    progress: str = ""
    message: str = ""
    nodes: dict[str, NodeStatus] = {}
    outputs: msgspec.Raw | None = None
    conditions: list[Condition] = []
    stored_workflow_template_spec: msgspec.Raw | None = None


class WorkflowObject(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel"):
    """Argo's Workflow."""

    api_version: str
    kind: str
    metadata: dict[str, Any]
    spec: msgspec.Raw | dict[str, Any]
    status: WorkflowStatus


class _Manifest(msgspec.Struct, rename="camel"):
    """A Workflow as submitted, opened no further than needed."""

    api_version: str = API_VERSION
    kind: str = "Workflow"
    metadata: dict[str, Any] = {}
    spec: msgspec.Raw = msgspec.Raw(b"{}")


class _Reference(msgspec.Struct, rename="camel"):
    workflow_template_ref: dict[str, Any] | None = None


_encoder = msgspec.json.Encoder()
_manifest_decoder = msgspec.json.Decoder(_Manifest)
_reference_decoder = msgspec.json.Decoder(_Reference)


def workflow_json(row: Header, nodes: Iterable[Node]) -> bytes:
    """Give the JSON text of the Workflow object. Nodes come in the order of their creation."""
    return _encoder.encode(_workflow(row, nodes))


def workflow_object(row: Header, nodes: Iterable[Node]) -> dict[str, Any]:
    """Give the Workflow object as plain dictionaries, lists and scalars."""
    plain: dict[str, Any] = msgspec.json.decode(workflow_json(row, nodes))
    return plain


def node_statuses(nodes: Iterable[Node]) -> dict[str, NodeStatus]:
    """Turn nodes into what Argo shows of them, with their children, by id."""
    stamp = partial(_stamp, {})
    statuses: dict[str, NodeStatus] = {}
    edges: list[tuple[str, str]] = []
    for node in nodes:
        statuses[node.id] = _status(node, stamp)
        edges += [(parent, node.id) for parent in node.ours.parents]
    for parent, child in edges:
        status = statuses.get(parent)
        if status is not None:
            status.children.append(child)
    return statuses


def _status(node: Node, stamp: Callable[[float | None], str | None]) -> NodeStatus:
    return NodeStatus(
        node.id,
        node.name,
        node.type,
        node.phase,
        stamp(node.started_at),
        stamp(node.finished_at),
        node.display_name,
        node.template_name,
        node.template_ref,
        node.template_scope,
        node.boundary_id,
        node.message,
        node.progress,
        node.inputs,
        node.outputs,
        node.daemoned,
        node.node_flag,
        node.memoization_status,
        node.synchronization_status,
        node.host_node_name,
        node.pod_ip,
        node.outbound_nodes,
        [],
    )


def _stamp(known: dict[int, str], at: float | None) -> str | None:
    """Write an instant as Kubernetes does. Many nodes share a second: each is written once."""
    if at is None:
        return None
    second = int(at)
    text = known.get(second)
    if text is None:
        text = known[second] = timestamp(at)
    return text


def timestamp(at: float) -> str:
    """Write an instant in RFC 3339: UTC, whole seconds."""
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _workflow(row: Header, nodes: Iterable[Node]) -> WorkflowObject:
    manifest = _manifest(row)
    return WorkflowObject(
        api_version=manifest.api_version,
        kind=manifest.kind,
        metadata=_metadata(row, manifest.metadata),
        spec=_spec(row, manifest.spec),
        status=_workflow_status(row, manifest.spec, node_statuses(nodes)),
    )


def _manifest(row: Header) -> _Manifest:
    try:
        return _manifest_decoder.decode(row.manifest) if row.manifest else _Manifest()
    except msgspec.DecodeError:
        if row.quarantine:
            return _Manifest()  # Damaged: its header can still be shown.
        raise


def _metadata(row: Header, submitted: Mapping[str, Any]) -> dict[str, Any]:
    labels = dict(row.labels)
    if row.phase:
        labels[PHASE_LABEL] = row.phase
        labels[COMPLETED_LABEL] = "true" if row.phase in _ENDED else "false"
    ours = {
        "name": row.name,
        "namespace": row.namespace,
        "uid": row.uid,
        "creationTimestamp": timestamp(row.created_at),
        "labels": labels,
        "annotations": row.annotations,
    }
    merged = {**submitted, **ours}
    return {name: value for name, value in merged.items() if value not in ({}, "", None)}


def _spec(row: Header, submitted: msgspec.Raw) -> msgspec.Raw | dict[str, Any]:
    """Give the spec as submitted, with the two switches that people turn afterwards."""
    if not row.suspended and not row.shutdown and b'"suspend":true' not in bytes(submitted):
        return submitted
    spec: dict[str, Any] = msgspec.json.decode(submitted)
    if row.suspended:
        spec["suspend"] = True
    else:
        spec.pop("suspend", None)
    if row.shutdown:
        spec["shutdown"] = row.shutdown
    return spec


def _workflow_status(
    row: Header, spec: msgspec.Raw, nodes: dict[str, NodeStatus]
) -> WorkflowStatus:
    referring = bool(_reference_decoder.decode(spec).workflow_template_ref)
    return WorkflowStatus(
        phase=row.phase,
        started_at=None if row.started_at is None else timestamp(row.started_at),
        finished_at=None if row.finished_at is None else timestamp(row.finished_at),
        progress=row.progress,
        message=row.message,
        nodes=nodes,
        outputs=_document(row, row.outputs),
        conditions=_conditions(row, nodes.values()),
        stored_workflow_template_spec=_document(row, row.spec) if referring else None,
    )


def _document(row: Header, text: bytes | None) -> msgspec.Raw | None:
    """Pass a document on as it is; one of a damaged row only if it is JSON at all."""
    if not text:
        return None
    if row.quarantine:
        try:
            msgspec.json.decode(text)
        except msgspec.DecodeError:
            return None
    return msgspec.Raw(text)


def _conditions(row: Header, nodes: Iterable[NodeStatus]) -> list[Condition]:
    conditions = []
    if row.phase:
        running = any(node.type == "Pod" and node.phase == "Running" for node in nodes)
        conditions.append(Condition("PodRunning", "True" if running else "False"))
    if row.phase in _ENDED:
        conditions.append(Condition("Completed", "True"))
    if row.annotations.get(GC_ERROR):
        conditions.append(Condition("ArtifactGCError", "True", row.annotations[GC_ERROR]))
    if row.quarantine:
        conditions.append(Condition("SpecError", "True", row.quarantine))
    return conditions
