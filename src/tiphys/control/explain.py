"""Why the nodes of a workflow wait, as data and as words.

Reads a run and, where a host is up, its scheduler; changes nothing. A node that exists says itself
whether it waits for a lock, a pause or a backoff; the scheduler knows about those in line; tasks
and steps that have no node yet are told from their template. Without a host the same is read from
the store, and nodes in line wait for somebody to run them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tiphys.control.locks import LockTable
from tiphys.control.task import attempt_id
from tiphys.engine.dagtask import rules_of
from tiphys.engine.leaf import awaits_release
from tiphys.engine.node import Node, NodeType, Phase
from tiphys.engine.resolve import UnresolvedError
from tiphys.engine.run import Run
from tiphys.scheduling import Scheduler, Wait, WorkId
from tiphys.scheduling.reason import (
    BackingOff,
    DependencyPending,
    LockHeld,
    NoServer,
    ParallelismReached,
    Paused,
    PoolFull,
    Reason,
    Starting,
    WorkflowNotAdmitted,
    WorkflowSuspended,
)
from tiphys.spec import model
from tiphys.store import Store, WorkflowRow
from tiphys.wire.node import decode_node

MOST = 200
"""Rows of an answer; a fan-out of thousands waits for one reason."""
_LOCK = r"Waiting for (\S+) lock"
Holders = Mapping[str, Sequence[str]]
"""Locks, and who has them."""


def explain_run(
    run: Run,
    scheduler: Scheduler | None,
    now: float,
    *,
    holders: Holders | None = None,
    most: int = MOST,
) -> list[dict[str, Any]]:
    """Say for each node of ``run`` that waits why it does, and when it may start.

    Each row has ``node`` (id, "" where there is none yet), ``name``, ``phase``, ``text``, ``data``
    (the reason with its ``type``), ``expected_start``. Past ``most`` rows a last one counts the
    rest as ``more``.
    """
    if run.ended:
        return []
    rows: list[dict[str, Any]] = []
    more = 0
    for name, node, wait in _waits(run, scheduler, now, holders or {}, most):
        if wait is None or len(rows) >= most:
            more += 1
        else:
            rows.append(_row(name, node, wait))
    if more:
        rows.append({"node": "", "name": "", "more": more, "text": f"and {more} more nodes"})
    return rows


def _row(name: str, node: Node | None, wait: Wait) -> dict[str, Any]:
    return {
        "node": node.id if node is not None else "",
        "name": name,
        "phase": str(node.phase) if node is not None else "",
        "text": wait.text,
        "data": msgspec.to_builtins(wait.reason),
        "expected_start": wait.expected_start,
    }


def _waits(
    run: Run, scheduler: Scheduler | None, now: float, holders: Holders, most: int
) -> Iterator[tuple[str, Node | None, Wait | None]]:
    """Give what waits; the reason is None where nobody will read it."""
    lock = re.search(_LOCK, run.message)
    if lock is not None and not run.nodes:
        yield run.name, None, Wait(LockHeld(lock[1], tuple(holders.get(lock[1], ()))))
    if run.suspended:
        yield run.name, None, Wait(WorkflowSuspended(run.name))
    elif lock is None and not run.nodes and scheduler is None:
        yield run.name, None, Wait(NoServer())
    asked = 0
    for node in list(run.nodes.values()):
        if node.ended:
            continue
        if _in_line(node):
            asked += 1
            known = asked <= most
            yield node.name, node, _queued(run, node, scheduler, now) if known else None
        elif (reason := _own_reason(run, node, holders)) is not None:
            yield node.name, node, Wait(reason)
    for node in list(run.nodes.values()):
        for name, later in _to_come(run, node):
            yield name, None, Wait(later)


# --- nodes that exist -----------------------------------------------------------------------


def _in_line(node: Node) -> bool:
    waits = node.phase is Phase.PENDING and bool(node.ours.attempt) and not node.ours.admitted
    return waits and not node.ours.held and node.synchronization_status is None


def _queued(run: Run, node: Node, scheduler: Scheduler | None, now: float) -> Wait:
    if scheduler is None:
        return Wait(NoServer())
    found = scheduler.reason(WorkId(attempt_id(run, node.ours.attempt)), now)
    if found is None:
        return Wait(Starting())
    reason = found.reason
    if isinstance(reason, WorkflowNotAdmitted | PoolFull):
        # The scheduler knows runs by their uid, people by their name.
        reason = msgspec.structs.replace(reason, workflow=run.name)
    return Wait(reason, found.expected_start)


def _own_reason(run: Run, node: Node, holders: Holders) -> Reason | None:
    """What a node that is not in line says about itself; None where it does not wait."""
    status = node.synchronization_status
    if status is not None and status.waiting:
        return LockHeld(status.waiting, tuple(holders.get(status.waiting, ())))
    if awaits_release(run, node):
        return Paused(None, run.name)
    if node.ours.held:
        return ParallelismReached(run.spec.parallelism)
    if node.type is NodeType.SUSPEND:
        return Paused(node.ours.wake_at, run.name)
    if node.type is NodeType.RETRY and node.ours.wake_at is not None:
        return BackingOff(node.ours.wake_at)
    if node.type in (NodeType.POD, NodeType.JOB) and node.phase is Phase.PENDING:
        return Starting() if node.ours.admitted else None
    return None


# --- what has no node yet -------------------------------------------------------------------


def _to_come(run: Run, node: Node) -> Iterator[tuple[str, Reason]]:
    """Tasks and steps below a steps or DAG node that have not begun."""
    if node.type not in (NodeType.DAG, NodeType.STEPS) or node.phase is not Phase.RUNNING:
        return
    template = _template(run, node)
    if template is None:
        return
    if template.dag is not None:
        limits = (template.parallelism, run.spec.parallelism)
        most = min((limit for limit in limits if limit is not None), default=None)
        yield from _tasks_to_come(run, node, template.dag, most)
    else:
        yield from _steps_to_come(run, node, template)


def _template(run: Run, node: Node) -> model.Template | None:
    scope, _, owner = node.template_scope.partition("/")
    ref = node.template_ref
    if ref is None and scope in ("namespaced", "cluster"):
        ref = model.TemplateRef(
            name=owner, template=node.template_name, cluster_scope=scope == "cluster"
        )
    holder = model.DAGTask(name="", template=node.template_name, template_ref=ref)
    try:
        return run.templates.find(run.templates.local, holder).template
    except UnresolvedError:
        return None  # An inline template: what it holds is not kept by name.


def _tasks_to_come(
    run: Run, node: Node, dag: model.DAGTemplate, most: int | None
) -> Iterator[tuple[str, Reason]]:
    needed = {name: needs for name, (needs, _) in rules_of(dag).items()}
    for name in _wanted(needed, dag.target.split()):
        full = f"{node.name}.{name}"
        if run.node_named(full) is not None:
            continue
        open_ones = [each for each in needed[name] if not _fulfilled(run, f"{node.name}.{each}")]
        if open_ones:
            yield full, DependencyPending(tuple(open_ones))
        elif run.suspended:
            yield full, WorkflowSuspended(run.name)
        else:
            yield full, ParallelismReached(most)


def _wanted(needed: Mapping[str, Iterable[str]], targets: Sequence[str]) -> list[str]:
    """The tasks that the targets need, in the order of the file; no targets: all."""
    if not targets:
        return list(needed)
    found: set[str] = set()
    stack = list(targets)
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack += needed.get(name, ())
    return [name for name in needed if name in found]


def _fulfilled(run: Run, name: str) -> bool:
    node = run.node_named(name)
    return node is not None and node.fulfilled


def _steps_to_come(run: Run, node: Node, template: model.Template) -> Iterator[tuple[str, Reason]]:
    for index, group in enumerate(template.steps or ()):
        if run.node_named(f"{node.name}[{index}]") is None:
            before = (f"[{index - 1}]",) if index else ()
            reason: Reason = DependencyPending(before)
            if run.suspended and all(_is_over(run, node, each) for each in before):
                reason = WorkflowSuspended(run.name)
            for step in group:
                yield f"{node.name}[{index}].{step.name}", reason


def _is_over(run: Run, node: Node, group: str) -> bool:
    """Whether all steps of a group are over; the group itself is not while the run is suspended."""
    name = f"{node.name}{group}"
    if run.node_named(name) is None:
        return False
    return all(
        each.fulfilled
        for each in run.nodes.values()
        if each.boundary_id == node.id and each.name.startswith(f"{name}.")
    )


# --- where the facts come from --------------------------------------------------------------


def lock_holders(locks: LockTable, runs: Mapping[str, Run]) -> dict[str, tuple[str, ...]]:
    """Name who has each lock: the workflow, or the node of it."""
    found: dict[str, tuple[str, ...]] = {}
    for key, _, holders in locks.holders():
        found[key] = tuple(_holder(runs.get(uid), uid, node) for uid, node in holders)
    return found


def _holder(run: Run | None, uid: str, node: str) -> str:
    if run is None:
        return uid
    known = run.nodes.get(node)
    return known.name if known is not None else run.name


def stored_run(store: Store, row: WorkflowRow) -> Run:
    """Make the run of a stored workflow to look at, with its nodes as they are on record."""
    from tiphys.control.recover import load  # noqa: PLC0415 - not for the runs of a host

    run = load(row)
    for each in store.nodes(row.uid):
        node = decode_node(each.body)
        run.nodes[node.id] = node
        run.ids[node.name] = node.id
    return run
