"""Nodes that something outside of the engine runs.

pods, pauses, requests, and the daemons among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from tiphys.core.duration import parse_duration, parse_duration_or_seconds
from tiphys.engine import locks, metric
from tiphys.engine.command import Gang, StartNode, StopNode, WakeAt
from tiphys.engine.event import Shutdown
from tiphys.engine.layer import layer_of
from tiphys.engine.node import ACTIVE, Node, NodeType, Phase
from tiphys.engine.outputs import publish
from tiphys.engine.resolve import UnresolvedError
from tiphys.engine.run import Call, Leaf, add_node, set_phase
from tiphys.errors import InvalidInputError
from tiphys.spec import model

if TYPE_CHECKING:
    from tiphys.engine.event import ContainerEnded, NodeEnded, NodeReady, NodeStarted, RunResumed
    from tiphys.engine.resolve import Prepared
    from tiphys.engine.run import Run

replace = msgspec.structs.replace

UNRELEASED = "its layer waits to be released: resume releases the next one"
_TYPES = {
    "suspend": NodeType.SUSPEND,
    "http": NodeType.HTTP,
    "plugin": NodeType.PLUGIN,
    "volcano_probe": NodeType.PROBE,
}


def start(
    run: Run,
    call: Call,
    prepared: Prepared,
    template: model.Template,
    gang: Gang | None = None,
) -> Node:
    """Make the node of a leaf and ask for it to be run; or take up one that is there."""
    node = run.node_named(call.name)
    if node is None:
        kind = _TYPES.get(prepared.kind, NodeType.POD)
        node = add_node(run, call, kind, Phase.PENDING)
    if node.inputs is None and (template.inputs.parameters or template.inputs.artifacts):
        node.inputs = template.inputs
    run.leaves[node.id] = Leaf(call, template, gang=gang)
    display = template.annotations.get("workflows.argoproj.io/display-name")
    if display:
        node.display_name = display
    deadline = run_deadline(run)
    late = deadline is not None and run.now >= deadline and not call.on_exit
    # One that was let in before a restart may have ended in time: the deadline's own event decides.
    if late and not node.ours.admitted:
        set_phase(run, node, Phase.FAILED, "Step exceeded its deadline")
        return node
    if not may_run(run, call.on_exit):
        set_phase(run, node, Phase.FAILED, f"workflow shutdown with strategy:  {run.shutdown}")
        return node
    if prepared.kind == "suspend":
        _pause(run, node, template)
    else:
        _check_priority_class(run, template)
        _add_containers(run, call, node, template)
        waits = awaits_release(run, node)
        if waits or _is_over(run, node):
            node.message = UNRELEASED if waits else node.message
            _hold(run, node, held=True)
            run.parked[HeldLeaf(node)] = None
        else:
            queue(run, node)
    return node


def _is_over(run: Run, node: Node) -> bool:
    """Whether the run's parallelism is exceeded now that the node counts."""
    limit = run.spec.parallelism
    fresh = node.ours.attempt == 0 and node.type is NodeType.POD
    full = limit is not None and run.active_pods > limit
    return fresh and (run.suspended or full)


def awaits_release(run: Run, node: Node) -> bool:
    """Whether a pod is of a layer that somebody has to release (``suspendBySteps``)."""
    if not run.spec.suspend_by_steps or node.type is not NodeType.POD:
        return False
    fresh = node.ours.attempt == 0 and not node.ended and not node.ours.on_exit
    return fresh and layer_of(run, node) not in run.released


def release(run: Run, nodes: tuple[str, ...] = ()) -> None:
    """Release the layers of some nodes, or the one that has waited longest."""
    held = [each.node for each in run.parked if isinstance(each, HeldLeaf)]
    waiting = [node for node in held if awaits_release(run, node)]
    wanted = [node for node in waiting if node.id in nodes] if nodes else waiting[:1]
    for node in wanted:
        run.released.add(layer_of(run, node))
    if wanted:
        run.dirty.update(run.parked)


def _hold(run: Run, node: Node, *, held: bool) -> None:
    run.account(node, -1)
    node.ours.held = held
    run.account(node, +1)
    run.touch(node)


