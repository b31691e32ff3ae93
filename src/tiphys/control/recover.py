"""Taking up what an earlier process left unfinished.

A row that cannot be read puts its own workflow aside (quarantine) and never stops the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tiphys.control.abroad import is_abroad
from tiphys.control.submit import thaw
from tiphys.engine import event as ev
from tiphys.engine.again import reopen
from tiphys.engine.event import Shutdown
from tiphys.engine.lifecycle import begin
from tiphys.engine.restore import restore
from tiphys.engine.run import Run
from tiphys.errors import StoreError, StoreUnavailableError, TiphysError
from tiphys.spec import model
from tiphys.wire.node import decode_node

if TYPE_CHECKING:
    from tiphys.control.loop import Control
    from tiphys.control.record import Ledger
    from tiphys.store import Store, WorkflowRow

_decode_workflow = msgspec.json.Decoder(model.Workflow).decode
_decode_spec = msgspec.json.Decoder(model.WorkflowSpec).decode
_decode_outputs = msgspec.json.Decoder(model.Outputs).decode


def revive(store: Store, row: WorkflowRow, control: Control, ledger: Ledger) -> Run | None:
    """Give the loop a stored workflow to go on with; None where it cannot be read."""
    if row.quarantine:
        return None
    try:
        run = load(row)
        nodes = [decode_node(each.body) for each in store.nodes(row.uid)]
        control.add(run)
        if is_abroad(run):
            run.nodes = {node.id: node for node in nodes}
            control.send(run.uid, ev.RunStarted(at=control.now()))
            _repeat(run, control)
        elif run.started_at is None:
            if nodes:  # It is being retried, and had not got its locks yet.
                reopen(run, nodes, now=control.now(), reset=())
            control.send(run.uid, ev.RunStarted(at=control.now()))
        else:
            restore(run, nodes, now=control.now())
            control.take(run)
    except StoreUnavailableError:
        raise  # Nothing is wrong with the workflow.
    except (msgspec.MsgspecError, TiphysError, KeyError, ValueError, AssertionError) as error:
        control.drop(row.uid)
        ledger.quarantine(row, f"{type(error).__name__}: {error}"[:500])
        return None
    return run


def _repeat(run: Run, control: Control) -> None:
    """Ask again of another engine what people asked for: it may not have heard of it."""
    if run.suspended:
        control.send(run.uid, ev.RunSuspended(at=control.now()))
    if run.shutdown:
        control.send(run.uid, ev.RunStopped(at=control.now(), strategy=run.shutdown))


def load(row: WorkflowRow) -> Run:
    """Make the run of a stored workflow, its nodes aside."""
    workflow = _decode_workflow(row.manifest)
    meta = workflow.metadata
    if (meta.name, meta.namespace, workflow.kind) != (row.name, row.namespace, "Workflow"):
        raise StoreError(f"the manifest of workflow {row.name} is not its own")
    run = begin(
        workflow,
        _decode_spec(row.spec),
        thaw(row.library),
        uid=row.uid,
        created_at=row.created_at,
    )
    run.phase, run.message = row.phase, row.message
    run.started_at, run.finished_at = row.started_at, row.finished_at
    run.shutdown, run.suspended = Shutdown(row.shutdown), row.suspended
    run.starts = row.starts
    run.labels, run.annotations = dict(row.labels), dict(row.annotations)
    if row.outputs:
        run.outputs = _decode_outputs(row.outputs)
    return run
