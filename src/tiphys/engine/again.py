"""A run that is over is tried again by a person: what is kept of it, and what runs once more.

Pure. ``plan_retry`` looks at the nodes of the old run and decides; ``reopen`` fills a fresh run
with what is kept, and ``RunStarted`` sets it going. The rules are Argo's: leaves that failed are
forgotten along with everything that came after them, the nodes around them are opened again, and so
is whatever a selector names. A failure after which something succeeded counts as dealt with. The
exit handler runs again.

Where Argo's way leaves a run that cannot go on, ours differs:

- a node that failed before it could start, a pause that failed, and steps or a DAG that failed by
  themselves are tried again too (Argo starts such a run only to end it at once);
- a hook that succeeded does not make the failure of its node dealt with, and the hooks of a node
  that runs again run again;
- earlier attempts of a retried steps or DAG are history; only the last one is opened again;
- a daemon is started again if what it served runs again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import msgspec

from tiphys.engine.event import Shutdown
from tiphys.engine.lineage import COMPOSITE, Lineage, is_attempt, is_hook, was_daemon
from tiphys.engine.node import Node, NodeType, Ours, Phase
from tiphys.engine.restore import recall_outputs, restore
from tiphys.errors import ConflictError, InvalidInputError

if TYPE_CHECKING:
    from tiphys.engine.run import Run
    from tiphys.engine.selector import NodeSelector

replace = msgspec.structs.replace


class RetryPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of the nodes of a run."""

    kept: tuple[Node, ...]
    """Copies, in the order in which they were made."""
    reset: tuple[str, ...]
    """Of these the ids of those that are under way again."""
    removed: tuple[str, ...]
    """Ids of nodes that are gone; some will be made anew under the same id."""


def plan_retry(
    nodes: Iterable[Node],
    *,
    name: str,
    phase: str,
    now: float,
    restart_successful: bool = False,
    selector: NodeSelector | None = None,
) -> RetryPlan:
    """Decide what a run called ``name`` that ended in ``phase`` keeps when it is tried again.

    ``restart_successful``: what ``selector`` names runs again as well, whatever came of it.
    """
    _check_phase(phase, may_restart=restart_successful and selector is not None)
    lineage = Lineage(nodes)
    chosen: set[str] = set()
    if restart_successful and selector is not None:
        chosen = {node.id for node in lineage.nodes.values() if selector.matches(node)}
        if not chosen and phase == "Succeeded":
            raise InvalidInputError("the node field selector matches no node: nothing to retry")
    return _Planner(lineage, name, chosen).plan(now)


def _check_phase(phase: str, *, may_restart: bool) -> None:
    if phase in {"Failed", "Error"}:
        return
    if phase != "Succeeded":
        raise ConflictError(f"cannot retry a workflow in phase {phase or 'Pending'}")
    if not may_restart:
        raise InvalidInputError(
            "to retry a workflow that succeeded, ask to restart successful nodes "
            "and give a node field selector"
        )


def reopen(
    run: Run,
    nodes: Iterable[Node],
    *,
    now: float,
    reset: Collection[str] | None = None,
    removed: Iterable[str] = (),
) -> None:
    """Fill ``run``, fresh from ``begin``, with nodes of an earlier one; ``RunStarted`` comes next.

    A retried run has the ``starts`` and ``outputs`` of the old one set before, so that the number
    of an attempt is never used twice; what else is left of the old end is cleared here. ``reset``
    are the nodes that are not on record as they are; None: all.
    """
    run.phase, run.message, run.shutdown = "", "", Shutdown.NONE
    run.started_at = run.finished_at = None
    run.header_changed = True
    restore(run, nodes, now=now)
    for node_id in run.nodes if reset is None else reset:
        run.touch(run.nodes[node_id])
    run.removed.extend(removed)
    recall_outputs(run)


