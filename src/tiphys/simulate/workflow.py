"""Whole workflows on a virtual clock: the real engine and the real scheduler, imagined leaves.

Each leaf succeeds after the time that is expected of its template. Values that only a real run
would give are empty, so a workflow that loops over what a task printed shows less than it would
do. Locks, retries, hooks, loops and parallelism are the engine's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tiphys.control.foresight import Foresight
from tiphys.control.locks import LockTable, Waiting
from tiphys.control.placing import choice_of, expected_of, facts_of, foresight_of
from tiphys.control.submit import Overrides, prepare
from tiphys.control.task import attempt_id
from tiphys.core.label import QUEUE
from tiphys.engine import command as cm
from tiphys.engine import event as ev
from tiphys.engine.lifecycle import begin, step, take_effects
from tiphys.engine.node import NodeType
from tiphys.engine.run import Run
from tiphys.ports import SCHEDULER_LABEL
from tiphys.scheduling import QueueTree, Resources, WorkId
from tiphys.scheduling.estimate import History, Memory
from tiphys.scheduling.plan import Preemption
from tiphys.scheduling.reason import text
from tiphys.simulate.bound import longest_chain
from tiphys.simulate.machine import ARRIVES, Machine, Outcome, Record
from tiphys.simulate.task import Task
from tiphys.spec import model
from tiphys.spec.library import Library
from tiphys.spec.parse import Bundle

DEFAULT_SECONDS = 60.0
"""Expected of a template that never ran."""


def runs_of(
    bundle: Bundle,
    parameters: Mapping[str, str] | None = None,
    *,
    queue: str = "",
    priority: int | None = None,
) -> list[Run]:
    """Make a run of each workflow of ``bundle``; all are submitted at the same instant.

    ``queue`` and ``priority`` count instead of what the workflows say, as in a submission. Raises
    SpecError with all that is wrong with one of them.
    """
    library = Library.of(bundle)
    overrides = Overrides(parameters=parameters or {}, priority=priority)
    found = []
    for index, parsed in enumerate(bundle.workflows):
        meta = parsed.value.metadata
        # No random names: the same files give the same report.
        name = meta.name or f"{meta.generate_name or 'workflow-'}{index + 1}"
        # It is this machine that is imagined, wherever the workflow would run.
        labels = {key: value for key, value in meta.labels.items() if key != SCHEDULER_LABEL}
        notes = {**meta.annotations, **({QUEUE: queue} if queue else {})}
        meta = msgspec.structs.replace(meta, name=name, labels=labels, annotations=notes)
        workflow = msgspec.structs.replace(parsed.value, metadata=meta)
        made = prepare(msgspec.structs.replace(parsed, value=workflow), library, overrides)
        run = begin(made.workflow, made.spec, library, uid=f"{name}-{index}", created_at=0.0)
        found.append(run)
    return found


def run_workflows(
    runs: Sequence[Run],
    capacity: Resources,
    queues: QueueTree | None = None,
    *,
    history: History | None = None,
    default_seconds: float = DEFAULT_SECONDS,
) -> Outcome:
    """Run workflows to their end on a virtual clock."""
    machine = Machine(capacity, queues)
    return machine.run(Engines(runs, machine, history, default_seconds))


class Engines:
    """A source of workflows, each with the real engine."""

    def __init__(
        self,
        runs: Sequence[Run],
        machine: Machine,
        history: History | None = None,
        default_seconds: float = DEFAULT_SECONDS,
    ) -> None:
        self._machine = machine
        self._runs = {run.uid: run for run in runs}
        self._memory = Memory()
        self._memory.history = history or History()
        self._default = default_seconds
        self._locks = LockTable()
        self._memos: dict[tuple[str, str], model.Outputs | None] = {}
        self._commands: dict[str, tuple[Run, cm.StartNode, float]] = {}
        """Starts that were asked for and have not ended, by attempt, with their durations."""
        self._lengths: dict[str, dict[str, float]] = {}
        """How long each node of a run takes that others wait for, by node."""
        self._busy: dict[str, int] = {}
        self._paused: set[str] = set()
        self._ready: dict[tuple[str, str], float] = {}
        """Since when nodes wait that were stopped to make room."""
        self._foreseen: dict[str, Foresight] = {}

    def begin(self) -> None:
        """Start all workflows."""
        for run in self._runs.values():
            refusal, cut = self._machine.gate.open(run.uid, choice_of(run), run.created_at)
            if cut:
                self._machine.outcome.warn(f"{run.name} {'; '.join(cut)}")
            if refusal is not None:
                self._machine.outcome.stuck[run.name] = text(refusal)
            else:
                self._send(run, ev.RunStarted(at=0.0))

    def finish(self) -> None:
        """Say which workflows have not come to their end, and what had to follow what."""
        for uid, run in self._runs.items():
            lengths = {**_pauses(run), **self._lengths.get(uid, {})}
            chain = longest_chain(run.children, lengths)
            self._machine.outcome.chain = max(self._machine.outcome.chain, chain)
            if not run.ended and not self._busy.get(uid) and run.name not in self.stuck:
                self.stuck[run.name] = "it waits for somebody to resume it"
        for attempt in [key for key in self.stuck if key in self._commands]:
            run, command, _ = self._commands[attempt]
            self.stuck[run.nodes[command.node].name] = self.stuck.pop(attempt)

    @property
    def stuck(self) -> dict[str, str]:
        """What never started, and why."""
        return self._machine.outcome.stuck

    def _send(self, run: Run, event: ev.Event) -> None:
        step(run, event)
        answers: list[ev.Event] = []
        for command in take_effects(run).commands:
            answers.extend(self._perform(run, command))
        for answer in answers:
            self._send(run, answer)
        if run.ended:
            self._machine.gate.ended(run.uid)
            outcome = self._machine.outcome
            outcome.finished_at = max(outcome.finished_at, self._machine.now)
        elif not self._busy.get(run.uid) and run.uid not in self._paused:
            self._paused.add(run.uid)
            self._machine.gate.paused(run.uid, self._machine.now)

    def _perform(self, run: Run, command: cm.Command) -> Iterable[ev.Event]:
        match command:
            case cm.StartNode():
                self._queue(run, command)
            case cm.StopNode():
                self._stop(run, command)
            case cm.WakeAt():
                self._push(command.at, run, ev.Woken(at=command.at, node=command.node))
            case cm.AcquireLocks():
                yield self._acquire(run, command)
            case cm.ReleaseLocks():
                self._free(run, command.holder)
            case cm.ReadMemo():
                key = (command.cache, command.key)
                outputs = self._memos.get(key)
                yield ev.MemoRead(
                    at=self._machine.now, node=command.node, hit=key in self._memos, outputs=outputs
                )
            case cm.SaveMemo():
                self._memos[command.cache, command.key] = command.outputs
            case cm.EmitMetric():
                pass  # nobody scrapes an imagined machine

    # -- leaves ------------------------------------------------------------------------------

    def _queue(self, run: Run, command: cm.StartNode) -> None:
        if run.uid in self._paused:
            self._paused.discard(run.uid)
            self._machine.gate.resumed(run.uid)
        attempt = attempt_id(run, command.attempt)
        seconds = self._seconds(run, command)
        memory, foresight = self._memory, self._foresight(run)
        facts = facts_of(run, command, self._machine.now, memory, foresight)
        # An imagined machine need not limit what was not asked about.
        known = self._machine.scheduler.capacity
        asked = {n: a for n, a in facts.requests.items if n in known or n != "pods"}
        facts = msgspec.structs.replace(facts, requests=Resources(asked), expected_seconds=seconds)
        choice = choice_of(run)
        task = Task(
            id=f"{run.name}/{run.nodes[command.node].name}",
            seconds=seconds,
            requests=Resources({n: min(a, known.get(n)) for n, a in asked.items()}),
            workflow=run.name,
            template=command.template.name,
            queue=self._machine.gate.queue_for(facts.queue or choice.queue),
            priority=choice.priority if facts.priority is None else facts.priority,
        )
        ready = self._ready.pop((run.uid, command.node), self._machine.now)
        self._machine.outcome.records[attempt] = Record(task, ready)
        self._commands[attempt] = (run, command, seconds)
        if not command.template.daemon:
            self._lengths.setdefault(run.uid, {})[command.node] = seconds
        self._busy[run.uid] = self._busy.get(run.uid, 0) + 1
        refusal, cut = self._machine.gate.submit(facts)
        if cut:
            self._machine.outcome.warn(f"{run.name}: {command.template.name} {'; '.join(cut)}")
        if refusal is not None:
            self._end(run, command, "Error", text(refusal), self._machine.now)

    def _foresight(self, run: Run) -> Foresight:
        known = self._foreseen.get(run.uid)
        if known is None:
            known = self._foreseen[run.uid] = foresight_of(run, self._memory)
        return known

    def _seconds(self, run: Run, command: cm.StartNode) -> float:
        node = run.nodes[command.node]
        expected = expected_of(run, node, self._memory)
        if expected is None:
            expected = self._memory.seconds(command.template.name)
        return self._default if expected is None else expected

    def started(self, work_id: str) -> bool:
        """Foresee the end of a leaf; a daemon has none of its own."""
        known = self._commands.get(work_id)
        if known is None:
            return False
        run, command, seconds = known
        now, node, attempt = self._machine.now, command.node, command.attempt
        self._machine.outcome.records[work_id].started_at = now
        run.nodes[node].ours.admitted = True
        self._push(now, run, ev.NodeStarted(at=now, node=node, attempt=attempt))
        if command.template.daemon:
            ready = ev.NodeReady(at=now, node=node, attempt=attempt, ip="127.0.0.1")
            self._push(now, run, ready)
        else:
            self._end(run, command, "Succeeded", "", now + seconds)
        return True

    def _end(self, run: Run, command: cm.StartNode, phase: str, message: str, at: float) -> None:
        declared = command.template.outputs.parameters
        outputs = model.Outputs(
            exit_code="0",
            result="" if command.capture_result else None,
            parameters=tuple(msgspec.structs.replace(p, value=p.value or "") for p in declared),
        )
        ended = ev.NodeEnded(
            at=at, node=command.node, attempt=command.attempt, phase=phase, message=message,
            outputs=outputs,
        )  # fmt: skip
        self._push(at, run, ended)

    def _happen(self, run: Run, event: ev.Event) -> None:
        if isinstance(event, ev.NodeEnded):
            attempt = attempt_id(run, event.attempt)
            if not self._forget(attempt):
                return  # it was stopped before
            self._machine.scheduler.finished(WorkId(attempt))
            self._machine.outcome.records[attempt].ended_at = self._machine.now
        self._send(run, event)

    def _forget(self, attempt: str) -> bool:
        known = self._commands.pop(attempt, None)
        if known is not None:
            self._busy[known[0].uid] -= 1
        return known is not None

    def _stop(self, run: Run, command: cm.StopNode) -> None:
        attempt = attempt_id(run, command.attempt)
        if self._forget(attempt):
            self._machine.gate.withdraw(WorkId(attempt))
            record = self._machine.outcome.records[attempt]
            if record.started_at >= 0:
                record.ended_at, record.cut = self._machine.now, True

    def stopped(self, preemption: Preemption) -> bool:
        """Have a leaf queue again; the engine gives it a new attempt."""
        known = self._commands.get(preemption.victim)
        if known is None:
            return False
        run, command, _ = known
        now = self._machine.now
        record = self._machine.outcome.records[preemption.victim]
        record.preempted += 1
        record.ended_at, record.cut = now, True
        self._ready[run.uid, command.node] = record.ready_at
        self._forget(preemption.victim)
        self._machine.scheduler.finished(preemption.victim)
        event = ev.NodePreempted(
            at=now, node=command.node, attempt=command.attempt, message=preemption.text
        )
        self._send(run, event)
        return True

    # -- locks -------------------------------------------------------------------------------

    def _acquire(self, run: Run, command: cm.AcquireLocks) -> ev.Event:
        answer = self._locks.acquire(
            (run.uid, command.holder),
            command.locks,
            priority=command.priority,
            created_at=run.created_at,
            held=command.held,
        )
        if isinstance(answer, Waiting):
            return ev.LocksAwaited(
                at=self._machine.now,
                holder=command.holder,
                lock=answer.lock,
                message=answer.message,
            )
        return ev.LocksGranted(at=self._machine.now, holder=command.holder)

    def _free(self, run: Run, holder: str) -> None:
        freed = (
            self._locks.release_run(run.uid)
            if holder == "*"
            else self._locks.release((run.uid, holder))
        )
        for uid, each in freed:
            self._push(
                self._machine.now,
                self._runs[uid],
                ev.LocksGranted(at=self._machine.now, holder=each),
            )

    def _push(self, at: float, run: Run, event: ev.Event) -> None:
        self._machine.at(at, ARRIVES, lambda: self._happen(run, event))


def _pauses(run: Run) -> dict[str, float]:
    """Tell how long the pauses of a run took: no plan makes them shorter."""
    return {
        node.id: node.finished_at - node.started_at
        for node in run.nodes.values()
        if node.type is NodeType.SUSPEND
        and node.started_at is not None
        and node.finished_at is not None
    }
