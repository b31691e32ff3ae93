"""Steps templates: groups one after another, the steps of a group at the same time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from tiphys.engine import leaf, locks, metric
from tiphys.engine.abandon import abandon
from tiphys.engine.hook import Hooks, check, has_hooks
from tiphys.engine.loop import expand_loop, expands, passes
from tiphys.engine.node import Node, NodeType, Phase
from tiphys.engine.outputs import outbound, publish, template_outputs
from tiphys.engine.reference import resolve_step
from tiphys.engine.resolve import UnresolvedError
from tiphys.engine.run import Call, HardError, Run, add_node, open_node, set_phase
from tiphys.engine.scope import Scope, aggregate, artifacts_of, facts_of
from tiphys.engine.shield import shield
from tiphys.engine.throttle import FAIL_FAST, blocked, failed_fast
from tiphys.errors import ExpressionError
from tiphys.spec import model

if TYPE_CHECKING:
    from tiphys.engine.resolve import Prepared


class Child(msgspec.Struct, eq=False):
    """One step of the group that is under way."""

    step: model.WorkflowStep
    node: Node
    hooks: Hooks | None = None
    done: bool = False


class StepsFrame(msgspec.Struct, eq=False):
    """A steps template under way."""

    call: Call
    prepared: Prepared
    template: model.Template
    node: Node
    scope: Scope
    index: int = -1
    group: Node | None = None
    ready: deque[model.WorkflowStep] = msgspec.field(default_factory=deque)
    children: dict[str, Child] = msgspec.field(default_factory=dict)
    open: int = 0
    """Children that are not done."""
    advance: bool = True
    """The next group is to be opened."""

    @property
    def groups(self) -> tuple[tuple[model.WorkflowStep, ...], ...]:
        """The groups of the template."""
        return self.template.steps or ()

    def started_nodes(self) -> Iterable[Node]:
        """Give the steps of the group, and their hooks."""
        for child in self.children.values():
            yield child.node
            if child.hooks is not None:
                yield from child.hooks.started.values()

    def pump(self, run: Run) -> None:
        """Open the next group if it is time, and start what may be started."""
        if self.advance:
            self.advance = False
            _next_group(run, self)
        else:
            _pump(run, self)


def start(run: Run, call: Call, prepared: Prepared, template: model.Template) -> Node:
    """Begin a steps template, or take it up where it was left."""
    node = open_node(run, call, NodeType.STEPS, template)
    scope = Scope(run)
    scope.add_inputs(template.inputs)
    frame = StepsFrame(call, prepared, template, node, scope)
    run.frames[node.id] = frame
    run.dirty[frame] = None
    return node


def _next_group(run: Run, frame: StepsFrame) -> None:
    """Open the next group; groups that ended before a restart are passed quickly."""
    while not frame.node.ended:
        frame.index += 1
        if frame.index >= len(frame.groups):
            _succeed(run, frame)
            return
        frame.group = _group_node(run, frame)
        frame.children, frame.ready, frame.open = {}, deque(), 0
        if not frame.group.ended:
            _open(run, frame)
            return
        if frame.group.unsuccessful:
            _fail(run, frame)
            return
        _take_up_daemons(run, frame)
        _remember(run, frame)


def _take_up_daemons(run: Run, frame: StepsFrame) -> None:
    """After a restart: daemons of a group that ended go on, and somebody must attend to them."""
    assert frame.group is not None
    children = (run.nodes[each] for each in run.children.get(frame.group.id, ()))
    active = {node.name for node in children if not node.ended}
    if not active:
        return
    for step in _expanded(run, frame):
        if f"{frame.group.name}.{step.name}" in active:
            run.execute(run, _child_call(frame, step))


def _group_node(run: Run, frame: StepsFrame) -> Node:
    name = f"{frame.node.name}[{frame.index}]"
    known = run.node_named(name)
    if known is not None:
        return known
    call = Call(
        name=name,
        holder=model.WorkflowStep(),
        base=frame.prepared.base,
        arguments=model.Arguments(),
        boundary=frame.node,
        tell=_ignore,
        frame=None,
        parents=tuple(_before(run, frame)),
    )
    return add_node(run, call, NodeType.STEP_GROUP, Phase.RUNNING)


def _ignore(_run: Run, _frame: object, _node: Node) -> None:
    """The frame itself ends its groups."""


def _before(run: Run, frame: StepsFrame) -> list[str]:
    """Give the nodes below which the group hangs: where the group before it ended."""
    if frame.index == 0:
        return [frame.node.id]
    previous = run.node_id(f"{frame.node.name}[{frame.index - 1}]")
    children = run.children.get(previous)
    if not children:
        return [previous]
    return [leaf_id for child in children for leaf_id in outbound(run, child)]


def _open(run: Run, frame: StepsFrame) -> None:
    assert frame.group is not None
    try:
        steps = _expanded(run, frame)
    except (UnresolvedError, ExpressionError) as error:
        _fail_group(run, frame, Phase.ERROR, str(error))
        return
    group = frame.group.name
    # Steps whose nodes are there come first, for they take up room already.
    frame.ready.extend(sorted(steps, key=lambda s: run.node_named(f"{group}.{s.name}") is None))
    frame.open = len(steps)
    _pump(run, frame)
    _close_if_done(run, frame)


def _expanded(run: Run, frame: StepsFrame) -> list[model.WorkflowStep]:
    """Resolve the steps of the group and unroll its loops."""
    try:
        resolved = [resolve_step(s, frame.scope, _absent(run, frame)) for s in _current(frame)]
    except UnresolvedError as error:
        raise UnresolvedError(f"failed to resolve references: {error}") from None
    found: list[model.WorkflowStep] = []
    for step in resolved:
        if not expands(step):
            found.append(step)
            continue
        unrolled = list(expand_loop(step, frame.scope))
        if not unrolled:
            _pass_over(run, frame, step, "Skipped, empty params")
        found.extend(unrolled)
    return found


def _current(frame: StepsFrame) -> tuple[model.WorkflowStep, ...]:
    return frame.groups[frame.index]


def _absent(run: Run, frame: StepsFrame) -> Callable[[str], bool]:
    def absent(tag: str) -> bool:
        name = tag.split(".")[1] if tag.count(".") >= 2 else ""
        for index in range(frame.index):
            node = run.node_named(f"{frame.node.name}[{index}].{name}")
            if node is not None:
                return node.phase in {Phase.SKIPPED, Phase.OMITTED}
        return False

    return absent


def _child_call(frame: StepsFrame, step: model.WorkflowStep) -> Call:
    assert frame.group is not None
    return Call(
        name=f"{frame.group.name}.{step.name}",
        holder=step,
        base=frame.prepared.base,
        arguments=step.arguments,
        boundary=frame.node,
        tell=_child_changed,
        frame=frame,
        parents=(frame.group.id,),
        on_exit=frame.call.on_exit,
        depth=frame.call.depth + 1,
    )


def _pass_over(
    run: Run, frame: StepsFrame, step: model.WorkflowStep, why: str, phase: Phase = Phase.SKIPPED
) -> Node:
    call = _child_call(frame, step)
    known = run.node_named(call.name)
    if known is not None:
        run.waiters[known.id] = (call.tell, call.frame)
        return known
    return add_node(run, call, NodeType.SKIPPED, phase, message=why)


def _pump(run: Run, frame: StepsFrame) -> None:
    if frame.group is None or frame.group.ended or frame.node.ended:
        return
    while frame.ready:
        step = frame.ready[0]
        known = run.node_named(f"{frame.group.name}.{step.name}")
        if known is None and (why := blocked(run, frame)):
            if why == FAIL_FAST:
                break
            return
        frame.ready.popleft()
        if not _launch(run, frame, step):
            return
    if failed_fast(run, frame):
        _fail_group(run, frame, Phase.FAILED, FAIL_FAST)


def _launch(run: Run, frame: StepsFrame, step: model.WorkflowStep) -> bool:
    """Start one step; False where that ended the group."""
    try:
        if not passes(step.when):
            node = _pass_over(run, frame, step, f"when '{step.when}' evaluated false")
            _add_child(run, frame, step, node)
            return True
    except ExpressionError as error:
        _pass_over(run, frame, step, str(error), Phase.ERROR)
        _fail_group(run, frame, Phase.ERROR, str(error))
        return False
    call = _child_call(frame, step)
    try:
        node = run.execute(run, call)
    except HardError as error:
        _child_errored(run, frame, call.name, str(error))
        return False
    _add_child(run, frame, step, node)
    return not frame.node.ended


def _child_errored(run: Run, frame: StepsFrame, name: str, problem: str) -> None:
    message = f"step group deemed errored due to child {name} error: {problem}"
    _fail_group(run, frame, Phase.ERROR, message)


def _add_child(run: Run, frame: StepsFrame, step: model.WorkflowStep, node: Node) -> None:
    child = frame.children[node.id] = Child(step, node)
    if node.type is not NodeType.SKIPPED and has_hooks(step):
        child.hooks = Hooks(
            holder=step,
            node=node,
            prefix=f"steps.{step.name}",
            base=frame.prepared.base,
            boundary=frame.node,
            scope=frame.scope,
            done=lambda run: _child_changed(run, frame, node),
            depth=frame.call.depth + 1,
        )
    if node.fulfilled or child.hooks is not None:
        run.notify(node)


def _child_changed(run: Run, frame: StepsFrame, node: Node) -> None:
    """A step of the group moved."""
    child = frame.children.get(node.id)
    if child is None or child.done or frame.node.ended:
        return
    if node.id in run.hard:
        _child_errored(run, frame, node.name, run.hard.pop(node.id))
        return
    if node.unsuccessful and failed_fast(run, frame):
        _fail_group(run, frame, Phase.FAILED, FAIL_FAST)
        return
    if child.hooks is not None and not _hooks_done(run, frame, child):
        return
    if not node.fulfilled:
        return
    child.done = True
    frame.open -= 1
    _close_if_done(run, frame)


def _hooks_done(run: Run, frame: StepsFrame, child: Child) -> bool:
    assert child.hooks is not None
    try:
        check(run, child.hooks)
    except (UnresolvedError, ExpressionError, HardError) as error:
        _fail_group(run, frame, Phase.ERROR, str(error))
        return False
    return child.hooks.finished


def _close_if_done(run: Run, frame: StepsFrame) -> None:
    group = frame.group
    if group is None or group.ended or frame.node.ended:
        return
    if frame.open > 0:
        if frame.ready and failed_fast(run, frame):
            _fail_group(run, frame, Phase.FAILED, FAIL_FAST)
        return
    for child in frame.children.values():
        if child.node.unsuccessful and not continues(child.step.continue_on, child.node.phase):
            _fail_group(run, frame, Phase.FAILED, f"child '{child.node.id}' failed")
            return
    set_phase(run, group, Phase.SUCCEEDED)
    _remember(run, frame)
    frame.advance = True
    run.dirty[frame] = None


def continues(rule: model.ContinueOn | None, phase: Phase) -> bool:
    if rule is None:
        return False
    return (rule.error and phase is Phase.ERROR) or (rule.failed and phase is Phase.FAILED)


def _remember(run: Run, frame: StepsFrame) -> None:
    """Make the outputs of the group's steps known to the groups after it."""
    assert frame.group is not None
    try:
        for step in _current(frame):
            _remember_step(run, frame, step)
    except ValueError as error:
        _fail_with_error(run, frame, str(error))


