"""How a DAG went, from how its targets went.

A target that was omitted takes the phase of the branch above it: of the last nodes before it that
completed, failures preferred. So a failure that somebody handled does not count, and one that
nobody did reaches the end of its branch.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from tiphys.engine.node import UNSUCCESSFUL, Node, NodeType, Phase

if TYPE_CHECKING:
    from tiphys.engine.run import Run
    from tiphys.spec import model


def dag_phase(
    run: Run, boundary: Node, targets: list[tuple[model.DAGTask, Node]], *, fail_fast: bool
) -> Phase:
    """Tell the phase of a DAG all of whose tasks have ended."""
    phases = {node.id: node.phase for _, node in targets}
    if not all(node.completed for _, node in targets):
        phases = _branch_phases(run, boundary, set(phases))
    result = Phase.SUCCEEDED
    for task, node in targets:
        phase = phases.get(node.id, Phase.SUCCEEDED)
        if phase not in UNSUCCESSFUL or _tolerated(task, phase):
            continue
        result = phase
        if fail_fast:
            break
    return result


def _tolerated(task: model.DAGTask, phase: Phase) -> bool:
    rule = task.continue_on
    if rule is None:
        return False
    return (rule.error and phase is Phase.ERROR) or (rule.failed and phase is Phase.FAILED)


def _branch_phases(run: Run, boundary: Node, wanted: set[str]) -> dict[str, Phase]:
    found: dict[str, Phase] = {}
    first = [(child, Phase.SUCCEEDED) for child in run.children.get(boundary.id, ())]
    seen = set(first)
    queue = deque(first)
    while queue:
        node_id, phase = queue.popleft()
        node = run.nodes[node_id]
        if node.completed:
            phase = node.phase
        if node_id in wanted and found.get(node_id) not in UNSUCCESSFUL:
            found[node_id] = phase
        for child in _below(run, node):
            step = (child, phase)
            if step not in seen:
                seen.add(step)
                queue.append(step)
    return found


def _below(run: Run, node: Node) -> list[str]:
    children = run.children.get(node.id, [])
    if node.type is not NodeType.RETRY:
        return children
    # A retried node shows the phase of its last attempt: go on below the attempts and at the hooks.
    found: list[str] = []
    for child in reversed(children):
        if run.nodes[child].hooked:
            found.append(child)
        else:
            found.extend(run.children.get(child, ()))
    return found
