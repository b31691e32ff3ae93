"""The life of a whole run: it begins, events happen to it, and each finds its row in a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from tiphys.engine import event as ev
from tiphys.engine import execute, leaf, locks
from tiphys.engine.command import AcquireLocks, Command, WakeAt
from tiphys.engine.ending import advance_end, end_active, execute_root, finish, set_run_phase
from tiphys.engine.globals import set_globals
from tiphys.engine.node import ACTIVE, Node, NodeType, Phase
from tiphys.engine.resolve import Templates, UnresolvedError
from tiphys.engine.run import Run, drain
from tiphys.spec.repository import config_map_name, entry_key

if TYPE_CHECKING:
    from tiphys.spec import model
    from tiphys.spec.library import Library


class Effects(msgspec.Struct, frozen=True):
    """What one or more steps changed, and what they want done."""

    nodes: tuple[Node, ...]
    commands: tuple[Command, ...]
    header: bool
    """Whether the run's own fields changed."""
    removed: tuple[str, ...] = ()


def begin(
    workflow: model.Workflow,
    spec: model.WorkflowSpec,
    library: Library,
    *,
    uid: str,
    created_at: float,
) -> Run:
    """Make the run of a workflow; nothing happens before ``RunStarted``.

    ``spec`` is what really runs: the workflow's own with its template merged in.
    """
    meta = workflow.metadata
    namespace = meta.namespace or library.namespace
    return Run(
        name=meta.name,
        namespace=namespace,
        uid=uid,
        workflow=workflow,
        spec=spec,
        library=library,
        created_at=created_at,
        templates=Templates(meta.name, namespace, spec, library),
        execute=execute.execute,
        dispatch=execute.dispatch,
        labels=dict(meta.labels),
        annotations=dict(meta.annotations),
        suspended=bool(spec.suspend),
    )


def take_effects(run: Run) -> Effects:
    """Give what has changed since the last call, and forget it."""
    effects = Effects(
        tuple(run.changed.values()), tuple(run.commands), run.header_changed, tuple(run.removed)
    )
    run.changed, run.commands, run.removed = {}, [], []
    run.header_changed = False
    return effects


def step(run: Run, event: ev.Event) -> None:
    """Let ``event`` happen to ``run``. News for a node that has ended is no news."""
    run.now = max(run.now, event.at)
    if run.ended:
        return
    key = _subject(event)
    if key is None:
        RUN_EVENTS[type(event)](run, event)
    else:
        node = run.nodes.get(key)
        if node is None or node.ended or _is_stale(node, event):
            return
        NODE_EVENTS[type(event)](run, node, event)
    if not run.suspended:
        drain(run)


def _subject(event: ev.Event) -> str | None:
    """Give the id of the node that the event is about, None for the whole run."""
    found = getattr(event, "node", None) or getattr(event, "holder", None)
    return found or None


def _is_stale(node: Node, event: ev.Event) -> bool:
    """Whether it is news of an attempt that was given up."""
    attempt = getattr(event, "attempt", None)
    return attempt is not None and attempt != node.ours.attempt


# --- events of the run ----------------------------------------------------------------------


def _start(run: Run, _: ev.RunStarted) -> None:
    if run.phase == "Running":
        return
    try:
        set_globals(run)
    except UnresolvedError as error:
        finish(run, "Failed", f"failed to set global parameters: {error}")
        return
    problem = _missing_repository(run)
    if problem:
        finish(run, "Error", problem)
        return
    wanted = run.spec.synchronization
    if wanted is None:
        proceed(run)
        return
    names = locks.lock_names(run, wanted)
    if isinstance(names, str):
        finish(run, "Failed", f"Failed to acquire the synchronization lock. {names}")
        return
    run.emit(AcquireLocks(holder="", locks=names, priority=run.spec.priority or 0))


def _missing_repository(run: Run) -> str:
    """Tell what is wrong with the artifact repository that the workflow names."""
    ref = run.spec.artifact_repository_ref
    if ref is None:
        return ""
    name = config_map_name(ref)
    found = run.library.config_maps.get((run.namespace, name))
    if found is None:
        return f'failed to resolve artifact repository: there is no ConfigMap "{name}"'
    key = entry_key(ref, found.metadata.annotations)
    if key not in found.data:
        return f'failed to resolve artifact repository: ConfigMap "{name}" has no key "{key}"'
    return ""


def proceed(run: Run) -> None:
    """Nothing is in the way: execute the entrypoint."""
    if run.phase == "Running":
        return
    set_run_phase(run, "Running", "")
    watch_deadline(run)
    run.globals["workflow.status"] = "Running"
    if not run.suspended:
        _take_up_root(run)


def _take_up_root(run: Run) -> None:
    execute_root(run)
    root = run.node_named(run.name)
    if root is not None and root.ended:
        # The run was reopened for its exit handler alone: nobody else will say that the root ended.
        advance_end(run)