def _remember_step(run: Run, frame: StepsFrame, step: model.WorkflowStep) -> None:
    assert frame.group is not None
    prefix, name = f"steps.{step.name}", f"{frame.group.name}.{step.name}"
    node = run.node_named(name)
    if node is not None:
        if node.phase in {Phase.SKIPPED, Phase.OMITTED}:
            frame.scope.add_facts(prefix, absent_outputs(run, frame.prepared, step))
        frame.scope.add_facts(prefix, facts_of(run, node))
        for key, artifact in artifacts_of(run, node).items():
            frame.scope.artifacts[f"{prefix}.outputs.artifacts.{key}"] = artifact
        return
    looped = [
        run.nodes[child]
        for child in run.children.get(frame.group.id, ())
        if run.nodes[child].name.startswith(f"{name}(")
        and run.nodes[child].type is not NodeType.SKIPPED
    ]
    if looped:
        frame.scope.add_facts(prefix, aggregate(looped))


def absent_outputs(
    run: Run, prepared: Prepared, holder: model.WorkflowStep | model.DAGTask
) -> dict[str, str | None]:
    """Give what stands for the outputs of a node that was passed over: defaults, or nothing."""
    try:
        template = run.templates.find(prepared.base, holder).template
    except UnresolvedError:
        return {}
    found: dict[str, str | None] = {}
    for parameter in template.outputs.parameters:
        default = parameter.value_from.default if parameter.value_from is not None else None
        key = f"outputs.parameters.{parameter.name}"
        found[key] = None if default is None else shield(default)
    return found


