"""Volcano Jobs: tasks of many replicas, started as gangs, with policies for what happens to them.

A Job is a node with its pods below it. The rules (`engine.jobrule`) say how it stands from how its
pods stand; here is what happens then. A pod that is started again is a new node, ``worker-0(1)``
after ``worker-0``: what has ended stays as it was. What the nodes cannot tell after a restart (how
often the Job was restarted, what a policy still has to do) is kept in ``node.ours.job``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from tiphys.core.duration import parse_duration
from tiphys.core.jobname import job_name
from tiphys.engine import leaf, metric
from tiphys.engine.abandon import abandon
from tiphys.engine.command import Gang, WakeAt
from tiphys.engine.jobpod import pod_template, read_job
from tiphys.engine.jobrule import (
    Action,
    JobCounts,
    JobPhase,
    Policy,
    TaskCounts,
    decide_action,
    least_available,
    may_start,
    next_phase,
)
from tiphys.engine.jobslot import FAILED, PENDING, RUNNING, SUCCEEDED, Slot, Tally
from tiphys.engine.node import Due, JobRecord, Node, NodeType, Phase
from tiphys.engine.resolve import UnresolvedError
from tiphys.engine.run import Call, Run, add_node, set_phase
from tiphys.errors import InvalidInputError
from tiphys.spec import model
from tiphys.spec.model.volcano import JobSpec, JobTask, LifecyclePolicy

if TYPE_CHECKING:
    from tiphys.engine.resolve import Prepared

MAX_RETRY = 3
_NEVER = frozenset({"Never"})
_SCHEDULER, _HERE = "tiphys.dev/scheduler", "local"


@dataclass(slots=True, eq=False, weakref_slot=True)
class JobFrame:
    """A Job under way."""

    call: Call
    prepared: Prepared
    template: model.Template
    node: Node
    spec: JobSpec
    name: str
    slots: dict[tuple[str, int], Slot] = field(default_factory=dict)
    waiting: dict[str, dict[int, Slot]] = field(default_factory=dict)
    """Of each task the replicas that are to be started."""
    tally: Tally = field(default_factory=Tally)
    ending: bool = False

    @property
    def speaker(self) -> str:
        """Name the pod whose result is the Job's: the first of its first task."""
        return f"{self.spec.tasks[0].name}-0"

    def started_nodes(self) -> Iterable[Node]:
        """Give the pods."""
        return [slot.node for slot in self.slots.values() if slot.node is not None]

    def pump(self, run: Run) -> None:
        """Start the pods that may start, and see how the Job stands."""
        if self.node.ended:
            return
        if not leaf.may_run(run, self.call.on_exit):
            _end(run, self, JobPhase.TERMINATED, Phase.FAILED, "the workflow was told to end")
            return
        _start_pods(run, self)
        if not self.node.ended:
            _settle(run, self)


def start(run: Run, call: Call, prepared: Prepared, template: model.Template) -> Node:
    """Begin a Job, or take it up where it was left."""
    assert template.volcano_job is not None
    try:
        spec = read_job(template.volcano_job)
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"the Job of template {template.name!r}: {error}") from None
    if "svc" in spec.plugins and run.workflow.metadata.labels.get(_SCHEDULER, _HERE) != _HERE:
        # The addresses of replicas are this machine's own.
        raise InvalidInputError("the plugin svc needs this machine or the scheduler volcano")
    node = run.node_named(call.name)
    if node is None:
        node = add_node(run, call, NodeType.JOB, Phase.PENDING)
    if node.inputs is None and template.inputs.parameters:
        node.inputs = template.inputs
    if node.ours.job is None:
        node.ours.job = JobRecord(history=((str(JobPhase.PENDING), run.now),))
        run.touch(node)
    frame = JobFrame(call, prepared, template, node, spec, job_name(run.name, node.name))
    run.frames[node.id] = frame
    _take_up(run, frame)
    run.dirty[frame] = None
    return node


