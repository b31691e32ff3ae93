"""Taking a run up again from what was stored: the same code that starts nodes finds them there.

Commands for whatever is under way are emitted again; performing a command twice is safe.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tiphys.engine.command import AcquireLocks
from tiphys.engine.ending import advance_end, execute_root, finish
from tiphys.engine.event import RunStarted
from tiphys.engine.globals import set_globals
from tiphys.engine.layer import layer_of
from tiphys.engine.lifecycle import step, watch_deadline
from tiphys.engine.locks import lock_names
from tiphys.engine.node import Node
from tiphys.engine.resolve import UnresolvedError
from tiphys.engine.run import drain, put_node
from tiphys.engine.shield import shield

if TYPE_CHECKING:
    from tiphys.engine.run import Run


def restore(run: Run, nodes: Iterable[Node], *, now: float) -> None:
    """Fill ``run`` (fresh from ``begin``, its own fields set) with its nodes, and go on from there.

    ``nodes`` come in the order in which they were made.
    """
    run.now = now
    for node in nodes:
        put_node(run, node)
        for parent in node.ours.parents:
            run.children.setdefault(parent, []).append(node.id)
        if node.daemoned and not node.ended:
            run.daemons.setdefault(node.boundary_id, set()).add(node.id)
    if run.spec.suspend_by_steps:
        begun = (each for each in run.nodes.values() if each.ours.attempt)
        run.released.update(layer_of(run, node) for node in begun)
    run.changed.clear()
    if run.ended:
        return
    if run.started_at is not None:
        _go_on(run)
    elif run.phase == "Pending":  # It waits for its locks: ask for them again.
        step(run, RunStarted(at=now))


def _go_on(run: Run) -> None:
    if not _restore_globals(run):
        return
    watch_deadline(run)
    _hold_locks(run)
    if run.suspended and not run.nodes:
        return
    execute_root(run)
    if not run.ended:
        advance_end(run)
    # Also while it is suspended: what runs is attended to, and nothing new is started.
    drain(run)


def _hold_locks(run: Run) -> None:
    """A run that has begun holds its own locks."""
    wanted = run.spec.synchronization
    names = lock_names(run, wanted) if wanted is not None and run.phase == "Running" else ()
    if names and not isinstance(names, str):
        run.emit(AcquireLocks(holder="", locks=names, priority=run.spec.priority or 0, held=True))


def _restore_globals(run: Run) -> bool:
    labels, annotations = dict(run.labels), dict(run.annotations)
    try:
        set_globals(run)
    except UnresolvedError as error:
        finish(run, "Error", f"failed to set global parameters: {error}")
        return False
    run.labels, run.annotations = labels, annotations
    recall_outputs(run)
    return True


def recall_outputs(run: Run) -> None:
    """Make the run's own outputs known to its templates."""
    for parameter in run.outputs.parameters if run.outputs else ():
        if parameter.value is not None:
            run.globals[f"workflow.outputs.parameters.{parameter.name}"] = shield(parameter.value)