class _Planner:
    """Sorts the nodes of one run into kept, reset and removed."""

    def __init__(self, lineage: Lineage, name: str, chosen: set[str]) -> None:
        self._lineage = lineage
        self._chosen = chosen
        self._history = lineage.superseded()
        self._led_to_success = lineage.led_to_success(chosen)
        self._gone: set[str] = set()
        self._reset: set[str] = set()
        """Nodes that are under way again."""
        self._rerun: set[str] = set()
        """Of these the ones whose outcome may change, so that what followed them is gone."""
        handler = lineage.named(f"{name}.onExit")
        if handler is not None and is_hook(handler):
            self._remove(handler)

    def plan(self, now: float) -> RetryPlan:
        """Decide."""
        nodes = self._lineage.nodes
        for node in nodes.values():
            if node.id not in self._gone and self._runs_again(node):
                self._run_again(node)
        # The innermost first: what is around it is then open already.
        for node in reversed(nodes.values()):
            if self._failed_by_itself(node):
                self._open(node, *self._lineage.owners(node))
        for node in nodes.values():
            self._restart_daemon(node)
            self._drop_stray(node)
        reset = tuple(each for each in nodes if each in self._reset and each not in self._gone)
        return RetryPlan(
            kept=tuple(
                self._copy(node, now) for node in nodes.values() if node.id not in self._gone
            ),
            reset=reset,
            removed=tuple(each for each in nodes if each in self._gone),
        )

    def _runs_again(self, node: Node) -> bool:
        if node.id in self._chosen:
            return True
        if not node.unsuccessful or node.type in COMPOSITE or node.type is NodeType.CONTAINER:
            return False
        judged = self._lineage.owner(node) if is_attempt(node) else node
        return node.id not in self._history and (
            judged is None or judged.id not in self._led_to_success
        )

    def _run_again(self, node: Node) -> None:
        """Forget a node and what came after it, and open what is around it."""
        owner = self._lineage.owner(node)
        if node.type is NodeType.CONTAINER and owner is not None:
            self._run_again(owner)
            return
        # Attempts go together: the next one starts to count from nothing.
        family = self._lineage.attempts(owner) if is_attempt(node) and owner else [node]
        for each in family:
            self._remove(each)
        self._open(*self._lineage.owners(node), changes=not is_hook(node))

    def _remove(self, node: Node) -> None:
        if node.id not in self._gone:
            self._gone |= self._lineage.below(node, self._gone)

    def _open(self, *chain: Node, changes: bool = True) -> None:
        """Open nodes again, from the innermost to the root.

        ``changes``: their outcome may differ this time, so what followed them is forgotten. What a
        hook does never counts for the nodes around it.
        """
        for node in chain:
            if node.id in (self._rerun if changes else self._reset):
                return
            self._reset.add(node.id)
            if changes:
                self._rerun.add(node.id)
                for follower in self._lineage.followers(node):
                    self._remove(self._lineage.nodes[follower])
            changes = changes and not is_hook(node)

    def _failed_by_itself(self, node: Node) -> bool:
        """Whether steps or a DAG failed for no fault of what is inside, with nothing to show."""
        if not node.unsuccessful or node.type not in COMPOSITE:
            return False
        if node.id in self._gone or node.id in self._reset or node.id in self._history:
            return False
        followers = [self._lineage.nodes[each] for each in self._lineage.followers(node)]
        return not any(
            each.id in self._led_to_success or each.phase is Phase.SUCCEEDED
            for each in followers
            if not is_hook(each)
        )

    def _restart_daemon(self, node: Node) -> None:
        """Forget a daemon whose boundary is open again, but not what it has served so far."""
        if not was_daemon(node) or node.id in self._gone or node.boundary_id not in self._reset:
            return
        owner = self._lineage.owner(node)
        family = self._lineage.attempts(owner) if is_attempt(node) and owner else [node]
        for each in family:
            self._gone |= self._lineage.inside(each) | {each.id}
        self._open(*self._lineage.owners(node), changes=False)

    def _drop_stray(self, node: Node) -> None:
        """Forget an omitted task that hangs nowhere: what it depends on may have another end."""
        hangs = any(parent in self._lineage.nodes for parent in node.ours.parents)
        if node.phase is Phase.OMITTED and not hangs and node.boundary_id in self._rerun:
            self._remove(node)

    def _copy(self, node: Node, now: float) -> Node:
        if node.id in self._reset:
            return _renewed(node, now)
        outbound = tuple(each for each in node.outbound_nodes if each not in self._gone)
        return replace(node, outbound_nodes=outbound, ours=replace(node.ours))


def _renewed(node: Node, now: float) -> Node:
    """Give a copy of a composite node as if it had just been reached.

    Groups are running. Others are pending, where Argo has them running: the engine takes them up at
    once, but through their locks, which an ended run holds no longer.
    """
    is_group = node.type in {NodeType.STEP_GROUP, NodeType.TASK_GROUP}
    ours = node.ours
    return Node(
        id=node.id,
        name=node.name,
        display_name=node.display_name,
        type=node.type,
        template_name=node.template_name,
        template_ref=node.template_ref,
        template_scope=node.template_scope,
        phase=Phase.RUNNING if is_group else Phase.PENDING,
        boundary_id=node.boundary_id,
        started_at=now,
        node_flag=node.node_flag,
        ours=Ours(parents=ours.parents, seq=ours.seq, on_exit=ours.on_exit),
    )
