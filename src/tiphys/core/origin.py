"""Where a workflow came from, where that was another orchestrator: annotations with its ids.

Whoever submits for Temporal writes them; records of the server's log carry them, so that what
happens to gangs and queues is found by the ids of those who wait for it. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

WORKFLOW = "temporal.tiphys.dev/workflow"
RUN = "temporal.tiphys.dev/run"
ACTIVITY = "temporal.tiphys.dev/activity"
_FIELDS = {
    "temporal_workflow": WORKFLOW,
    "temporal_run": RUN,
    "temporal_activity": ACTIVITY,
}


def origin_of(annotations: Mapping[str, str]) -> dict[str, str]:
    """Give the fields of a log record that name the origin; none for what was submitted here."""
    return {field: annotations[name] for field, name in _FIELDS.items() if name in annotations}