def _succeed(run: Run, frame: StepsFrame) -> None:
    frame.node.outbound_nodes = tuple(_last_nodes(run, frame))
    try:
        outputs = template_outputs(frame.template, frame.scope)
    except (UnresolvedError, ExpressionError) as error:
        _fail_with_error(run, frame, str(error))
        return
    if outputs is not None:
        frame.node.outputs = outputs
        publish(run, outputs)
    locks.save_memo(run, frame.node)
    _end(run, frame, Phase.SUCCEEDED, None)


def _last_nodes(run: Run, frame: StepsFrame) -> list[str]:
    index = min(frame.index, len(frame.groups) - 1)
    if index < 0:
        return []
    last = run.node_id(f"{frame.node.name}[{index}]")
    return [leaf_id for child in run.children.get(last, ()) for leaf_id in outbound(run, child)]


def _fail_group(run: Run, frame: StepsFrame, phase: Phase, message: str) -> None:
    assert frame.group is not None
    if not frame.group.ended:
        set_phase(run, frame.group, phase, message)
    _fail(run, frame)


def _fail(run: Run, frame: StepsFrame) -> None:
    """A group without success fails the template, whether it failed or could not be run."""
    assert frame.group is not None
    frame.node.outbound_nodes = tuple(_last_nodes(run, frame))
    _end(run, frame, Phase.FAILED, frame.group.message)


def _fail_with_error(run: Run, frame: StepsFrame, message: str) -> None:
    run.hard[frame.node.id] = message
    _end(run, frame, Phase.ERROR, message)


def _end(run: Run, frame: StepsFrame, phase: Phase, message: str | None) -> None:
    run.frames.pop(frame.node.id, None)
    run.parked.pop(frame, None)
    set_phase(run, frame.node, phase, message)
    leaf.end_daemons(run, frame.node.id)
    if phase is not Phase.SUCCEEDED:
        abandon(run, frame)
    if frame.template.metrics is not None:
        metric.emit_for_node(run, frame.node, frame.template.metrics)
