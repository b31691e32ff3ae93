"""DAG templates: tasks that start as soon as what they depend on has ended.

Tasks that wait for the same know together how many are still to end, so a task's end costs as much
as it has different dependants, however large the graph. Only tasks that a target needs ever get a
node.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from tiphys.engine import leaf, locks, metric
from tiphys.engine.abandon import abandon
from tiphys.engine.dagphase import dag_phase
from tiphys.engine.dagtask import Join, TaskState, needed, rules_of, targets_of
from tiphys.engine.hook import Hooks, check, has_hooks
from tiphys.engine.loop import expand_loop, expands, passes
from tiphys.engine.node import Node, NodeType, Phase
from tiphys.engine.outputs import outbound, publish, template_outputs
from tiphys.engine.reference import resolve_step
from tiphys.engine.resolve import UnresolvedError
from tiphys.engine.run import Call, HardError, Run, add_node, open_node, set_phase
from tiphys.engine.scope import Facts, Scope, aggregate, artifacts_of, facts_of
from tiphys.engine.steps import absent_outputs
from tiphys.engine.throttle import FAIL_FAST, blocked, failed_fast
from tiphys.errors import ExpressionError
from tiphys.spec import model

if TYPE_CHECKING:
    from tiphys.engine.resolve import Prepared


class DagFrame(msgspec.Struct, eq=False):
    """A DAG template under way."""

    call: Call
    prepared: Prepared
    template: model.Template
    node: Node
    targets: tuple[str, ...]
    tasks: dict[str, TaskState]
    open: int
    ready: deque[tuple[TaskState, model.DAGTask]] = msgspec.field(default_factory=deque)
    begun: bool = False
    joins: dict[tuple[str, ...], tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Where tasks that are done end, by what a task needs: in a wide layer many need the same."""
    went_well: dict[tuple[str, ...], bool] = msgspec.field(default_factory=dict)
    """Whether all that a task needs went well, found out once in the same way."""

    def started_nodes(self) -> Iterable[Node]:
        """Give the nodes of the tasks, and their hooks."""
        for state in self.tasks.values():
            if state.node is not None:
                yield state.node
            yield from state.members
            for hooks in state.hooks.values():
                yield from hooks.started.values()

    def pump(self, run: Run) -> None:
        """Begin, or start what may be started."""
        if not self.begun:
            self.begun = True
            for state in list(self.tasks.values()):
                if state.join.waits == 0:
                    _consider(run, self, state)
            _pump(run, self)
            _take_up_early(run, self)
        _pump(run, self)
        _close_if_done(run, self)


def start(run: Run, call: Call, prepared: Prepared, template: model.Template) -> Node:
    """Begin a DAG template, or take it up where it was left."""
    node = open_node(run, call, NodeType.DAG, template)
    assert template.dag is not None
    tasks = {task.name: task for task in template.dag.tasks}
    rules = rules_of(template.dag)
    targets = targets_of(template.dag, rules)
    states = needed(tasks, rules, targets)
    frame = DagFrame(call, prepared, template, node, targets, states, len(states))
    run.frames[node.id] = frame
    run.dirty[frame] = None
    return node


def _consider(run: Run, frame: DagFrame, state: TaskState) -> None:
    """All dependencies of a task have ended: run it, or pass it over."""
    name = _node_name(frame, state.task)
    known = run.node_named(name)
    if known is not None and known.ended and known.type is not NodeType.TASK_GROUP:
        _adopt(run, frame, state, known)
        return
    try:
        if known is None and state.needs and not _wanted(run, frame, state):
            why = "omitted: depends condition not met"
            _pass_over(run, frame, state, state.task, Phase.OMITTED, why)
            return
        tasks = _expanded(run, frame, state)
    except (UnresolvedError, ExpressionError) as error:
        _pass_over(run, frame, state, state.task, Phase.ERROR, str(error))
        return
    if expands(state.task):
        if not tasks:
            _pass_over(run, frame, state, state.task, Phase.SKIPPED, "Skipped, empty params")
            return
        state.node = known or _group(run, frame, state)
        run.waiters[state.node.id] = (_task_changed, (frame, state))
        if has_hooks(state.task):
            _watch_hooks(run, frame, state, state.node)
            run.notify(state.node)
        state.open = len(tasks)
    _enqueue(run, frame, state, tasks)


def _enqueue(run: Run, frame: DagFrame, state: TaskState, tasks: Iterable[model.DAGTask]) -> None:
    """Queue tasks; those whose nodes are there come first, for they take up room already."""
    there = []
    for task in tasks:
        if run.node_named(_node_name(frame, task)) is None:
            frame.ready.append((state, task))
        else:
            there.append((state, task))
    frame.ready.extendleft(reversed(there))


def _node_name(frame: DagFrame, task: model.DAGTask) -> str:
    return f"{frame.node.name}.{task.name}"