def _take_up(run: Run, frame: JobFrame) -> None:
    """Make the slots, with the nodes that an earlier process left."""
    record = frame.node.ours.job
    assert record is not None
    restarts, wanted = dict(record.restarts), dict(record.wanted)
    for task in frame.spec.tasks:
        frame.waiting[task.name] = {}
        for index in range(task.replicas):
            slot = frame.slots[task.name, index] = Slot(task, index)
            while run.node_named(_pod_name(frame, slot, slot.number + 1)) is not None:
                slot.number += 1
            slot.node = run.node_named(_pod_name(frame, slot, slot.number))
            slot.restarts = restarts.get(slot.key, 0)
            if slot.number < wanted.get(slot.key, 0):
                slot.number, slot.node = wanted[slot.key], None
            frame.waiting[task.name][index] = slot
            frame.tally.see(slot)
    for due in record.due:
        run.emit(WakeAt(at=due.at, node=frame.node.id))


def _pod_name(frame: JobFrame, slot: Slot, number: int) -> str:
    again = f"({number})" if number else ""
    return f"{frame.node.name}.{slot.key}{again}"


# --- starting -------------------------------------------------------------------------------


def _start_pods(run: Run, frame: JobFrame) -> None:
    for task in frame.spec.tasks:
        waiting = frame.waiting[task.name]
        if not waiting or not _may_start(frame, task):
            continue
        resting = _resting(frame)
        for slot in [each for each in waiting.values() if each.key not in resting]:
            del waiting[slot.index]
            if slot.node is None or not slot.node.ended:
                _start_pod(run, frame, slot)
                if frame.node.ended:
                    return


def _resting(frame: JobFrame) -> set[str]:
    """Give the replicas that wait a while before their containers are started again."""
    record = frame.node.ours.job
    assert record is not None
    return {due.slot for due in record.due if due.action == _AGAIN}


def _may_start(frame: JobFrame, task: JobTask) -> bool:
    rule = task.depends_on
    if rule is None or not rule.name:
        return True
    needed = {}
    for name in rule.name:
        other = next(each for each in frame.spec.tasks if each.name == name)
        needed[name] = (frame.tally.started(name), least_of(other))
    return may_start(needed, any_of=rule.iteration == "any")


def least_of(task: JobTask) -> int:
    """How many pods of a task have to run."""
    return task.replicas if task.min_available is None else task.min_available


def _start_pod(run: Run, frame: JobFrame, slot: Slot) -> None:
    call = Call(
        name=_pod_name(frame, slot, slot.number),
        holder=model.DAGTask(name=slot.key, template=frame.template.name),
        base=frame.call.base,
        arguments=model.Arguments(),
        boundary=frame.node,
        tell=_pod_changed,
        frame=(frame, slot),
        parents=(frame.node.id,),
        on_exit=frame.call.on_exit,
        deadline_at=frame.call.deadline_at,
        depth=frame.call.depth + 1,
    )
    template = pod_template(frame.name, frame.spec, slot.task, slot.index, frame.template.name)
    try:
        slot.node = leaf.start(run, call, frame.prepared, template, _gang(run, frame, slot))
    except (UnresolvedError, InvalidInputError) as error:
        _refused(run, frame, slot, str(error))
        return
    slot.node.ours.pod = f"{frame.name}-{slot.key}"
    frame.tally.see(slot)
    run.waiters[slot.node.id] = (_pod_changed, (frame, slot))
    if slot.seen != "Pending" and slot.node.phase is Phase.PENDING:
        slot.seen = "Pending"
        _happened(run, frame, slot, "PodPending")
    if slot.node.ended or slot.node.phase is Phase.RUNNING:
        run.notify(slot.node)


def _refused(run: Run, frame: JobFrame, slot: Slot, message: str) -> None:
    """A pod cannot be started as it is written, nor could another: the Job ends."""
    frame.ending = True
    slot.node = run.node_named(_pod_name(frame, slot, slot.number))
    if slot.node is not None and not slot.node.ended:
        set_phase(run, slot.node, Phase.ERROR, message)
    _end(run, frame, JobPhase.FAILED, Phase.ERROR, message)