class HeldLeaf:
    """A pod that the run has no room for, but that is there already: a hook's, or a lock's."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node

    def pump(self, run: Run) -> None:
        """Start it if there is room now."""
        limit = run.spec.parallelism
        if self.node.ended or not self.node.ours.held:
            run.parked.pop(self, None)
        elif awaits_release(run, self.node):
            return
        elif not run.suspended and (limit is None or run.active_pods < limit):
            run.parked.pop(self, None)
            self.node.message = ""
            _hold(run, self.node, held=False)
            queue(run, self.node)


_SCHEDULER, _LOCAL, _ASKED = "tiphys.dev/scheduler", "local", "tiphys.dev/asked-scheduler"


def _check_priority_class(run: Run, template: model.Template) -> None:
    """Refuse a class that nobody declared, as Kubernetes refuses the pod.

    Work for a cluster means one of the cluster's, which refuses the pod itself.
    """
    meta = run.workflow.metadata
    if meta.labels.get(_SCHEDULER, _LOCAL) != _LOCAL or _ASKED in meta.annotations:
        return
    name = template.priority_class_name or run.spec.pod_priority_class_name
    if name and name not in run.library.priority_classes:
        raise UnresolvedError(
            f"no PriorityClass with name {name} was found "
            "(add a PriorityClass document, or `priorityClasses:` to the configuration)"
        )


def run_deadline(run: Run) -> float | None:
    """Give the instant at which the whole run is out of time."""
    seconds = run.spec.active_deadline_seconds
    if seconds is None or run.started_at is None:
        return None
    return run.started_at + seconds


def may_run(run: Run, on_exit: bool) -> bool:
    """Whether new work may start: not once the run is told to end, but exit handlers do on Stop."""
    if run.shutdown is Shutdown.TERMINATE:
        return False
    return run.shutdown is Shutdown.NONE or on_exit


def queue(run: Run, node: Node) -> None:
    """Ask for the node to be run; again after a restart of the engine, if it was asked before."""
    leaf = run.leaves[node.id]
    again = node.ours.attempt > 0
    if not again:
        run.starts += 1
        run.header_changed = True
        node.ours.attempt = run.starts
        if node.ours.queued_at is None:
            node.ours.queued_at = run.now  # Kept when it is preempted: it does not lose its turn.
        run.touch(node)
    deadline_at = _deadline(run, node, leaf)
    if deadline_at is not None and node.phase is Phase.PENDING:
        wake(run, node, deadline_at)
    run.emit(
        StartNode(
            node=node.id,
            attempt=node.ours.attempt,
            template=leaf.template,
            capture_result=_captures(run, leaf),
            deadline_at=deadline_at,
            on_exit=leaf.call.on_exit,
            again=again,
            gang=leaf.gang,
        )
    )


def _deadline(run: Run, node: Node, leaf: Leaf) -> float | None:
    found = [] if leaf.call.deadline_at is None else [leaf.call.deadline_at]
    if leaf.template.timeout:
        try:
            found.append((node.started_at or run.now) + parse_duration(leaf.template.timeout))
        except InvalidInputError as error:
            raise UnresolvedError(f"invalid timeout format. {error}") from None
    return min(found, default=None)


def _captures(run: Run, leaf: Leaf) -> bool:
    """Whether anybody reads ``outputs.result`` of this leaf."""
    if leaf.template.data is not None or leaf.template.http is not None:
        return True
    call = leaf.call
    if call.boundary is not None and call.boundary.type is NodeType.JOB:
        # The first pod of a Job speaks for it.
        job = run.frames.get(call.boundary.id)
        return job is not None and call.holder.name == job.speaker and _is_read(run, job.call)
    return _is_read(run, call)


def _is_read(run: Run, call: Call) -> bool:
    """Whether the steps or DAG around a call refer to its result."""
    frame = run.frames.get(call.boundary.id) if call.boundary else None
    if frame is None:
        return False
    name = call.holder.name or call.name.rpartition(".")[2]
    return bool(frame.prepared.reads_result_of(name.partition("(")[0]))


def wake(run: Run, node: Node, at: float) -> None:
    """Have ``woken`` called for ``node`` at this time."""
    node.ours.wake_at = at
    run.touch(node)
    run.emit(WakeAt(at=at, node=node.id))


def woken(run: Run, node: Node) -> None:
    """Time is up for a leaf that was not started yet, or for a pause."""
    if node.ours.wake_at is None or run.now < node.ours.wake_at or node.ended:
        return
    if node.type is NodeType.SUSPEND:
        _expire(run, node)
    elif node.phase is Phase.PENDING:
        stop(run, node)
        set_phase(run, node, Phase.FAILED, "timeout: it was still waiting at its deadline")


def _pause(run: Run, node: Node, template: model.Template) -> None:
    if node.outputs is None:
        supplied = _supplied(template)
        if supplied:
            node.outputs = model.Outputs(parameters=supplied)
    assert template.suspend is not None
    if template.suspend.duration:
        try:
            seconds = parse_duration_or_seconds(template.suspend.duration)
        except InvalidInputError as error:
            raise UnresolvedError(f"unable to parse the suspend duration: {error}") from None
        wake(run, node, (node.started_at or run.now) + seconds)
    set_phase(run, node, Phase.RUNNING)


def _supplied(template: model.Template) -> tuple[model.Parameter, ...]:
    defaults = {p.name: p.default for p in template.inputs.parameters}
    found = []
    for parameter in template.outputs.parameters:
        source = parameter.value_from
        if source is None or source.supplied is None:
            continue
        if source.default is None and defaults.get(parameter.name) is not None:
            source = replace(source, default=defaults[parameter.name])
        found.append(replace(parameter, value_from=source))
    return tuple(found)


def _expire(run: Run, node: Node) -> None:
    missing = _fill_outputs(node, {})
    if missing:
        set_phase(
            run,
            node,
            Phase.ERROR,
            f"the pause is over but output parameter {missing} was not supplied and has no default",
        )
        return
    end(run, node, Phase.SUCCEEDED)


def _fill_outputs(node: Node, values: dict[str, str]) -> str:
    """Give supplied outputs their values or defaults; return the first that has neither."""
    if node.outputs is None:
        return ""
    filled = []
    for parameter in node.outputs.parameters:
        value = values.get(parameter.name, parameter.value)
        source = parameter.value_from
        if value is None and source is not None:
            value = source.default
        if value is None:
            return parameter.name
        filled.append(replace(parameter, value=value, value_from=None))
    node.outputs = replace(node.outputs, parameters=tuple(filled))
    return ""


def _supply(node: Node, values: Mapping[str, str]) -> None:
    """Give some supplied outputs their values; the others are still waited for."""
    if node.outputs is not None:
        parameters = tuple(
            replace(each, value=values[each.name], value_from=None) if each.name in values else each
            for each in node.outputs.parameters
        )
        node.outputs = replace(node.outputs, parameters=parameters)


def resume(run: Run, node: Node, event: RunResumed) -> None:
    """End a pause because somebody said so; without a phase, only give it outputs."""
    if not event.phase:
        _supply(node, event.outputs)
        node.message = event.message or node.message
        run.touch(node)
        return
    phase = Phase(event.phase)
    missing = _fill_outputs(node, dict(event.outputs))
    if missing and phase is Phase.SUCCEEDED:
        node.message = f"output parameter {missing} must be supplied to resume"
        run.touch(node)
        return
    end(run, node, phase, event.message or None)


def end(run: Run, node: Node, phase: Phase, message: str | None = None) -> None:
    """End a leaf: publish its outputs, remember them, emit its metrics, tell its waiter."""
    leaf = run.leaves.pop(node.id, None)
    if phase is Phase.SUCCEEDED:
        publish(run, node.outputs)
        locks.save_memo(run, node)
    if node.type is NodeType.JOB:
        _close_job(run, node, message)
    set_phase(run, node, phase, message)
    if leaf is not None and leaf.template.metrics is not None:
        metric.emit_for_node(run, node, leaf.template.metrics)


def _close_job(run: Run, node: Node, message: str | None) -> None:
    from tiphys.engine import jobleaf  # noqa: PLC0415 - few runs have one

    jobleaf.close(run, node, message)


def started(run: Run, node: Node, event: NodeStarted) -> None:
    """The process exists."""
    if node.phase is not Phase.PENDING:
        return
    node.ours.began_at = event.at
    node.host_node_name = event.host
    if node.ours.pod and not event.ip.startswith("127."):
        node.pod_ip = event.ip  # Of a cluster: where the pods of a Job are probed.
    node.progress = "0/1"
    leaf = run.leaves.get(node.id)
    if node.type is NodeType.JOB:
        # A Job runs when its pods do, which is told apart.
        run.touch(node)
        return
    if leaf is not None and leaf.template.daemon:
        # A daemon shows as running once it is ready.
        run.touch(node)
        return
    set_phase(run, node, Phase.RUNNING, "")
    for child in run.children.get(node.id, ()):
        member = run.nodes[child]
        if member.type is NodeType.CONTAINER and member.phase is Phase.PENDING:
            set_phase(run, member, Phase.RUNNING)


def ready(run: Run, node: Node, event: NodeReady) -> None:
    """A daemon serves: whoever waited for it may go on."""
    if node.phase not in ACTIVE or node.daemoned:
        return
    node.daemoned = True
    node.pod_ip = event.ip
    run.daemons.setdefault(node.boundary_id, set()).add(node.id)
    if node.phase is Phase.PENDING:
        set_phase(run, node, Phase.RUNNING, "")
    else:
        run.touch(node)
        run.notify(node)


def ended(run: Run, node: Node, event: NodeEnded) -> None:
    """The process is over and its outputs are there."""
    if node.ended:
        return
    leaf = run.leaves.get(node.id)
    phase = Phase(event.phase)
    message = event.message
    if leaf is not None and leaf.template.daemon and phase is Phase.SUCCEEDED:
        # Nobody told it to end, and a daemon is there to stay.
        phase, message = Phase.FAILED, message or "the daemon ended by itself"
    node.daemoned = None
    node.pod_ip = ""
    node.ours.cpu_seconds = event.cpu_seconds
    node.ours.memory_bytes = event.memory_bytes
    node.progress = "1/1" if phase is Phase.SUCCEEDED else node.progress
    if event.outputs is not None:
        node.outputs = event.outputs
    _end_containers(run, node, event.containers, phase)
    end(run, node, phase, message)


def _add_containers(run: Run, call: Call, node: Node, template: model.Template) -> None:
    if template.container_set is None or run.children.get(node.id):
        return
    members = {}
    for container in template.container_set.containers:
        member_call = Call(
            name=f"{node.name}.{container.name}",
            holder=call.holder,
            base=call.base,
            arguments=model.Arguments(),
            boundary=node,
            tell=_ignore,
            frame=None,
            flag=call.flag,
        )
        members[container.name] = add_node(run, member_call, NodeType.CONTAINER, Phase.PENDING)
    for container in template.container_set.containers:
        parents = [members[name].id for name in container.dependencies if name in members]
        run.connect(parents or [node.id], members[container.name])


def _ignore(_run: Run, _frame: object, _node: Node) -> None:
    """Nobody waits for a single container."""


def _members(run: Run, node: Node) -> list[Node]:
    found, todo = [], list(run.children.get(node.id, ()))
    while todo:
        member = run.nodes[todo.pop()]
        if member.type is NodeType.CONTAINER and member.boundary_id == node.id:
            if member not in found:
                found.append(member)
            todo.extend(run.children.get(member.id, ()))
    return found


def _end_containers(run: Run, node: Node, ends: tuple[ContainerEnded, ...], phase: Phase) -> None:
    told = {end.name: end for end in ends}
    for member in _members(run, node):
        if member.ended:
            continue
        known = told.get(member.name.removeprefix(f"{node.name}."))
        if known is None:
            set_phase(run, member, phase)
            continue
        appeared = member.started_at or run.now
        member.started_at = _between(appeared, known.started_at, run.now)
        set_phase(run, member, Phase(known.phase), known.message)
        member.finished_at = _between(member.started_at, known.finished_at, run.now)


def _between(first: float, at: float | None, now: float) -> float:
    """Give a time that another clock told, which may be coarse, as one that can be; now if none."""
    return now if at is None else min(max(first, at), now)


def preempted(run: Run, node: Node, message: str) -> None:
    """The attempt was stopped to make room: queue again, as if it had not begun."""
    if node.ended or node.id not in run.leaves:
        return
    node.ours.attempt = 0
    node.ours.admitted = False
    node.ours.began_at = None
    set_phase(run, node, Phase.PENDING, message)
    queue(run, node)


def stop(run: Run, node: Node) -> None:
    """Have the attempt ended, or taken from the queue."""
    if node.ours.attempt and node.type is not NodeType.SUSPEND:
        run.emit(StopNode(node=node.id, attempt=node.ours.attempt))


def fail(run: Run, node: Node, message: str) -> None:
    """End a leaf that may not go on, and its process with it."""
    if node.ended:
        return
    stop(run, node)
    node.daemoned = None
    for member in _members(run, node):
        if not member.ended:
            set_phase(run, member, Phase.FAILED, message)
    end(run, node, Phase.FAILED, message)


def end_daemons(run: Run, boundary: str) -> None:
    """End the daemons whose life is bounded by a node that has ended."""
    for each in sorted(run.daemons.pop(boundary, ())):
        node = run.nodes[each]
        if node.ended or not node.daemoned:
            continue
        stop(run, node)
        node.daemoned = None
        run.leaves.pop(node.id, None)
        set_phase(run, node, Phase.SUCCEEDED, "")
