"""The end of a run: the entry node's end, hooks, the exit handler, and the run's own phase."""

from __future__ import annotations

import msgspec

from tiphys.engine import execute, leaf, metric
from tiphys.engine.command import ReleaseLocks
from tiphys.engine.event import Shutdown
from tiphys.engine.hook import EXIT, exit_hook, resolved_artifacts
from tiphys.engine.node import Node, NodeFlag, NodeType, Phase, pod_of
from tiphys.engine.outputs import evaluate_bool
from tiphys.engine.resolve import UnresolvedError
from tiphys.engine.run import Call, HardError, Run, set_phase
from tiphys.engine.scope import Scope, timestamp
from tiphys.engine.shield import shield, unshield
from tiphys.errors import ExpressionError
from tiphys.spec import model
from tiphys.spec.template import compile_template

PHASE_OF_ROOT = {
    Phase.SUCCEEDED: "Succeeded",
    Phase.SKIPPED: "Succeeded",
    Phase.OMITTED: "Succeeded",
    Phase.FAILED: "Failed",
    Phase.ERROR: "Error",
    Phase.RUNNING: "Running",
    Phase.PENDING: "Pending",
}


def execute_root(run: Run) -> None:
    call = Call(
        name=run.name,
        holder=model.WorkflowStep(template=run.spec.entrypoint),
        base=run.templates.local,
        arguments=run.spec.arguments,
        tell=_root_changed,
        frame=None,
    )
    try:
        execute.execute(run, call)
    except HardError as error:
        finish(run, "Error", f"error in entry template execution: {error}")
        return
    _run_hooks(run)


def set_run_phase(run: Run, phase: str, message: str) -> None:
    run.phase, run.message = phase, message
    if phase != "Pending" and run.started_at is None:
        run.started_at = run.now
    run.labels["workflows.argoproj.io/phase"] = phase
    run.labels["workflows.argoproj.io/completed"] = "true" if run.ended else "false"
    run.header_changed = True


def _root_changed(run: Run, _frame: object, node: Node) -> None:
    if run.ended:
        return
    if node.id in run.hard and node.ended:
        finish(run, "Error", f"error in entry template execution: {run.hard.pop(node.id)}")
        return
    advance_end(run)


def advance_end(run: Run) -> None:
    """Take the next step towards the end: hooks, then the exit handler, then the end itself."""
    root = run.nodes.get(run.node_id(run.name))
    if root is None or run.ended:
        return
    run.globals["workflow.status"] = PHASE_OF_ROOT[root.phase]
    if root.fulfilled:
        run.globals["workflow.failures"] = _failures(run)
        seconds = run.now - (run.started_at or run.now)
        run.globals["workflow.duration"] = f"{seconds:f}"
    hooks_done = _run_hooks(run)
    if not root.fulfilled or not hooks_done or run.ended:
        return
    handler = _exit_node(run)
    if run.ended or (handler is not None and not handler.fulfilled):
        return
    _conclude(run, root, handler)


def _failures(run: Run) -> str:
    failed = [
        {
            "displayName": node.display_name,
            "message": node.message,
            "templateName": node.template_name,
            "phase": str(node.phase),
            "podName": pod_of(run.name, node),
            "finishedAt": timestamp(node.finished_at or run.now),
        }
        for node in run.nodes.values()
        if node.unsuccessful
    ]
    text = msgspec.json.encode(failed).decode() if failed else "null"
    # Quoted once more, as Argo does: users decode it twice.
    return shield(msgspec.json.encode(text).decode())


def _run_hooks(run: Run) -> bool:
    """Start the run's hooks whose time has come; tell whether all that were started are done."""
    done = True
    for name, hook in run.spec.hooks.items():
        if name == EXIT:
            continue
        node_name = f"{run.name}.hooks.{name}"
        node = run.node_named(node_name)
        if node is None or (not node.ended and node.id not in run.waiters):
            try:
                if node is None and not evaluate_bool(hook.expression, run.globals):
                    continue
                node = _execute_hook(run, node_name, hook, parents=(run.node_id(run.name),))
            except (ExpressionError, HardError) as error:
                _hook_failed(run, str(error))
                continue
        done = done and node.fulfilled
    return done


def _hook_failed(run: Run, message: str) -> None:
    root = run.node_named(run.name)
    if root is not None and not root.ended:
        set_phase(run, root, Phase.ERROR, message)