def _wanted(run: Run, frame: DagFrame, state: TaskState) -> bool:
    if state.rule is not None:
        return state.rule.evaluate(lambda task, result: _has(run, frame, task, result))
    if state.early:
        return all(name in state.early or _went_well(frame.tasks[name]) for name in state.needs)
    if state.needs not in frame.went_well:
        well = all(_went_well(frame.tasks[name]) for name in state.needs)
        frame.went_well[state.needs] = well
    return frame.went_well[state.needs]


def _went_well(state: TaskState) -> bool:
    node, rule = state.node, state.task.continue_on
    assert node is not None
    if node.phase in {Phase.SUCCEEDED, Phase.SKIPPED} or node.daemoned:
        return True
    if rule is None:
        return False
    return (rule.error and node.phase is Phase.ERROR) or (
        rule.failed and node.phase is Phase.FAILED
    )


_RESULTS = {
    "Succeeded": Phase.SUCCEEDED,
    "Failed": Phase.FAILED,
    "Errored": Phase.ERROR,
    "Skipped": Phase.SKIPPED,
    "Omitted": Phase.OMITTED,
}


def _has(run: Run, frame: DagFrame, task: str, result: str) -> bool:
    state = frame.tasks[task]
    node = state.node
    assert node is not None
    if result in _RESULTS:
        return node.phase is _RESULTS[result]
    if result == "Daemoned":
        return bool(node.daemoned) and node.phase is not Phase.PENDING
    phases = [member.phase for member in state.members]
    if result == "AnySucceeded":
        return Phase.SUCCEEDED in phases
    return bool(phases) and all(phase is Phase.FAILED for phase in phases)


def _expanded(run: Run, frame: DagFrame, state: TaskState) -> list[model.DAGTask]:
    if frame.prepared.plain and _is_settled(state.task):
        return [state.task]
    scope = _scope(run, frame, state)
    task = resolve_step(state.task, scope, _absent(frame))
    return list(expand_loop(task, scope)) if expands(task) else [task]


def _is_settled(task: model.DAGTask) -> bool:
    """Whether there is nothing to resolve in a task without tags."""
    return not (task.when or task.arguments.artifacts or expands(task))


def _absent(frame: DagFrame) -> Callable[[str], bool]:
    def absent(tag: str) -> bool:
        parts = tag.split(".")
        state = frame.tasks.get(parts[1]) if len(parts) > 2 else None
        node = state.node if state is not None else None
        return node is not None and node.phase in {Phase.SKIPPED, Phase.OMITTED}

    return absent


def _scope(run: Run, frame: DagFrame, state: TaskState | None) -> Scope:
    """Give what a task can see: its ancestors; with no task, all that ended."""
    ancestors: set[str] | None = None

    def visible(name: str) -> TaskState | None:
        nonlocal ancestors
        other = frame.tasks.get(name)
        if other is None or other.node is None or state is None or name in state.needs:
            return other if other is not None and other.node is not None else None
        if ancestors is None:
            ancestors = _ancestors(frame, state)
        return other if name in ancestors else None

    def names() -> Iterable[str]:
        return list(frame.tasks) if state is None else _ancestors(frame, state)

    def facts(name: str) -> Facts | None:
        other = visible(name)
        return None if other is None else _facts(run, frame, other)

    def artifacts(name: str) -> dict[str, model.Artifact]:
        other = visible(name)
        return {} if other is None or other.node is None else artifacts_of(run, other.node)

    scope = Scope(
        run, prefix="tasks.", siblings=facts, sibling_names=names, sibling_artifacts=artifacts
    )
    scope.add_inputs(frame.template.inputs)
    return scope


def _ancestors(frame: DagFrame, state: TaskState) -> set[str]:
    found: set[str] = set()
    todo = list(state.needs)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo.extend(frame.tasks[name].needs)
    return found


def _facts(run: Run, frame: DagFrame, state: TaskState) -> Facts:
    node = state.node
    assert node is not None
    if state.facts is not None and node.ended:
        return state.facts
    facts: dict[str, str | None] = {**facts_of(run, node)}
    if node.type is NodeType.TASK_GROUP:
        try:
            facts = {**facts, **aggregate(state.members)}
        except ValueError as error:
            raise UnresolvedError(str(error)) from None
    elif node.phase in {Phase.SKIPPED, Phase.OMITTED}:
        facts = {**absent_outputs(run, frame.prepared, state.task), **facts}
    state.facts = facts
    return facts