def watch_deadline(run: Run) -> None:
    """Have the run woken when it is out of time."""
    deadline = leaf.run_deadline(run)
    if deadline is not None:
        run.emit(WakeAt(at=deadline))


def _check_deadline(run: Run, _: ev.Woken) -> None:
    deadline = leaf.run_deadline(run)
    if deadline is not None and run.now >= deadline:
        end_active(run, "Step exceeded its deadline", keep_exit=True)


def _stop(run: Run, event: ev.RunStopped) -> None:
    run.shutdown, run.suspended = event.strategy, False
    run.header_changed = True
    run.dirty.update(run.parked)  # The pods of exit handlers that were held go on.
    if run.node_named(run.name) is None:
        finish(run, "Failed", f"Stopped with strategy '{event.strategy}'")
        return
    keep = event.strategy is ev.Shutdown.STOP
    message = event.message or f"workflow shutdown with strategy:  {event.strategy}"
    stopped = event.message or f"Stopped with strategy '{event.strategy}'"
    end_active(run, message, keep_exit=keep, other=stopped)


def _suspend(run: Run, _: ev.RunSuspended) -> None:
    run.suspended, run.header_changed = True, True


def _resume(run: Run, event: ev.RunResumed) -> None:
    if run.suspended and not event.nodes:
        run.suspended, run.header_changed = False, True
        run.dirty.update(run.parked)
        if run.node_id(run.name) not in run.waiters and run.phase == "Running":
            _take_up_root(run)
    elif run.spec.suspend_by_steps and (event.nodes or event.pauses):
        leaf.release(run, event.nodes)
    for node_id in event.nodes or (_pauses_of(run) if event.pauses else ()):
        node = run.nodes.get(node_id)
        if node is not None and node.type is NodeType.SUSPEND and node.phase in ACTIVE:
            leaf.resume(run, node, event)


def _pauses_of(run: Run) -> tuple[str, ...]:
    return tuple(each for each in run.leaves if run.nodes[each].type is NodeType.SUSPEND)


def _locks_awaited(run: Run, event: ev.LocksAwaited) -> None:
    set_run_phase(run, "Pending", event.message)


def _locks_refused(run: Run, event: ev.LocksRefused) -> None:
    finish(run, "Failed", f"Failed to acquire the synchronization lock. {event.message}")


RUN_EVENTS: Mapping[type, Callable[[Run, Any], None]] = {
    ev.RunStarted: _start,
    ev.RunStopped: _stop,
    ev.RunSuspended: _suspend,
    ev.RunResumed: _resume,
    ev.Woken: _check_deadline,
    ev.LocksGranted: lambda run, _: proceed(run),
    ev.LocksAwaited: _locks_awaited,
    ev.LocksRefused: _locks_refused,
}


# --- events of nodes ------------------------------------------------------------------------


def _progressed(run: Run, node: Node, event: ev.NodeProgressed) -> None:
    node.progress = event.progress
    run.touch(node)


def _woken(run: Run, node: Node, _: ev.Woken) -> None:
    if node.type is NodeType.RETRY and node.phase is Phase.RUNNING:
        from tiphys.engine import retry  # noqa: PLC0415 - as in `execute`

        retry.woken(run, node)
    elif node.type is NodeType.JOB and node.id not in run.leaves:
        from tiphys.engine import job  # noqa: PLC0415 - few runs have one

        job.woken(run, node)
    else:
        leaf.woken(run, node)


def _node_lock_awaited(run: Run, node: Node, event: ev.LocksAwaited) -> None:
    run.wait_for_lock(node, event.lock, event.message)


def _memo_read(run: Run, node: Node, event: ev.MemoRead) -> None:
    execute.memo_read(run, node, event.outputs, hit=event.hit)


def _job_seen(run: Run, node: Node, event: ev.JobSeen) -> None:
    from tiphys.engine import jobleaf  # noqa: PLC0415 - few runs have one

    jobleaf.seen(run, node, event)


NODE_EVENTS: Mapping[type, Callable[[Run, Node, Any], None]] = {
    ev.NodeStarted: leaf.started,
    ev.NodeReady: leaf.ready,
    ev.NodeProgressed: _progressed,
    ev.NodeEnded: leaf.ended,
    ev.NodePreempted: lambda run, node, event: leaf.preempted(run, node, event.message),
    ev.JobSeen: _job_seen,
    ev.Woken: _woken,
    ev.LocksGranted: lambda run, node, _: execute.locks_granted(run, node),
    ev.LocksAwaited: _node_lock_awaited,
    ev.LocksRefused: lambda run, node, event: execute.fail_gate(run, node, event.message),
    ev.MemoRead: _memo_read,
}
