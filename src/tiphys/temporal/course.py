"""How one run goes, as told to Temporal by heartbeats and to the log by records.

A record for every change of state: of the run, and of each task in its queue (a pod in its
PodGroup). Fields are for machines: ids of both sides are in each of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from tiphys.client.model import Brief, Update
from tiphys.temporal.follow import StartLateError, is_task
from tiphys.temporal.payload import Placement, RunResult

log = logging.getLogger("tiphys.temporal")
_HEARTBEAT_PART = 3
"""A heartbeat is sent so many times within the time in which Temporal expects one."""
_QUIET = timedelta(seconds=30)
"""Where Temporal expects none, one is sent so often: its answer is how a cancellation comes."""
_LEAST_PAUSE = timedelta(seconds=1)
_LONGEST_PAUSE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Memory:
    """What the attempts before this one have left for it."""

    generation: int = 0
    """Which run of the work is due: another one only after the last was given up."""
    workflow: str = ""
    """The run of that generation, where it is known."""

    @classmethod
    def of(cls, details: Sequence[Any]) -> Memory:
        """Read the last heartbeat."""
        found = details[0] if details else None
        if not isinstance(found, dict):
            return cls()
        return cls(int(found.get("generation", 0)), str(found.get("workflow_id", "")))


@dataclass(slots=True)
class Course:
    """One run as this attempt sees it."""

    workflow: str
    generation: int
    placement: Placement
    status: str = ""
    progress: int = 0
    _nodes: dict[str, str] = field(default_factory=dict)

    def changed(self, update: Update) -> None:
        """Note a change; tell it where it matters."""
        if update.status != self.status:
            self._say("run changed", was=self.status, state=update.status, why=update.message)
        for node in update.nodes:
            self._node_changed(node)
        self.status, self.progress = update.status, update.progress
        activity.heartbeat(self.details())

    def _node_changed(self, node: Brief) -> None:
        before = self._nodes.get(node.id, "")
        state = "Queued" if node.phase == "Pending" else node.phase
        if not is_task(node.type) or before == state:
            return
        self._nodes[node.id] = state
        event = "task preempted" if (before, state) == ("Running", "Queued") else "task changed"
        why = node.message or node.waiting_for or ""
        self._say(event, node=node.id, name=node.display_name, was=before, state=state, why=why)

    def _say(self, event: str, **fields: str) -> None:
        info = activity.info()
        ids = {
            "tiphys_workflow": self.workflow,
            "temporal_workflow": info.workflow_id,
            "temporal_run": info.workflow_run_id,
            "temporal_activity": info.activity_id,
            "attempt": info.attempt,
            "queue": self.placement.queue,
        }
        log.info(event, extra={"fields": {"event": event.replace(" ", "_"), **ids, **fields}})

    def details(self) -> dict[str, Any]:
        """What a heartbeat carries."""
        return {
            "workflow_id": self.workflow,
            "generation": self.generation,
            "status": self.status,
            "progress": self.progress,
        }

    def give_up(self) -> None:
        """Let the next attempt begin a run of its own."""
        self.workflow, self.status, self.progress = "", "", 0
        self.generation += 1
        activity.heartbeat(self.details())

    async def beat(self, expected: timedelta | None) -> None:
        """Tell Temporal now and then that somebody is here; nothing need change for it."""
        pause = expected / _HEARTBEAT_PART if expected else _QUIET
        while True:
            activity.heartbeat(self.details())
            await asyncio.sleep(pause.total_seconds())

    def late(self, error: StartLateError, attempt: int) -> ApplicationError:
        """Give what is raised where the wait was too long: it is tried again later, anew.

        The first pause is as long as the wait was; each further one is twice as long.
        """
        self._say("start late", why=str(error))
        self.give_up()
        first = max(_LEAST_PAUSE, timedelta(seconds=self.placement.wait_seconds))
        pause = min(_LONGEST_PAUSE, first * 2 ** min(attempt - 1, 10))
        return ApplicationError(str(error), type="StartLate", next_retry_delay=pause)

    def failed(self, result: RunResult) -> ApplicationError:
        """Give what is raised where the work failed; who may try again is said by the placement."""
        self.give_up()
        return ApplicationError(
            f"{result.name} {result.phase}: {result.message}",
            result,
            type=f"Workflow{result.phase}",
            non_retryable=not self.placement.retry_failed,
        )


def measure(result: RunResult, queue: str) -> None:
    """Give Temporal's own metrics what the work was like."""
    meter = activity.metric_meter().with_additional_attributes({"queue": queue or "default"})
    meter.create_histogram_float(
        "tiphys_activity_wait", "From submission to the first start.", "s"
    ).record(result.waited_seconds)
    meter.create_histogram_float(
        "tiphys_activity_run", "From the first start to the end.", "s"
    ).record(result.ran_seconds)
    meter.create_counter("tiphys_activity_preemptions", "Tasks that had to make room.").add(
        result.preemptions
    )