def _parents(run: Run, frame: DagFrame, state: TaskState) -> tuple[str, ...]:
    if state.node is not None and state.node.type is NodeType.TASK_GROUP:
        return (state.node.id,)
    if not state.needs:
        return (frame.node.id,)
    known = frame.joins.get(state.needs)
    if known is not None:
        return known
    found: dict[str, None] = {}
    for name in state.needs:
        node = frame.tasks[name].node
        assert node is not None
        found.update(dict.fromkeys(outbound(run, node.id)))
    ends = tuple(found)
    if all(frame.tasks[name].done for name in state.needs):
        frame.joins[state.needs] = ends
    return ends


def _call(run: Run, frame: DagFrame, state: TaskState, task: model.DAGTask) -> Call:
    return Call(
        name=_node_name(frame, task),
        holder=task,
        base=frame.prepared.base,
        arguments=task.arguments,
        boundary=frame.node,
        tell=_task_changed,
        frame=(frame, state),
        parents=_parents(run, frame, state),
        on_exit=frame.call.on_exit,
        depth=frame.call.depth + 1,
    )


def _group(run: Run, frame: DagFrame, state: TaskState) -> Node:
    call = _call(run, frame, state, state.task)
    return add_node(run, call, NodeType.TASK_GROUP, Phase.RUNNING)


def _pass_over(
    run: Run, frame: DagFrame, state: TaskState, task: model.DAGTask, phase: Phase, why: str
) -> None:
    call = _call(run, frame, state, task)
    known = run.node_named(call.name)
    if known is None:
        known = add_node(run, call, NodeType.SKIPPED, phase, message=why)
    elif not known.ended:
        set_phase(run, known, Phase.ERROR, why)
    _adopt(run, frame, state, known)


def _adopt(run: Run, frame: DagFrame, state: TaskState, node: Node) -> None:
    """Note a node of the task: the task itself, or one of its loop."""
    run.waiters[node.id] = (_task_changed, (frame, state))
    if state.node is not None and state.node.type is NodeType.TASK_GROUP and node is not state.node:
        state.members.append(node)
    else:
        state.node = node
    if has_hooks(state.task):
        _watch_hooks(run, frame, state, node)
    run.notify(node)


def _watch_hooks(run: Run, frame: DagFrame, state: TaskState, node: Node) -> None:
    state.hooks[node.id] = Hooks(
        holder=state.task,
        node=node,
        prefix=f"tasks.{state.task.name}",
        exit_only=node is not state.node,
        base=frame.prepared.base,
        boundary=frame.node,
        scope=_scope(run, frame, state),
        done=lambda run: _task_changed(run, (frame, state), node),
        depth=frame.call.depth + 1,
    )


def _pump(run: Run, frame: DagFrame) -> None:
    if frame.node.ended:
        return
    while frame.ready:
        state, task = frame.ready[0]
        known = run.node_named(_node_name(frame, task))
        if known is None and (why := blocked(run, frame)):
            if why == FAIL_FAST:
                break
            return
        frame.ready.popleft()
        _launch(run, frame, state, task)


def _launch(run: Run, frame: DagFrame, state: TaskState, task: model.DAGTask) -> None:
    try:
        if not passes(task.when):
            why = f"when '{task.when}' evaluated false"
            _pass_over(run, frame, state, task, Phase.SKIPPED, why)
            return
    except ExpressionError as error:
        _pass_over(run, frame, state, task, Phase.ERROR, str(error))
        return
    call = _call(run, frame, state, task)
    try:
        node = run.execute(run, call)
    except HardError as error:
        why = f"task '{call.name}' errored: {error}"
        known = run.node_named(call.name)
        if known is not None:
            known.message = why
        _pass_over(run, frame, state, task, Phase.ERROR, why)
        return
    _adopt(run, frame, state, node)


def _task_changed(run: Run, where: tuple[DagFrame, TaskState], node: Node) -> None:
    """A node of a task moved."""
    frame, state = where
    if frame.node.ended:
        return
    run.hard.pop(node.id, None)
    if node.unsuccessful and failed_fast(run, frame):
        _end(run, frame, Phase.FAILED, FAIL_FAST)
        return
    if node.id in state.hooks and not _hooks_done(run, frame, state, node):
        return
    if not node.fulfilled or state.done:
        if node.type is NodeType.JOB:
            _let_early(run, frame, state)
        return
    if state.node is None or state.node.type is not NodeType.TASK_GROUP or node is state.node:
        _finish(run, frame, state)
    else:
        _member_done(run, frame, state)


def _hooks_done(run: Run, frame: DagFrame, state: TaskState, node: Node) -> bool:
    hooks = state.hooks[node.id]
    try:
        check(run, hooks)
    except (UnresolvedError, ExpressionError, HardError) as error:
        if isinstance(error, HardError) and state.task.name not in frame.targets:
            return True
        run.hard[frame.node.id] = str(error)
        _end(run, frame, Phase.ERROR, str(error))
        return False
    return hooks.finished