def _execute_hook(
    run: Run,
    name: str,
    hook: model.LifecycleHook,
    *,
    parents: tuple[str, ...] = (),
    on_exit: bool = False,
) -> Node:
    call = Call(
        name=name,
        holder=model.WorkflowStep(template=hook.template, template_ref=hook.template_ref),
        base=run.templates.local,
        arguments=_late_arguments(run, hook.arguments),
        tell=_hook_changed,
        frame=None,
        parents=parents,
        on_exit=on_exit,
        flag=NodeFlag(hooked=True),
    )
    return execute.execute(run, call)


def _late_arguments(run: Run, arguments: model.Arguments) -> model.Arguments:
    """Resolve what is known only now: ``workflow.status``, ``workflow.failures``, outputs."""
    if not arguments.parameters and not arguments.artifacts:
        return arguments
    text = msgspec.json.encode(arguments).decode()
    rendered = compile_template(text).render(run.globals, allow_unresolved=True, json_text=True)
    found = msgspec.json.decode(unshield(rendered), type=model.Arguments)
    if not found.artifacts:
        return found
    try:
        artifacts = resolved_artifacts(found.artifacts, Scope(run))
    except UnresolvedError as error:
        raise HardError(str(error)) from None
    return msgspec.structs.replace(found, artifacts=artifacts)


def _hook_changed(run: Run, _frame: object, _node: Node) -> None:
    advance_end(run)


def _exit_node(run: Run) -> Node | None:
    """Give the exit handler's node, started if it is to be; None where there is none to run."""
    hook = exit_hook(run, run.spec)
    if hook is None:
        return None
    name = f"{run.name}.onExit"
    node = run.node_named(name)
    if node is not None and (node.ended or node.id in run.waiters):
        return node
    if node is None and run.shutdown is Shutdown.TERMINATE:
        return None
    try:
        return _execute_hook(run, name, hook, on_exit=True)
    except HardError as error:
        finish(run, "Error", f"error in exit template execution : {error}")
        return None


def _conclude(run: Run, root: Node, handler: Node | None) -> None:
    phase = PHASE_OF_ROOT.get(root.phase, "Error")
    message = root.message
    if root.phase is Phase.RUNNING:  # A daemon as the entrypoint: it ends with the run.
        phase, message = "Succeeded", ""
    if root.unsuccessful and run.shutdown is not Shutdown.NONE:
        message = f"Stopped with strategy '{run.shutdown}'"
    if phase == "Succeeded":
        message = ""
        if handler is not None and handler.unsuccessful:
            phase, message = str(handler.phase), handler.message
    finish(run, phase, message)


def finish(run: Run, phase: str, message: str) -> None:
    """End the run, and whatever of it is still going on."""
    root = run.node_named(run.name)
    if phase == "Error" and root is not None and not root.ended:
        set_phase(run, root, Phase.ERROR, "Workflow operation error")
    run.finished_at = run.now
    set_run_phase(run, phase, message)
    leaf.end_daemons(run, "")
    for node_id in list(run.leaves):
        leaf.fail(run, run.nodes[node_id], "the workflow ended before it")
    for node in run.nodes.values():
        if not node.ended:
            set_phase(run, node, Phase.FAILED, "the workflow ended before it")
    run.emit(ReleaseLocks(holder="*"))
    metric.emit_for_run(run, phase)
    run.notices.clear()
    run.dirty.clear()
    run.frames.clear()
    run.waiters.clear()


def end_active(run: Run, message: str, *, keep_exit: bool, other: str = "") -> None:
    """End everything that is under way, exit handlers aside where they are to be kept.

    ``other`` is the message for leaves that are no pods.
    """
    for node_id in list(run.leaves):
        node = run.nodes[node_id]
        if not (keep_exit and node.ours.on_exit):
            pod = node.type in {NodeType.POD, NodeType.CONTAINER}
            leaf.fail(run, node, message if pod else other or message)
    for node_id, frame in list(run.frames.items()):
        node = run.nodes[node_id]
        if keep_exit and node.ours.on_exit:
            continue
        if isinstance(frame, execute.Gate):
            run.frames.pop(node_id)
            set_phase(run, node, Phase.FAILED, message)
        else:
            run.dirty[frame] = None
