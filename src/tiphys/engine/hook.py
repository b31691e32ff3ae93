"""Hooks and exit handlers of steps and tasks.

A hook runs once, when its expression first becomes true for the node that it is attached to; an
exit handler when that node has completed. Neither changes the outcome of the node, but whoever
waits for the node waits for its hooks as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tiphys.engine.event import Shutdown
from tiphys.engine.node import Node, NodeFlag
from tiphys.engine.outputs import evaluate_bool, resolve_artifact
from tiphys.engine.resolve import UnresolvedError
from tiphys.engine.run import Call, Run
from tiphys.engine.scope import Overlay, Scope, artifacts_of, facts_of, last_attempt
from tiphys.engine.shield import unshield
from tiphys.errors import ExpressionError
from tiphys.spec import model
from tiphys.spec.template import compile_template

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tiphys.engine.resolve import Base

EXIT = "exit"
replace = msgspec.structs.replace


class Hooks(msgspec.Struct, eq=False):
    """The hooks of one step or task, and how far they are."""

    holder: model.WorkflowStep | model.DAGTask
    node: Node
    prefix: str
    """``steps.NAME`` or ``tasks.NAME``."""
    base: Base
    boundary: Node | None
    scope: Scope
    done: Callable[[Run], None]
    """Called when something changed."""
    depth: int = 0
    started: dict[str, Node] = msgspec.field(default_factory=dict)
    exit_asked: bool = False
    exit_only: bool = False
    """The node is one of a loop: only the exit handler is for each of them."""

    @property
    def finished(self) -> bool:
        """Whether all that were started have ended, and the exit handler is not still to come."""
        return all(node.fulfilled for node in self.started.values())

    def tell(self, run: Run, _frame: object, _node: Node) -> None:
        """A hook's node changed."""
        self.done(run)


def has_hooks(holder: model.WorkflowStep | model.DAGTask) -> bool:
    """Whether there is anything to look after."""
    return bool(holder.hooks) or bool(holder.on_exit)


def check(run: Run, hooks: Hooks) -> None:
    """Start the hooks whose time has come. Raises UnresolvedError or HardError."""
    scope = _scope(run, hooks)
    for name, each in hooks.holder.hooks.items():
        if name == EXIT or hooks.exit_only:
            continue
        node_name = f"{hooks.node.name}.hooks.{name}"
        known = run.node_named(node_name)
        if known is None and not _applies(each, scope):
            continue
        if node_name not in hooks.started:
            _start(run, hooks, node_name, each, scope, on_exit=False)
    _check_exit(run, hooks, scope)


def _check_exit(run: Run, hooks: Hooks, scope: Mapping[str, str]) -> None:
    node = hooks.node
    if hooks.exit_asked or not node.completed or run.shutdown is Shutdown.TERMINATE:
        return
    hook = exit_hook(run, hooks.holder)
    if hook is None:
        return
    if hook.expression and not evaluate_bool(hook.expression, scope):
        hooks.exit_asked = True
        return
    hooks.exit_asked = True
    _start(run, hooks, f"{node.name}.onExit", hook, scope, on_exit=True)


def exit_hook(
    run: Run, holder: model.WorkflowStep | model.DAGTask | model.WorkflowSpec
) -> model.LifecycleHook | None:
    """Give the exit handler; in the older form it gets the arguments of the workflow."""
    if holder.on_exit:
        return model.LifecycleHook(template=holder.on_exit, arguments=run.spec.arguments)
    return holder.hooks.get(EXIT)


def _applies(hook: model.LifecycleHook, scope: Mapping[str, str]) -> bool:
    if not hook.expression:
        raise UnresolvedError("Expression required for hook")
    try:
        return evaluate_bool(hook.expression, scope)
    except ExpressionError as error:
        raise UnresolvedError(str(error)) from None


def _scope(run: Run, hooks: Hooks) -> Mapping[str, str]:
    own = {f"{hooks.prefix}.{key}": value for key, value in facts_of(run, hooks.node).items()}
    own[f"{hooks.prefix}.status"] = str(hooks.node.phase)
    outputs = (last_attempt(run, hooks.node) or hooks.node).outputs
    for parameter in outputs.parameters if outputs is not None else ():
        # An output that was not made is empty for a hook, and only for a hook.
        own.setdefault(f"{hooks.prefix}.outputs.parameters.{parameter.name}", "")
    return Overlay(own, hooks.scope)


def _start(
    run: Run,
    hooks: Hooks,
    name: str,
    hook: model.LifecycleHook,
    scope: Mapping[str, str],
    *,
    on_exit: bool,
) -> None:
    call = Call(
        name=name,
        holder=model.WorkflowStep(template=hook.template, template_ref=hook.template_ref),
        base=hooks.base,
        arguments=_arguments(run, hooks, hook.arguments, scope),
        boundary=hooks.boundary,
        tell=hooks.tell,
        frame=None,
        parents=(hooks.node.id,),
        on_exit=on_exit,
        flag=NodeFlag(hooked=True),
        depth=hooks.depth,
    )
    hooks.started[name] = run.execute(run, call)


def _arguments(
    run: Run, hooks: Hooks, given: model.Arguments, scope: Mapping[str, str]
) -> model.Arguments:
    if not given.parameters and not given.artifacts:
        return given
    text = msgspec.json.encode(given).decode()
    rendered = compile_template(text).render(scope, allow_unresolved=True, json_text=True)
    arguments = msgspec.json.decode(unshield(rendered), type=model.Arguments)
    if not arguments.artifacts:
        return arguments
    outputs = artifacts_of(run, last_attempt(run, hooks.node) or hooks.node)
    for name, artifact in outputs.items():
        hooks.scope.artifacts[f"{hooks.prefix}.outputs.artifacts.{name}"] = artifact
    return replace(arguments, artifacts=resolved_artifacts(arguments.artifacts, hooks.scope))


def resolved_artifacts(
    artifacts: tuple[model.Artifact, ...], scope: Scope
) -> tuple[model.Artifact, ...]:
    """Give each artifact the location of what it is taken from."""
    found = []
    for artifact in artifacts:
        try:
            source = resolve_artifact(artifact, scope)
        except UnresolvedError as error:
            if artifact.optional:
                continue
            raise UnresolvedError(f"unable to resolve references: {error}") from None
        found.append(artifact if source is None else replace(source, name=artifact.name))
    return tuple(found)