# --- what happens to pods -------------------------------------------------------------------


def _pod_changed(run: Run, where: tuple[JobFrame, Slot], node: Node) -> None:
    frame, slot = where
    frame.tally.see(slot)
    if frame.node.ended or frame.ending or slot.node is not node or slot.seen == node.phase:
        return
    before, slot.seen = slot.seen, str(node.phase)
    if node.phase is Phase.PENDING and before == Phase.RUNNING:
        _happened(run, frame, slot, "PodEvicted")
    elif node.phase is Phase.RUNNING:
        _happened(run, frame, slot, "PodRunning")
    elif node.phase is Phase.SUCCEEDED:
        if frame.tally.succeeded(slot.task.name) == slot.task.replicas:
            _happened(run, frame, slot, "TaskCompleted")
    elif node.ended:
        _failed(run, frame, slot, node)
    run.dirty[frame] = None


def _failed(run: Run, frame: JobFrame, slot: Slot, node: Node) -> None:
    """A pod failed: its container is started again where the pod says so, else it is told."""
    if slot.task.template.spec.restart_policy not in _NEVER and _restart_in_place(run, frame, slot):
        return
    outputs = node.outputs
    code = int(outputs.exit_code) if outputs is not None and outputs.exit_code else None
    exhausted = slot.restarts > 0
    if exhausted and _happened(run, frame, slot, "TaskFailed", code):
        return
    _happened(run, frame, slot, "PodFailed", code)


_AGAIN = "again"
_FIRST_REST, _LONGEST_REST = 10.0, 300.0
"""How long a container that keeps failing rests, as under Kubernetes; the first time not at all."""


def _restart_in_place(run: Run, frame: JobFrame, slot: Slot) -> bool:
    most = MAX_RETRY if slot.task.max_retry is None else slot.task.max_retry
    if 0 <= most <= slot.restarts:
        return False
    record = frame.node.ours.job
    assert record is not None
    slot.restarts += 1
    key = slot.key
    record.restarts = (*((k, n) for k, n in record.restarts if k != key), (key, slot.restarts))
    _renew(run, frame, slot)
    if slot.restarts > 1:
        rest = min(_LONGEST_REST, _FIRST_REST * 2 ** (slot.restarts - 2))
        _postpone(run, frame, Due(at=run.now + rest, action=_AGAIN, slot=key))
    return True


def _happened(
    run: Run, frame: JobFrame, slot: Slot, event: str, exit_code: int | None = None
) -> bool:
    """Ask the policies about an event; tell whether one had an answer."""
    policy = decide_action(
        event,
        exit_code=exit_code,
        task_policies=[_policy(each) for each in slot.task.policies],
        job_policies=[_policy(each) for each in frame.spec.policies],
    )
    if policy.action is Action.SYNC_JOB:
        return False
    if policy.timeout_seconds:
        due = Due(
            at=run.now + policy.timeout_seconds,
            action=str(policy.action),
            slot=slot.key,
            event=event,
            node=slot.node.id if slot.node is not None else "",
        )
        _postpone(run, frame, due)
        return True
    _act(run, frame, policy.action, slot, event)
    return True


def _policy(policy: LifecyclePolicy) -> Policy:
    return Policy(
        action=Action(policy.action),
        events=tuple(each for each in (*policy.events, policy.event) if each),
        exit_code=policy.exit_code,
        timeout_seconds=parse_duration(policy.timeout) if policy.timeout else None,
    )


def _postpone(run: Run, frame: JobFrame, due: Due) -> None:
    record = frame.node.ours.job
    assert record is not None
    record.due = (*record.due, due)
    run.touch(frame.node)
    run.emit(WakeAt(at=due.at, node=frame.node.id))


