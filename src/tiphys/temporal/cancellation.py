"""Whether work is to be stopped when Temporal cancels an activity: not every reason is one.

A worker that shuts down, an activity that is paused or reset, an attempt that fell silent and has
been replaced: in all of these another attempt follows the same run, which must go on.
"""

from __future__ import annotations

import logging

from temporalio import activity
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

_log = logging.getLogger("tiphys.temporal")


async def is_abandoned() -> bool:
    """Tell whether nobody will ask for the work any more, so that it has to stop."""
    details = activity.cancellation_details()
    if details is None or details.worker_shutdown or details.paused or details.reset:
        return False
    if details.cancel_requested:
        return True
    # Not found, or timed out: the workflow has gone, or the activity has been given up, or another
    # attempt of it is under way. Only Temporal knows.
    return not await _is_pending()


async def _is_pending() -> bool:
    info = activity.info()
    handle = activity.client().get_workflow_handle(
        info.workflow_id or "", run_id=info.workflow_run_id
    )
    try:
        found = await handle.describe()
    except RPCError as error:
        # Where it cannot be asked, work is left alone: stopping what somebody waits for is worse.
        _log.warning("cannot tell whether %s is still wanted: %s", info.activity_id, error)
        return error.status is not RPCStatusCode.NOT_FOUND
    if found.status is not WorkflowExecutionStatus.RUNNING:
        return False
    pending = found.raw_description.pending_activities
    return any(each.activity_id == info.activity_id for each in pending)
