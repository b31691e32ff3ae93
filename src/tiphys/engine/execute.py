"""Turning a call into a node: find the template, give it its inputs, start what it is.

``execute`` makes the node of a call if there is none yet, or takes up one that an earlier process
left unfinished: the same code starts a run and restores it. It raises ``HardError`` where the
template itself cannot be executed; the node is then in Error, and the parent must end too (as in
Argo).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tiphys.core.duration import parse_duration
from tiphys.engine import leaf, locks
from tiphys.engine.inputs import template_of
from tiphys.engine.node import MemoizationStatus, Node, NodeType, Phase
from tiphys.engine.resolve import Prepared, UnresolvedError
from tiphys.engine.run import Call, HardError, Run, add_node, put_error, refuse, set_phase
from tiphys.engine.shield import unshield
from tiphys.errors import ExpressionError, InvalidInputError

if TYPE_CHECKING:
    from tiphys.spec import model

MAX_DEPTH = 100
TOO_DEEP = (
    "max_depth_exceeded: the maximum recursion depth of 100 was reached; "
    "an endless recursion, or templates nested too deeply"
)


def execute(run: Run, call: Call) -> Node:
    """Execute ``call``; give its node."""
    node = run.node_named(call.name)
    if node is not None:
        run.waiters[node.id] = (call.tell, call.frame)
        if node.ended:
            return node
    if call.depth >= MAX_DEPTH - 1:
        return put_error(run, call, TOO_DEEP)
    try:
        prepared = run.templates.find(call.base, call.holder)
        template = template_of(run, call, prepared)
    except (UnresolvedError, ExpressionError) as error:
        refuse(run, call, str(error))
    return _begin(run, call, prepared, template, node)


def _begin(
    run: Run, call: Call, prepared: Prepared, template: model.Template, node: Node | None
) -> Node:
    waits = template.synchronization is not None or template.memoize is not None
    if waits and (node is None or node.phase is Phase.PENDING):
        return _begin_later(run, call, prepared, template, node)
    if node is not None and node.ours.locked and template.synchronization is not None:
        names = locks.lock_names(run, template.synchronization)
        if not isinstance(names, str):
            locks.acquire(run, node, names)
    return begin(run, call, prepared, template)


def begin(run: Run, call: Call, prepared: Prepared, template: model.Template) -> Node:
    """Start the template, with retries where it has any."""
    if prepared.retry is not None:
        from tiphys.engine import retry  # noqa: PLC0415 - many workflows retry nothing

        return retry.start(run, call, prepared, template)
    return dispatch(run, call, prepared, template)


def dispatch(run: Run, call: Call, prepared: Prepared, template: model.Template) -> Node:
    """Start one attempt of the template, whatever its type."""
    try:
        if prepared.kind == "steps":
            from tiphys.engine import steps  # noqa: PLC0415 - many runs are one task

            return steps.start(run, call, prepared, template)
        if prepared.kind == "dag":
            from tiphys.engine import dag  # noqa: PLC0415

            return dag.start(run, call, prepared, template)
        if prepared.kind == "volcano_job":
            return _start_job(run, call, prepared, template)
        return leaf.start(run, call, prepared, template)
    except (UnresolvedError, ExpressionError, InvalidInputError) as error:
        refuse(run, call, str(error))


def _start_job(run: Run, call: Call, prepared: Prepared, template: model.Template) -> Node:
    from tiphys.engine import job, jobleaf  # noqa: PLC0415 - few runs have one

    start = jobleaf.start if jobleaf.is_elsewhere(run) else job.start
    return start(run, call, prepared, template)


_NODE_TYPES = {
    "steps": NodeType.STEPS,
    "dag": NodeType.DAG,
    "suspend": NodeType.SUSPEND,
    "http": NodeType.HTTP,
    "plugin": NodeType.PLUGIN,
    "volcano_job": NodeType.JOB,
    "volcano_probe": NodeType.PROBE,
}


def node_type(prepared: Prepared) -> NodeType:
    """Give the type of node that a template becomes."""
    return _NODE_TYPES.get(prepared.kind, NodeType.POD)


class Gate:
    """A node that may not begin yet: it waits for locks, or for what memory has to say."""

    __slots__ = ("call", "memo_asked", "prepared", "template")

    def __init__(self, call: Call, prepared: Prepared, template: model.Template) -> None:
        self.call, self.prepared, self.template = call, prepared, template
        self.memo_asked = False

    def started_nodes(self) -> Iterable[Node]:
        """Nothing is started before the gate is passed."""
        return ()


def _begin_later(
    run: Run, call: Call, prepared: Prepared, template: model.Template, node: Node | None
) -> Node:
    wanted = template.synchronization
    names = locks.lock_names(run, wanted) if wanted is not None else ()
    if isinstance(names, str):
        refuse(run, call, names)
    if node is None:
        kind = NodeType.RETRY if prepared.retry is not None else node_type(prepared)
        node = add_node(run, call, kind, Phase.PENDING)
        node.inputs = template.inputs if has_inputs(template) else None
        _set_timeout(run, node, template)
    run.frames[node.id] = Gate(call, prepared, template)
    if names:
        locks.acquire(run, node, names)
    else:
        ask_memo(run, node)
    return node


def _set_timeout(run: Run, node: Node, template: model.Template) -> None:
    """A template's timeout covers the time before it begins, too."""
    if template.timeout:
        leaf.wake(run, node, run.now + parse_duration(unshield(template.timeout)))


def has_inputs(template: model.Template) -> bool:
    """Whether the template takes anything."""
    return bool(template.inputs.parameters or template.inputs.artifacts)


def locks_granted(run: Run, node: Node) -> None:
    """Go on with a node whose locks were granted."""
    gate = run.frames.get(node.id)
    if isinstance(gate, Gate):
        node.ours.locked = True
        run.wait_for_lock(node, "", "")
        ask_memo(run, node)


def ask_memo(run: Run, node: Node) -> None:
    """Ask for remembered outputs where the template wants it; else go on at once."""
    gate = run.frames[node.id]
    memo = gate.template.memoize
    if memo is None or memo.cache is None:
        pass_gate(run, node)
        return
    max_age = None
    try:
        if memo.max_age:
            max_age = parse_duration(unshield(memo.max_age))
    except InvalidInputError as error:
        fail_gate(run, node, f"invalid maxAge: {error}")
        return
    gate.memo_asked = True
    locks.read_memo(run, node, memo, max_age)


def memo_read(run: Run, node: Node, outputs: model.Outputs | None, *, hit: bool) -> None:
    """Go on with what memory said."""
    gate = run.frames.get(node.id)
    if not isinstance(gate, Gate) or not gate.memo_asked:
        return
    memo = gate.template.memoize
    assert memo is not None
    assert memo.cache is not None
    node.memoization_status = MemoizationStatus(
        hit=hit, key=unshield(memo.key), cache_name=unshield(memo.cache.config_map.name)
    )
    run.touch(node)
    if hit:
        node.outputs = outputs
        del run.frames[node.id]
        set_phase(run, node, Phase.SUCCEEDED)
    else:
        pass_gate(run, node)


def pass_gate(run: Run, node: Node) -> None:
    """Begin a node that waited."""
    gate = run.frames.pop(node.id)
    try:
        begin(run, gate.call, gate.prepared, gate.template)
    except HardError as error:
        run.hard[node.id] = str(error)
        run.notify(node)


def fail_gate(run: Run, node: Node, message: str) -> None:
    """End a node that cannot get its locks."""
    run.frames.pop(node.id, None)
    run.hard[node.id] = message
    set_phase(run, node, Phase.ERROR, message)