def woken(run: Run, node: Node) -> None:
    """The time of something that was put off has come."""
    frame, record = run.frames.get(node.id), node.ours.job
    if not isinstance(frame, JobFrame) or record is None:
        return
    ready = [due for due in record.due if due.at <= run.now]
    record.due = tuple(due for due in record.due if due.at > run.now)
    run.touch(node)
    for due in ready:
        slot = _slot(frame, due.slot)
        if slot is not None and due.action != _AGAIN and _still_so(slot, due):
            _act(run, frame, Action(due.action), slot, due.event)
    run.dirty[frame] = None


def _slot(frame: JobFrame, key: str) -> Slot | None:
    task, _, index = key.rpartition("-")
    return frame.slots.get((task, int(index)))


def _still_so(slot: Slot, due: Due) -> bool:
    """Whether what a policy waited with is still the case."""
    if slot.node is None or slot.node.id != due.node:
        return False
    if due.event == "PodPending":
        return slot.node.phase is Phase.PENDING
    if due.event == "PodRunning":
        return slot.node.phase is Phase.RUNNING
    return True


# --- actions --------------------------------------------------------------------------------

_ENDS = {
    Action.ABORT_JOB: (JobPhase.ABORTED, Phase.FAILED),
    Action.TERMINATE_JOB: (JobPhase.TERMINATED, Phase.FAILED),
    Action.COMPLETE_JOB: (JobPhase.COMPLETED, Phase.SUCCEEDED),
}


def _act(run: Run, frame: JobFrame, action: Action, slot: Slot, event: str) -> None:
    if frame.node.ended:
        return
    pod = slot.key
    if action in _ENDS:
        job_phase, phase = _ENDS[action]
        message = None if phase is Phase.SUCCEEDED else f"{action} after {event} of {pod}"
        _end(run, frame, job_phase, phase, message)
    elif action is not Action.RESUME_JOB:
        _restart(run, frame, _reached(frame, action, slot), f"{action} after {event} of {pod}")


