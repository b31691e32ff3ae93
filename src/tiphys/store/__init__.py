"""Everything that must survive: workflows, nodes, events, memos, objects. ``Store`` is the door."""

from tiphys.store.row import (
    Batch,
    EventRow,
    MemoRow,
    NodeRow,
    ObjectRow,
    WorkflowFilter,
    WorkflowHeader,
    WorkflowRow,
    WorkflowSummary,
)
from tiphys.store.store import Store

__all__ = [
    "Batch",
    "EventRow",
    "MemoRow",
    "NodeRow",
    "ObjectRow",
    "Store",
    "WorkflowFilter",
    "WorkflowHeader",
    "WorkflowRow",
    "WorkflowSummary",
]
