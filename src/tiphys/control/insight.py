"""What earlier runs of a JobFlow's templates came to, counted from the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

import msgspec

from tiphys.engine.node import Node, NodeType
from tiphys.spec import model
from tiphys.store import Store, WorkflowFilter, WorkflowRow
from tiphys.store.row import FINISHED
from tiphys.wire.flow import Past, flow_state, step_of
from tiphys.wire.volcano import volcano_object

LABEL = "tiphys.dev/kind"
"""On the workflow that a flow or a Job became: what it was."""
HISTORY = 50
"""So many of the latest runs are looked at."""
MOST_NODES = 20_000
_BAD = frozenset({"Failed", "Error"})


def describe_flow(
    store: Store | None, row: WorkflowRow, nodes: Sequence[Node]
) -> dict[str, Any] | None:
    """Describe a JobFlow or Job; None where a workflow is neither. No store: no history."""
    kind = row.labels.get(LABEL, "")
    if not kind:
        return None
    spec = msgspec.json.decode(row.spec, type=model.WorkflowSpec)
    past = {} if store is None else count_past(store, row)
    found = flow_state(row.name, spec, nodes, past)
    if row.phase in FINISHED:
        found["next"] = []
    return {"kind": kind, **found, "status": volcano_object(row, nodes).get("status")}


def count_past(store: Store, row: WorkflowRow) -> Past:
    """Count how Jobs of the same templates ended in the latest runs of the namespace."""
    wanted = WorkflowFilter(
        namespace=row.namespace,
        phases=tuple(FINISHED),
        label_selector=f"{LABEL}={row.labels[LABEL]}",
    )
    ended: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    left = MOST_NODES
    for run in store.workflows(wanted, limit=HISTORY):
        if run.uid == row.uid or left <= 0:
            continue
        for node in islice(store.nodes(run.uid), left):
            left -= 1
            if node.type == NodeType.JOB:
                step = step_of(run.name, node.name)
                ended[step] += 1
                failed[step] += node.phase in _BAD
    return {step: (number, failed[step]) for step, number in ended.items()}
