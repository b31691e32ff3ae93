"""The scheduler as the loop sees it: runs and nodes in, a plan out.

Joins the gate, the scheduler, what was learnt of durations and what is foreseen of each run. Like
these it has no clock and does nothing itself: the loop performs the plan and puts what was learnt
on record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from tiphys.control.foresight import Foresight
from tiphys.control.placing import choice_of, facts_of, foresight_of, observe_node
from tiphys.control.task import attempt_id
from tiphys.engine.command import StartNode
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.scheduling import Plan, QueueTree, Resources, Scheduler, WorkId
from tiphys.scheduling.estimate import KIND, Memory, key_of
from tiphys.scheduling.gate import Gate
from tiphys.scheduling.placement import Facts
from tiphys.scheduling.reason import GuaranteeOfOthers, NoCapacity, QueueLimit, text
from tiphys.scheduling.resource import NOTHING
from tiphys.store import ObjectRow

_NO_ROOM = (NoCapacity, QueueLimit, GuaranteeOfOthers)


class Planning:
    """What waits, what runs, and what is expected of it."""

    def __init__(
        self, capacity: Resources, tree: QueueTree | None = None, stored: Iterable[ObjectRow] = ()
    ) -> None:
        self.scheduler = Scheduler(capacity, tree)
        self.memory = remembered(stored)
        self._gate = Gate(self.scheduler)
        self._foreseen: dict[str, Foresight] = {}
        self._paused: set[str] = set()
        self._daemons: dict[str, tuple[Run, str]] = {}
        """Attempts of daemons, with their runs and nodes."""
        self.notes: list[str] = []
        """What people should know of the last plan."""

    # -- nodes -------------------------------------------------------------------------------

    def submit(self, run: Run, command: StartNode, now: float) -> tuple[str, tuple[str, ...]]:
        """Let a node wait for its turn; say why it never can ("" where it can), and warn.

        Raises InvalidInputError where the run's metadata or the node's requests make no sense.
        """
        warnings = self._open(run)
        if run.uid in self._paused:
            self._paused.discard(run.uid)
            self._gate.resumed(run.uid)
        facts = self._facts(run, command, now)
        refusal, cut = self._gate.submit(facts)
        if refusal is None:
            self._note_daemon(run, command)
        # An inline template has no name, and those of a Job's pods are made.
        name = command.template.name or run.nodes[command.node].display_name
        warnings += tuple(f"{name} {each}: cut down to fit" for each in cut)
        if facts.queue:
            warnings += self._elsewhere(run, facts.queue)
        return "" if refusal is None else text(refusal), warnings

    def adopt(self, run: Run, command: StartNode, now: float) -> None:
        """Account a node as running: an earlier process let it in."""
        self._open(run)
        self._note_daemon(run, command)
        self._gate.adopt(self._facts(run, command, now), now)

    def withdraw(self, attempt: str) -> None:
        """Forget an attempt that waits."""
        self._daemons.pop(attempt, None)
        self._gate.withdraw(WorkId(attempt))

    def finished(self, attempt: str) -> None:
        """An attempt has ended, or was stopped."""
        self._daemons.pop(attempt, None)
        self.scheduler.finished(WorkId(attempt))

    def _open(self, run: Run) -> tuple[str, ...]:
        if run.uid in self._gate:
            return ()
        # A queue that does not exist is told by the first node that is submitted to it.
        choice = choice_of(run)
        _, cut = self._gate.open(run.uid, choice, run.created_at)
        self._foreseen[run.uid] = foresight_of(run, self.memory)
        found = tuple(f"{run.name} {each}: cut down to fit" for each in cut)
        return (*self._elsewhere(run, choice.queue), *found)

    def _facts(self, run: Run, command: StartNode, now: float) -> Facts:
        return facts_of(run, command, now, self.memory, self._foreseen[run.uid])

    def _elsewhere(self, run: Run, queue: str) -> tuple[str, ...]:
        """Warn of a queue that has no meaning here."""
        found = self._gate.queue_for(queue)
        if found == queue:
            return ()
        return (f"no queues are set up here: {run.name} waits in {found}, not {queue}",)

    # -- runs --------------------------------------------------------------------------------

    def idle(self, run: Run, now: float) -> None:
        """Nothing of the run waits or runs: it is over, or pauses."""
        if run.ended:
            self._gate.ended(run.uid)
            self._paused.discard(run.uid)
            self._foreseen.pop(run.uid, None)
        elif run.uid in self._gate and run.uid not in self._paused:
            self._paused.add(run.uid)
            self._gate.paused(run.uid, now)

    def expected_seconds(self, run: Run) -> float | None:
        """How long the whole run will take; None where parts of it never ran."""
        known = self._foreseen.get(run.uid)
        seconds = None if known is None else known.seconds()
        # What was unknown when the run began may have been learnt since, of its own nodes too.
        return foresight_of(run, self.memory).seconds() if seconds is None else seconds

    def explain(
        self, run: Run, now: float, holders: Mapping[str, Sequence[str]] | None = None
    ) -> list[dict[str, Any]]:
        """Why nodes of the run wait (``control.explain``)."""
        from tiphys.control.explain import explain_run  # noqa: PLC0415 - only for who asks

        return explain_run(run, self.scheduler, now, holders=holders)

    # -- the plan ----------------------------------------------------------------------------

    def plan(self, now: float) -> Plan:
        """Decide what starts and stops now."""
        self._gate.advance(now)
        self._gate.flush()
        self.notes.clear()
        plan = self.scheduler.plan(now)
        if plan or not self._daemons or not self._let_through(now):
            return plan
        return self.scheduler.plan(now)

    def _let_through(self, now: float) -> bool:
        """Let a work go uncounted to which its run's daemons leave no room; tell if there is one.

        They end only after it, and nothing else runs that could make room: it would wait for ever.
        """
        running = self.scheduler.running()
        if not running or not all(map(self._serves, running)):
            return False
        runs = {self._daemons[each][0].uid for each in running}
        for work in self.scheduler.waiting_works():
            if work.workflow not in runs or work.group:
                continue
            wait = self.scheduler.reason(work.id, now)
            if wait is not None and isinstance(wait.reason, _NO_ROOM):
                self.notes.append(f"{work.role} needs more than daemons leave: it runs beside them")
                self.scheduler.withdraw(work.id)
                self.scheduler.submit(replace(work, requests=NOTHING))
                return True
        return False

    def _serves(self, attempt: str) -> bool:
        run, node = self._daemons.get(attempt, (None, ""))
        return run is not None and bool(run.nodes[node].daemoned)

    def _note_daemon(self, run: Run, command: StartNode) -> None:
        if command.template.daemon:
            self._daemons[attempt_id(run, command.attempt)] = (run, command.node)

    def wake_at(self) -> float | None:
        """When a plan may differ without any event."""
        return self._gate.wake_at()

    def queues_changed(self, tree: QueueTree) -> None:
        """Follow a change of queues; plan again afterwards."""
        self.scheduler.queues_changed(tree)
        self._gate.queues_changed()

    # -- what is learnt ----------------------------------------------------------------------

    def observe(self, run: Run, node: Node) -> None:
        """Learn from a node that has ended."""
        observe_node(run, node, self.memory, self._foreseen.get(run.uid))

    def learnt(self, now: float, *, last: bool = False) -> list[ObjectRow]:
        """Give what is to be put on record, now and then; ``last``: all that is left.

        A row without a body is one to forget.
        """
        if not last and not self.memory.due(now):
            return []
        changed = self.memory.take_changed(now)
        gone = [(key, b"") for key in self.memory.take_forgotten()]
        return [_row(key, body, now) for key, body in (*changed, *gone)]


def remembered(stored: Iterable[ObjectRow]) -> Memory:
    """Give what was learnt before, from the rows that hold it."""
    rows = sorted((row for row in stored if row.kind == KIND), key=lambda row: row.at)
    return Memory((key_of(row.name, project=row.namespace), row.body) for row in rows)


def _row(key: str, body: bytes, now: float) -> ObjectRow:
    project, colon, name = key.partition(":")
    if not colon:
        project, name = "", key
    return ObjectRow(kind=KIND, namespace=project, name=name, body=body, at=now)
