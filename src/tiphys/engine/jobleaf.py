"""Volcano Jobs that somebody else runs: a leaf with pods below it, as a cluster tells of them.

On Volcano a Job is Volcano's own: its replicas, gangs, policies and restarts are decided there
(docs/adr/0011-jobflow-on-volcano.md). Here it is one leaf. What is heard of it becomes the same
nodes and the same record as ``engine.job`` makes on one machine, so that status, probes and logs
are the same wherever it runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from tiphys.core.jobname import job_name
from tiphys.engine import leaf
from tiphys.engine.event import JobSeen, PodSeen
from tiphys.engine.jobpod import read_job
from tiphys.engine.jobrule import FINAL, JobPhase
from tiphys.engine.node import JobRecord, Node, NodeType, Phase
from tiphys.engine.run import Call, Run, add_node, set_phase
from tiphys.errors import InvalidInputError
from tiphys.spec import model
from tiphys.spec.model.volcano import JobSpec

if TYPE_CHECKING:
    from tiphys.engine.resolve import Prepared

SCHEDULER_LABEL, VOLCANO = "tiphys.dev/scheduler", "volcano"
PODS_OF_ONE = 1_000_000
"""Pods are numbered behind the number of their Job's attempt, which leaves room for so many."""
_ENDED = frozenset({*FINAL, JobPhase.ABORTED})
_MOST_HISTORY = 100


def is_elsewhere(run: Run) -> bool:
    """Whether the Jobs of a run are Volcano's own."""
    return run.workflow.metadata.labels.get(SCHEDULER_LABEL) == VOLCANO


@dataclass(slots=True, eq=False)
class JobLeaf:
    """A Job under way elsewhere, with the pods that stand for its replicas now."""

    template: model.Template
    spec: JobSpec
    name: str
    pods: dict[tuple[str, int], Node] = field(default_factory=dict)
    told: dict[str, PodSeen] = field(default_factory=dict)
    """What was last heard of pods, by the names of their nodes."""

    def started_nodes(self) -> Iterable[Node]:
        """Give the pods."""
        return list(self.pods.values())

    def pump(self, run: Run) -> None:
        """Start nothing: pods are started elsewhere."""


def start(run: Run, call: Call, prepared: Prepared, template: model.Template) -> Node:
    """Have a Job made, or take up one that was."""
    assert template.volcano_job is not None
    try:
        spec = read_job(template.volcano_job)
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"the Job of template {template.name!r}: {error}") from None
    if run.node_named(call.name) is None:
        add_node(run, call, NodeType.JOB, Phase.PENDING)
    node = leaf.start(run, call, prepared, template)
    if node.ours.job is None:
        node.ours.job = JobRecord(history=((str(JobPhase.PENDING), run.now),))
        run.touch(node)
    if not node.ended:
        frame = JobLeaf(template, spec, job_name(run.name, node.name))
        for child in map(run.nodes.__getitem__, run.children.get(node.id, ())):
            key = key_of(child.display_name)
            if child.type is NodeType.POD and key is not None:
                frame.pods[key] = child  # The latest is the last.
        run.frames[node.id] = frame
    return node


def key_of(display_name: str) -> tuple[str, int] | None:
    """Read task and index from what a pod is called: ``worker-0``, or ``worker-0(1)`` later."""
    task, _, index = display_name.partition("(")[0].rpartition("-")
    return (task, int(index)) if index.isdigit() else None


# --- what is heard --------------------------------------------------------------------------


def seen(run: Run, node: Node, event: JobSeen) -> None:
    """Have a Job and its pods look as they do there."""
    frame = run.frames.get(node.id)
    if not isinstance(frame, JobLeaf):
        return
    note(node, event)
    run.touch(node)
    for pod in event.pods:
        _see_pod(run, node, frame, pod)
    running = event.phase not in {JobPhase.PENDING, *_ENDED}
    if running or (node.phase is Phase.RUNNING and event.phase == JobPhase.PENDING):
        set_phase(run, node, Phase.RUNNING if running else Phase.PENDING, event.message)
    # Whoever waits for its pods is looked at again.
    run.notify(node)


def note(node: Node, event: JobSeen) -> None:
    """Keep a Job's phase, and since when it is in it."""
    record = node.ours.job or JobRecord()
    node.ours.job = record
    record.retries = event.retries
    if event.history:
        record.history = event.history[-_MOST_HISTORY:]
    if not record.history or record.history[-1][0] != event.phase:
        record.history = (*record.history, (event.phase, event.at))[-_MOST_HISTORY:]
    record.phase = event.phase


def pod_name(job: Node, pod: PodSeen) -> str:
    """Name the node of a pod: ``worker-0`` of a Job, ``worker-0(1)`` the second time."""
    again = f"({pod.round})" if pod.round else ""
    return f"{job.name}.{pod.task}-{pod.index}{again}"


def show(node: Node, pod: PodSeen, number: int) -> None:
    """Copy what is known of a pod, its phase aside."""
    node.ours.attempt, node.ours.admitted = number, True
    node.ours.pod = pod.name
    node.ours.began_at = pod.began_at
    node.host_node_name, node.pod_ip = pod.host, pod.ip
    node.progress = "1/1" if pod.phase == Phase.SUCCEEDED else "0/1"
    if pod.exit_code:
        node.outputs = model.Outputs(exit_code=pod.exit_code)


def _see_pod(run: Run, job: Node, frame: JobLeaf, pod: PodSeen) -> None:
    name = pod_name(job, pod)
    if frame.told.get(name) == pod:
        return  # News of one pod comes with all the others.
    frame.told[name] = pod
    node = run.node_named(name)
    if node is None:
        call = Call(
            name=name,
            holder=model.DAGTask(name=f"{pod.task}-{pod.index}", template=frame.template.name),
            base=run.templates.local,
            arguments=model.Arguments(),
            boundary=job,
            tell=_ignore,
            frame=None,
            parents=(job.id,),
            on_exit=job.ours.on_exit,
        )
        template = f"{frame.template.name}-{pod.task}"
        node = add_node(run, call, NodeType.POD, Phase.PENDING, template=template)
    frame.pods[pod.task, pod.index] = node
    if node.ended:
        return
    show(node, pod, job.ours.attempt * PODS_OF_ONE + pod.number)
    run.touch(node)
    set_phase(run, node, Phase(pod.phase), pod.message)
    if node.ended:
        node.finished_at = pod.finished_at or node.finished_at


def _ignore(_run: Run, _frame: object, _node: Node) -> None:
    """Nobody waits for a single pod."""


def close(run: Run, node: Node, message: str | None) -> None:
    """A Job has ended: so have those of its pods of which nothing more will be heard."""
    frame = run.frames.pop(node.id, None)
    if not isinstance(frame, JobLeaf):
        return
    for pod in frame.pods.values():
        if not pod.ended:
            set_phase(run, pod, Phase.FAILED, message or "ended with its Job")
    give_up(node, run.now)
    node.outbound_nodes = tuple(pod.id for pod in frame.pods.values())


def give_up(node: Node, at: float) -> None:
    """Note that nothing more will be heard of a Job: it is over here, whatever it does there."""
    record = node.ours.job
    if record is not None and record.phase not in _ENDED:
        record.phase = str(JobPhase.TERMINATED)
        record.history = (*record.history, (record.phase, at))[-_MOST_HISTORY:]