def _reached(frame: JobFrame, action: Action, slot: Slot) -> list[Slot]:
    """Give the replicas that an action starts again."""
    if action is Action.RESTART_POD:
        return [slot]
    if action is Action.RESTART_JOB:
        return list(frame.slots.values())
    mates = [frame.slots[slot.task.name, index] for index in range(slot.task.replicas)]
    parts = slot.task.partition_policy
    if action is Action.RESTART_PARTITION and parts is not None:
        size = max(1, parts.partition_size)
        return [each for each in mates if each.index // size == slot.index // size]
    return mates


def _restart(run: Run, frame: JobFrame, slots: list[Slot], why: str) -> None:
    record = frame.node.ours.job
    assert record is not None
    record.retries += 1
    most = MAX_RETRY if frame.spec.max_retry is None else frame.spec.max_retry
    _note(run, frame, JobPhase.RESTARTING)
    if record.retries >= most:
        _end(run, frame, JobPhase.FAILED, Phase.FAILED, f"{why}: no retry of {most} is left")
        return
    record.rounds += len(slots) == len(frame.slots)
    frame.ending = True
    for slot in slots:
        if slot.node is not None and not slot.node.ended:
            leaf.fail(run, slot.node, why)
        slot.restarts = 0
        _renew(run, frame, slot)
    frame.ending = False
    names = {slot.key for slot in slots}
    record.due = tuple(due for due in record.due if due.slot not in names)
    record.restarts = tuple((k, n) for k, n in record.restarts if k not in names)
    _note(run, frame, JobPhase.PENDING)
    set_phase(run, frame.node, Phase.PENDING, why)
    run.dirty[frame] = None


def _renew(run: Run, frame: JobFrame, slot: Slot) -> None:
    """Let another node stand for the replica; it is made when it may start."""
    if slot.node is None:
        return
    record = frame.node.ours.job
    assert record is not None
    slot.number, slot.node, slot.seen = slot.number + 1, None, ""
    frame.waiting[slot.task.name][slot.index] = slot
    frame.tally.see(slot)
    key = slot.key
    record.wanted = (*((k, n) for k, n in record.wanted if k != key), (key, slot.number))
    run.touch(frame.node)
    run.dirty[frame] = None


# --- how it stands --------------------------------------------------------------------------


def _settle(run: Run, frame: JobFrame) -> None:
    """Bring the Job's phase in line with its pods."""
    record = frame.node.ours.job
    assert record is not None
    phase = JobPhase(record.phase)
    for _ in range(3):  # Pending, Running, ended: each follows from the one before.
        found = next_phase(_counts(frame, phase))
        if found is phase:
            break
        phase = found
        _note(run, frame, phase)
    if phase is JobPhase.COMPLETED:
        _end(run, frame, phase, Phase.SUCCEEDED, None)
    elif phase is JobPhase.FAILED:
        counts = _counts(frame, phase)
        message = f"{counts.failed} of {counts.replicas} pods failed"
        _end(run, frame, phase, Phase.FAILED, message)
    elif phase is JobPhase.RUNNING:
        set_phase(run, frame.node, Phase.RUNNING, "")
    elif phase is JobPhase.PENDING and frame.node.phase is Phase.RUNNING:
        set_phase(run, frame.node, Phase.PENDING)


def _counts(frame: JobFrame, phase: JobPhase) -> JobCounts:
    spec, words = frame.spec, frame.tally.words
    return JobCounts(
        phase=phase,
        replicas=len(frame.slots),
        min_available=spec.min_available,
        min_success=spec.min_success,
        max_retry=MAX_RETRY if spec.max_retry is None else spec.max_retry,
        tasks={
            task.name: TaskCounts(
                replicas=task.replicas,
                min_available=task.min_available,
                succeeded=frame.tally.succeeded(task.name),
            )
            for task in spec.tasks
        },
        pending=words[PENDING],
        running=words[RUNNING],
        succeeded=words[SUCCEEDED],
        failed=words[FAILED],
    )


def _note(run: Run, frame: JobFrame, phase: JobPhase) -> None:
    record = frame.node.ours.job
    assert record is not None
    record.phase = str(phase)
    record.history = (*record.history, (str(phase), run.now))[-_MOST_HISTORY:]
    run.touch(frame.node)


_MOST_HISTORY = 100


def _end(run: Run, frame: JobFrame, job_phase: JobPhase, phase: Phase, message: str | None) -> None:
    record = frame.node.ours.job
    assert record is not None
    if record.phase != job_phase:
        _note(run, frame, job_phase)
    record.due = ()
    frame.ending = True
    run.frames.pop(frame.node.id, None)
    run.parked.pop(frame, None)
    frame.node.outbound_nodes = tuple(node.id for node in frame.started_nodes())
    first = frame.slots.get((frame.spec.tasks[0].name, 0))
    if first is not None and first.node is not None and first.node.outputs is not None:
        said = first.node.outputs
        frame.node.outputs = model.Outputs(result=said.result, exit_code=said.exit_code)
    set_phase(run, frame.node, phase, message)
    abandon(run, frame)
    if frame.template.metrics is not None:
        metric.emit_for_node(run, frame.node, frame.template.metrics)


def _gang(run: Run, frame: JobFrame, slot: Slot) -> Gang | None:
    """The gang that a pod belongs to: so many of the Job start together, or none."""
    record = frame.node.ours.job
    assert record is not None
    first = [task for task in frame.spec.tasks if task.depends_on is None]
    least = least_available(_counts(frame, JobPhase.PENDING))
    if slot.task not in first or frame.tally.words[PENDING] < len(frame.slots):
        return None  # Others of the gang run already.
    if len(first) < len(frame.spec.tasks):
        # Pods of later tasks do not exist yet: the gang is of those that do.
        least = min(least, sum(least_of(task) for task in first))
    if least < 2:
        return None
    roles = tuple((task.name, least_of(task)) for task in first)
    name = f"{run.uid}/{frame.node.name}#{record.rounds}"
    return Gang(name=name, least=least, roles=roles, role=slot.task.name)
