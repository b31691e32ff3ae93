"""The rows of the store, as the rest of the program sees them.

Documents (manifests, specs, nodes) are JSON in bytes: the store never looks inside. Times are
seconds since the epoch in UTC and always come from the caller; the store owns no clock.

Does without ``from __future__ import annotations``: msgspec would have to evaluate each annotation
as text when it reads the first row.
"""

import msgspec

UNFINISHED = ("", "Pending", "Running")
FINISHED = ("Succeeded", "Failed", "Error")


class WorkflowSummary(msgspec.Struct, kw_only=True):
    """A workflow as lists show it: everything but its documents."""

    uid: str
    name: str
    namespace: str
    phase: str = ""
    """"", Pending, Running, Succeeded, Failed or Error."""
    message: str = ""
    created_at: float
    started_at: float | None = None
    finished_at: float | None = None
    priority: int = 0
    queue: str = ""
    progress: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    shutdown: str = ""
    suspended: bool = False
    starts: int = 0
    source: str = ""
    """Where it came from: the name of a file, of a schedule…"""
    quarantine: str = ""
    """Why it cannot be loaded; "" for all that can."""


class WorkflowRow(WorkflowSummary, kw_only=True):
    """A workflow with its documents."""

    manifest: bytes = b""
    """The Workflow as submitted, in Argo's shape, with its final name."""
    spec: bytes = b""
    """The merged spec that really runs."""
    library: bytes = b""
    """What it may refer to, frozen at submission. Secrets are in it by name, never by value."""
    outputs: bytes | None = None


class WorkflowHeader(msgspec.Struct, kw_only=True):
    """The columns of a workflow that change while it runs.

    ``None`` leaves priority, queue, labels, annotations, quarantine and the documents as they are.
    Times are always written: a retried workflow is unfinished again. Outputs of ``b""`` clear them.
    A manifest is given together with its spec.
    """

    uid: str
    phase: str
    message: str = ""
    started_at: float | None = None
    finished_at: float | None = None
    progress: str = ""
    shutdown: str = ""
    suspended: bool = False
    starts: int = 0
    priority: int | None = None
    queue: str | None = None
    quarantine: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    manifest: bytes | None = None
    spec: bytes | None = None
    outputs: bytes | None = None


class NodeRow(msgspec.Struct, kw_only=True):
    """A node of a workflow; ``body`` is the JSON of an ``engine.node.Node``."""

    uid: str
    """The workflow's."""
    seq: int
    """Its place in the order of creation: from 0, given once, never given to another node."""
    id: str
    phase: str
    type: str
    name: str
    body: bytes


class EventRow(msgspec.Struct, kw_only=True):
    """Something that happened, for people to read: audit, scheduling notes."""

    uid: str
    """The workflow's, or "" for what belongs to none."""
    at: float
    kind: str
    node: str = ""
    text: str = ""
    number: int = 0
    """Set by the store; grows."""


class ObjectRow(msgspec.Struct, kw_only=True):
    """Anything else that is kept by name: templates, schedules, config maps, queues…"""

    kind: str
    namespace: str
    name: str
    body: bytes
    at: float = 0.0


class MemoRow(msgspec.Struct, kw_only=True):
    """Remembered outputs of a node."""

    namespace: str
    cache: str
    key: str
    node_id: str
    outputs: bytes
    at: float


class Batch(msgspec.Struct, kw_only=True):
    """Everything that one transaction changes; applied in the order of these fields."""

    submitted: list[WorkflowRow] = []
    headers: list[WorkflowHeader] = []
    nodes: list[NodeRow] = []
    removed: list[tuple[str, str]] = []
    """Nodes to forget: workflow uid and node id."""
    memos: list[MemoRow] = []
    events: list[EventRow] = []
    objects: list[ObjectRow] = []
    objects_removed: list[tuple[str, str, str]] = []
    """Kind, namespace and name."""
    deleted: list[str] = []
    """Workflows to forget. Their names are free at once."""

    def __bool__(self) -> bool:
        """Whether there is anything to write."""
        return bool(
            self.nodes
            or self.headers
            or self.submitted
            or self.removed
            or self.memos
            or self.events
            or self.objects
            or self.objects_removed
            or self.deleted
        )


class WorkflowFilter(msgspec.Struct, kw_only=True, frozen=True):
    """Which workflows a list shows; the default is all."""

    phases: tuple[str, ...] = ()
    namespace: str = ""
    name_contains: str = ""
    label_selector: str = ""
    """As kubectl takes it: ``a=b,c!=d,e in (x,y),f,!g``."""
    since: float | None = None
    """Created at or after."""
    before: float | None = None
    """Created before."""
    finished_before: float | None = None
    """Ended before; such a list is in the order of ends instead of creation."""
    finished_after: float | None = None
    """Ended after; only together with the one before."""
    queue: str = ""