def _member_done(run: Run, frame: DagFrame, state: TaskState) -> None:
    """A node of a loop is done; the group ends with the last."""
    group = state.node
    assert group is not None
    if len(state.members) < state.open:
        return
    if not all(_is_done(state, member) for member in state.members):
        return
    if group.ended:  # Before a restart.
        run.notify(group)
        return
    phase = Phase.SUCCEEDED
    for member in state.members:
        if member.unsuccessful:
            phase = member.phase
    set_phase(run, group, phase)


def _is_done(state: TaskState, member: Node) -> bool:
    hooks = state.hooks.get(member.id)
    return member.fulfilled and (hooks is None or hooks.finished)


def _finish(run: Run, frame: DagFrame, state: TaskState) -> None:
    """A task is done: look at those that wait for it."""
    state.done = True
    frame.open -= 1
    run.dirty[frame] = None
    if state.node is not None and state.node.type is NodeType.JOB:
        _give_up_probes(run, frame, state)
    if not leaf.may_run(run, frame.call.on_exit):
        return
    freed: list[TaskState] = []
    for join in state.feeds:
        if state.task.name not in join.tasks[0].early:
            freed += _counted_down(join)
    freed.sort(key=_place)
    for other in freed:
        _consider(run, frame, other)


def _counted_down(join: Join) -> list[TaskState]:
    """Note an end; give the tasks that need not wait any more."""
    join.waits -= 1
    return [] if join.waits else join.tasks


def _place(state: TaskState) -> int:
    return state.place


def _let_early(run: Run, frame: DagFrame, state: TaskState) -> None:
    """A Job goes on: some that wait for it may start now."""
    from tiphys.engine.readiness import passed  # noqa: PLC0415 - few graphs have probes

    for other in state.followers():
        waits = other.task.ready is not None and state.task.name not in other.early
        if waits and passed(run, frame, state, other):
            other.early.add(state.task.name)
            for freed in _counted_down(other.join):
                _consider(run, frame, freed)
    run.dirty[frame] = None


def _take_up_early(run: Run, frame: DagFrame) -> None:
    """After a restart: tasks that began before what they depend on had ended."""
    for state in frame.tasks.values():
        if state.task.ready is None or not state.join.waits:
            continue
        if run.node_named(_node_name(frame, state.task)) is not None:
            state.early.update(name for name in state.needs if not frame.tasks[name].done)
            state.join.waits = 0
            _consider(run, frame, state)


def _give_up_probes(run: Run, frame: DagFrame, state: TaskState) -> None:
    if any(other.task.ready is not None for other in state.followers()):
        from tiphys.engine.readiness import give_up  # noqa: PLC0415 - few graphs have probes

        give_up(run, frame, state)


def _close_if_done(run: Run, frame: DagFrame) -> None:
    if frame.node.ended or not frame.begun:
        return
    if failed_fast(run, frame):
        _end(run, frame, Phase.FAILED, FAIL_FAST)
        return
    if not leaf.may_run(run, frame.call.on_exit):
        if all(state.done or state.node is None for state in frame.tasks.values()):
            _end(run, frame, Phase.FAILED, None)
        return
    if frame.open > 0:
        return
    assert frame.template.dag is not None
    fail_fast = frame.template.dag.fail_fast is not False
    phase = dag_phase(run, frame.node, _target_states(frame), fail_fast=fail_fast)
    if phase is Phase.SUCCEEDED:
        _succeed(run, frame)
    else:
        _end(run, frame, phase, None)


def _target_states(frame: DagFrame) -> list[tuple[model.DAGTask, Node]]:
    states = [frame.tasks[name] for name in frame.targets]
    return [(state.task, state.node) for state in states if state.node is not None]


def _succeed(run: Run, frame: DagFrame) -> None:
    scope = _scope(run, frame, None)
    try:
        for state in frame.tasks.values():
            if state.node is not None:
                publish(run, state.node.outputs)
        outputs = template_outputs(frame.template, scope)
    except (UnresolvedError, ExpressionError) as error:
        run.hard[frame.node.id] = str(error)
        _end(run, frame, Phase.ERROR, str(error))
        return
    if outputs is not None:
        frame.node.outputs = outputs
    locks.save_memo(run, frame.node)
    _end(run, frame, Phase.SUCCEEDED, None)


def _end(run: Run, frame: DagFrame, phase: Phase, message: str | None) -> None:
    found: list[str] = []
    for name in frame.targets:
        node = frame.tasks[name].node
        if node is not None:
            found.extend(outbound(run, node.id))
    frame.node.outbound_nodes = tuple(found)
    run.frames.pop(frame.node.id, None)
    run.parked.pop(frame, None)
    set_phase(run, frame.node, phase, message)
    leaf.end_daemons(run, frame.node.id)
    if phase is not Phase.SUCCEEDED:
        abandon(run, frame)
    if frame.template.metrics is not None:
        metric.emit_for_node(run, frame.node, frame.template.metrics)
