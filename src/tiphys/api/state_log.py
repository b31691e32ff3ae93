"""Every change of state in queues and gangs, one log record each.

A node is queued, admitted, preempted, ended; a gang waits and starts; a queue is made, changed,
opened, closed, removed; a workflow changes its phase. Seen after it is on record. The fields are
for machines (``log.format: json``); with nobody to read them (the logger is off) this is not even
attached to the loop.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from tiphys.core.origin import origin_of
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.ports import GANG_GONE, GangChanged
from tiphys.scheduling import Scheduler
from tiphys.scheduling.admission import queue_of
from tiphys.scheduling.plan import Plan
from tiphys.scheduling.queue import Queue

log = logging.getLogger("tiphys.state")


def wanted() -> bool:
    """Tell whether anybody reads it."""
    return log.isEnabledFor(logging.INFO)


def _say(event: str, **fields: Any) -> None:
    log.info(event, extra={"fields": {"event": event.replace(" ", "_"), **fields}})


class StateLog:
    """A watcher and an observer of the loop that only writes."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._phases: dict[str, str] = {}
        self._nodes: dict[str, dict[str, str]] = {}
        self._gangs: frozenset[str] = frozenset()
        self._ganged: dict[str, dict[str, str]] = {}
        """Whose the gangs of Volcano are: one may outlive its run."""
        self._tree = scheduler.queues

    # --- as a watcher -------------------------------------------------------------------------

    def workflow(self, run: Run) -> None:
        """A run began, or its own fields changed."""
        phase = run.phase or "Pending"
        if self._phases.get(run.uid) != phase:
            self._phases[run.uid] = phase
            _say("workflow changed", **_named(run), phase=phase)
        if run.ended:
            self._phases.pop(run.uid, None)
            self._nodes.pop(run.uid, None)

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        """Nodes changed."""
        known = self._nodes.setdefault(run.uid, {})
        for node in nodes:
            state = _state(node)
            if state and known.get(node.id) != state:
                known[node.id] = state
                _say(f"node {state}", **_named(run), node=node.id, name=node.name)
        if run.ended:
            self._nodes.pop(run.uid, None)

    def note(self, text: str) -> None:
        """Leave notes to others."""

    # --- as an observer -----------------------------------------------------------------------

    def planned(self, plan: Plan, now: float) -> None:
        """Tell what must make room."""
        del now
        for each in plan.preempts:
            work = self._scheduler.work(each.victim)
            queue = work.queue if work else ""
            why = {"beneficiary": each.beneficiary, "rule": str(each.rule)}
            _say("node preempted", attempt=each.victim, queue=queue, **why)

    def ganged(self, change: GangChanged, run: Run | None) -> None:
        """Tell what Volcano says of a gang."""
        known = self._ganged.pop(change.gang, {"workflow_id": change.workflow_uid})
        named = _named(run) if run is not None else known
        if change.phase != GANG_GONE:
            self._ganged[change.gang] = named
        fields = {**named, "queue": change.queue, "gang": change.gang, "size": str(change.size)}
        _say("gang changed", **fields, was=change.was, phase=change.phase, why=change.why)

    def turned(self, commit: float, turn: float) -> None:
        """Look for gangs and queues that are not as they were."""
        del commit, turn
        gangs = self._scheduler.waiting_gangs()
        for name in sorted(gangs - self._gangs):
            _say("gang waiting", gang=name)
        for name in sorted(self._gangs - gangs):
            _say("gang started or gone", gang=name)
        self._gangs = gangs
        tree = self._scheduler.queues
        if tree is not self._tree:
            _tell_queues(self._tree.queues, tree.queues)
            self._tree = tree


def _named(run: Run) -> dict[str, str]:
    return {
        "workflow": run.name,
        "workflow_id": run.uid,
        "project": run.namespace,
        "queue": queue_of(run.labels, run.annotations),
        **origin_of(run.annotations),
    }


def _state(node: Node) -> str:
    """Give where a node stands with its queue; "" for such as never queue."""
    if not node.ours.attempt:
        return ""
    if node.ended:
        return "ended"
    return "admitted" if node.ours.admitted else "queued"


def _tell_queues(before: Mapping[str, Queue], after: Mapping[str, Queue]) -> None:
    for name, queue in after.items():
        known = before.get(name)
        if known is None:
            _say("queue made", queue=name, state=str(queue.state))
        elif known.state != queue.state:
            _say("queue state changed", queue=name, state=str(queue.state))
        elif known != queue:
            _say("queue changed", queue=name)
    for name in before.keys() - after.keys():
        _say("queue removed", queue=name)
