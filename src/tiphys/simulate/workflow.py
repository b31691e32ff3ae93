"""Whole workflows on a virtual clock: the real engine and the real scheduler, imagined leaves.

Each leaf succeeds after the time that is expected of its template. Values that only a real run
would give are empty, so a workflow that loops over what a task printed shows less than it would
do. Locks, retries, hooks, loops and parallelism are the engine's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import count

import msgspec

from tiphys.control.locks import LockTable, Waiting
from tiphys.control.task import attempt_id, make_work
from tiphys.engine import command as cm
from tiphys.engine import event as ev
from tiphys.engine.lifecycle import begin, step, take_effects
from tiphys.engine.run import Run
from tiphys.scheduling import QueueTree, Resources, Scheduler, Work, WorkId
from tiphys.scheduling.admission import queue_of
from tiphys.scheduling.estimate import History
from tiphys.scheduling.plan import Preemption
from tiphys.scheduling.reason import text
from tiphys.simulate.run import Outcome, Record
from tiphys.simulate.task import Task
from tiphys.spec import model
from tiphys.spec.library import Library
from tiphys.spec.merge import resolve_spec
from tiphys.spec.parse import Bundle

DEFAULT_SECONDS = 60.0
"""Expected of a template that never ran."""


def runs_of(bundle: Bundle) -> list[Run]:
    """Make a run of each workflow of ``bundle``; all are submitted at the same instant."""
    library = Library.of(bundle)
    found = []
    for index, parsed in enumerate(bundle.workflows):
        workflow = parsed.value
        name = workflow.metadata.name or f"{workflow.metadata.generate_name}{index + 1}"
        meta = msgspec.structs.replace(workflow.metadata, name=name)
        workflow = msgspec.structs.replace(workflow, metadata=meta)
        spec = resolve_spec(workflow, library)
        found.append(begin(workflow, spec, library, uid=f"{name}-{index}", created_at=0.0))
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
    engines = _Engines(runs, capacity, queues or QueueTree.default())
    engines.history = history or History()
    engines.default_seconds = default_seconds
    return engines.run()


class _Engines:
    """All runs, one scheduler, one clock."""

    history: History
    default_seconds: float

    def __init__(self, runs: Sequence[Run], capacity: Resources, queues: QueueTree) -> None:
        self.scheduler = Scheduler(capacity, queues)
        self.outcome = Outcome(capacity, queues)
        self.limits = Resources({"pods": 1, **capacity.to_dict()})
        """Leaves count as one of ``pods``, which an imagined machine need not limit."""
        self.runs = {run.uid: run for run in runs}
        self.locks = LockTable()
        self.memos: dict[tuple[str, str], model.Outputs | None] = {}
        self.later: list[tuple[float, int, str, ev.Event]] = []
        self.order = count()
        self.commands: dict[str, tuple[Run, cm.StartNode, Work]] = {}
        """Starts that were asked for and have not ended, by attempt."""
        self.now = 0.0

    def run(self) -> Outcome:
        for run in self.runs.values():
            self._send(run, ev.RunStarted(at=0.0))
        self._plan()
        while self.later:
            self.now = self.later[0][0]
            while self.later and self.later[0][0] <= self.now:
                _, _, uid, event = heappop(self.later)
                self._happen(uid, event)
            self._plan()
        for uid, run in self.runs.items():
            if not run.ended:
                self.outcome.stuck[uid] = "it waits for somebody to resume it"
        return self.outcome

    def _happen(self, uid: str, event: ev.Event) -> None:
        if not uid:
            return
        run = self.runs[uid]
        if isinstance(event, ev.NodeEnded):
            attempt = attempt_id(run, event.attempt)
            if self.commands.pop(attempt, None) is None:
                return  # it was stopped before
            self.scheduler.finished(WorkId(attempt))
            self.outcome.records[attempt].ended_at = self.now
        self._send(run, event)

    def _send(self, run: Run, event: ev.Event) -> None:
        step(run, event)
        answers: list[ev.Event] = []
        for command in take_effects(run).commands:
            answers.extend(self._perform(run, command))
        for answer in answers:
            self._send(run, answer)

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
                outputs = self.memos.get(key)
                yield ev.MemoRead(
                    at=self.now, node=command.node, hit=key in self.memos, outputs=outputs
                )
            case cm.SaveMemo():
                self.memos[command.cache, command.key] = command.outputs
            case cm.EmitMetric():
                pass  # nobody scrapes an imagined machine

    # -- leaves ------------------------------------------------------------------------------

    def _queue(self, run: Run, command: cm.StartNode) -> None:
        attempt = attempt_id(run, command.attempt)
        work, cut = make_work(run, command, self.limits, self.now)
        seconds = self._seconds(run, command.template)
        meta = run.workflow.metadata
        queue = queue_of(meta.labels, meta.annotations)
        requests = Resources({n: a for n, a in work.requests.items if n in self.scheduler.capacity})
        work = msgspec.structs.replace(
            work, queue=queue, expected_seconds=seconds, requests=requests
        )
        if cut:
            self.outcome.warnings.append(f"{run.name}: {'; '.join(cut)}")
        task = Task(
            id=f"{run.name}/{run.nodes[command.node].name}",
            seconds=seconds,
            requests=work.requests,
            workflow=run.name,
            template=command.template.name,
            queue=queue,
            priority=work.priority,
        )
        self.outcome.records[attempt] = Record(task, self.now)
        self.commands[attempt] = (run, command, work)
        refusal = self.scheduler.submit(work)
        if refusal is not None:
            self._end(run, command, "Error", text(refusal), self.now)

    def _seconds(self, run: Run, template: model.Template) -> float:
        for key in (f"{run.name}/{template.name}", template.name):
            expected = self.history.expect(key)
            if expected is not None:
                return expected.seconds
        return self.default_seconds

    def _plan(self) -> None:
        plan = self.scheduler.plan(self.now)
        self.outcome.plans += 1
        self.outcome.decisions += len(plan.starts) + len(plan.preempts)
        for work_id in plan.starts:
            self._start(work_id)
        for preemption in plan.preempts:
            self._preempt(preemption)
        if plan.preempts:
            self._plan()
        at = self.scheduler.wake_at()
        if at is not None and self.later and self.now < at < self.later[0][0]:
            heappush(self.later, (at, next(self.order), "", ev.Woken(at=at)))

    def _start(self, attempt: str) -> None:
        run, command, work = self.commands[attempt]
        self.outcome.records[attempt].started_at = self.now
        run.nodes[command.node].ours.admitted = True
        begun = ev.NodeStarted(at=self.now, node=command.node, attempt=command.attempt)
        self._push(self.now, run, begun)
        if command.template.daemon:
            ready = ev.NodeReady(
                at=self.now, node=command.node, attempt=command.attempt, ip="127.0.0.1"
            )
            self._push(self.now, run, ready)
        else:
            end = self.now + (work.expected_seconds or 0.0)
            self._end(run, command, "Succeeded", "", end)

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

    def _stop(self, run: Run, command: cm.StopNode) -> None:
        attempt = attempt_id(run, command.attempt)
        if self.commands.pop(attempt, None) is not None:
            self.scheduler.withdraw(WorkId(attempt))
            record = self.outcome.records[attempt]
            if record.started_at >= 0:
                record.ended_at = self.now

    def _preempt(self, preemption: Preemption) -> None:
        run, command, _ = self.commands.pop(preemption.victim)
        self.outcome.preemptions.append((self.now, preemption))
        self.outcome.records[preemption.victim].preempted += 1
        self.outcome.records[preemption.victim].ended_at = self.now
        self.scheduler.finished(preemption.victim)
        self._send(
            run,
            ev.NodePreempted(
                at=self.now,
                node=command.node,
                attempt=command.attempt,
                message=preemption.text,
            ),
        )

    # -- locks -------------------------------------------------------------------------------

    def _acquire(self, run: Run, command: cm.AcquireLocks) -> ev.Event:
        answer = self.locks.acquire(
            (run.uid, command.holder),
            command.locks,
            priority=command.priority,
            created_at=run.created_at,
            held=command.held,
        )
        if isinstance(answer, Waiting):
            return ev.LocksAwaited(
                at=self.now, holder=command.holder, lock=answer.lock, message=answer.message
            )
        return ev.LocksGranted(at=self.now, holder=command.holder)

    def _free(self, run: Run, holder: str) -> None:
        freed = (
            self.locks.release_run(run.uid)
            if holder == "*"
            else self.locks.release((run.uid, holder))
        )
        for uid, each in freed:
            self._push(self.now, self.runs[uid], ev.LocksGranted(at=self.now, holder=each))

    def _push(self, at: float, run: Run, event: ev.Event) -> None:
        heappush(self.later, (at, next(self.order), run.uid, event))
