"""Tasks that need not wait for the end of a Job: probes say when it is good enough.

A task with ``ready`` may start while what it depends on still runs, once every probe that concerns
that Job has passed. Phases of its pods are looked at here; services are asked by a leaf of its own,
which ends when they answer (``runtimes.probe``), so that the wait can be seen and explained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from tiphys.engine import leaf
from tiphys.engine.job import JobFrame
from tiphys.engine.jobleaf import JobLeaf
from tiphys.engine.jobpod import address
from tiphys.engine.node import Node, NodeType, Phase
from tiphys.engine.run import Call
from tiphys.spec import model
from tiphys.spec.model.volcano import FlowProbe, HTTPGetProbe, JobTask

if TYPE_CHECKING:
    from tiphys.engine.dag import DagFrame
    from tiphys.engine.dagtask import TaskState
    from tiphys.engine.run import Run

_GOOD = {
    "Pending": {Phase.PENDING, Phase.RUNNING, Phase.SUCCEEDED},
    "Running": {Phase.RUNNING, Phase.SUCCEEDED},
    "Succeeded": {Phase.SUCCEEDED},
    "Completed": {Phase.SUCCEEDED},
    "Failed": {Phase.FAILED, Phase.ERROR},
}


def passed(run: Run, frame: DagFrame, target: TaskState, task: TaskState) -> bool:
    """Whether ``task`` may go on although ``target`` has not ended; asks services if need be."""
    node = target.node
    inner = run.frames.get(node.id) if node is not None else None
    if node is None or not isinstance(inner, JobFrame | JobLeaf):
        return False
    if node.phase is not Phase.RUNNING:
        return False
    probe = msgspec.convert(task.task.ready, FlowProbe)
    named = {each.name: each for each in inner.spec.tasks}
    for status in probe.task_status_list:
        if status.task_name in named and not _all_in(inner, named[status.task_name], status.phase):
            return False
    questions = _questions(inner, named, probe)
    if questions is None:
        return False  # A pod that has no address yet cannot be asked.
    if not (questions["http"] or questions["tcp"]):
        return True
    return _asked(run, frame, (target, task), questions).phase is Phase.SUCCEEDED


def _pod(job: JobFrame | JobLeaf, task: str, index: int) -> Node | None:
    """Give the pod that stands for a replica."""
    if isinstance(job, JobLeaf):
        return job.pods.get((task, index))
    return job.slots[task, index].node


def _host(job: JobFrame | JobLeaf, task: str) -> str:
    """Give where the first replica of a task listens: on a cluster that is told."""
    pod = _pod(job, task, 0)
    if pod is not None and pod.pod_ip:
        return pod.pod_ip
    return "" if isinstance(job, JobLeaf) else address(job.name, task, 0)


def _all_in(job: JobFrame | JobLeaf, task: JobTask, phase: str) -> bool:
    for index in range(task.replicas):
        node = _pod(job, task.name, index)
        if node is None or node.phase not in _GOOD.get(phase, set()):
            return False
    return True


def _questions(
    job: JobFrame | JobLeaf, named: dict[str, JobTask], probe: FlowProbe
) -> dict[str, Any] | None:
    """Which services to ask: the first replica of each task that a probe names."""
    asked = {
        "http": [
            {"host": _host(job, each.task_name), **_request(each)}
            for each in probe.http_get_list
            if each.task_name in named
        ],
        "tcp": [
            {"host": _host(job, each.task_name), "port": each.port}
            for each in probe.tcp_socket_list
            if each.task_name in named
        ],
    }
    everywhere = [each["host"] for group in asked.values() for each in group]
    return asked if all(everywhere) else None


def _request(probe: HTTPGetProbe) -> dict[str, Any]:
    header = probe.http_header
    return {
        "port": probe.port,
        "path": probe.path or "/",
        "headers": {} if header is None else {header.name: header.value},
    }


def _asked(
    run: Run, frame: DagFrame, pair: tuple[TaskState, TaskState], questions: dict[str, Any]
) -> Node:
    """Give the leaf that asks, started if it is not there."""
    target, task = pair
    name = _name(frame, target, task)
    known = run.node_named(name)
    if known is not None and (known.ended or known.id in run.leaves):
        return known
    assert target.node is not None
    call = Call(
        name=name,
        holder=model.DAGTask(name=f"{task.task.name}.ready", template=task.task.template),
        base=frame.prepared.base,
        arguments=model.Arguments(),
        boundary=frame.node,
        tell=_answered,
        frame=(frame, target),
        parents=(target.node.id,),
        depth=frame.call.depth + 1,
    )
    template = model.Template(name=f"{task.task.name}-ready", volcano_probe=questions)
    node = leaf.start(
        run, call, msgspec.structs.replace(frame.prepared, kind="volcano_probe"), template
    )
    run.waiters[node.id] = (_answered, (frame, target))
    return node


def _name(frame: DagFrame, target: TaskState, task: TaskState) -> str:
    return f"{frame.node.name}.{task.task.name}.ready-{target.task.name}"


def _answered(run: Run, where: tuple[DagFrame, TaskState], node: Node) -> None:
    """A service answered: whoever waits for the Job is looked at again."""
    target = where[1]
    if node.ended and target.node is not None:
        run.notify(target.node)


def give_up(run: Run, frame: DagFrame, target: TaskState) -> None:
    """The Job has ended: nobody needs an answer any more."""
    for task in target.followers():
        if task.task.ready is not None:
            node = run.node_named(_name(frame, target, task))
            if node is not None and node.type is NodeType.PROBE and not node.ended:
                leaf.fail(run, node, "the job ended before its services answered")
