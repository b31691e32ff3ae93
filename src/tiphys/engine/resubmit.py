"""A workflow is submitted once more under a new name, as Argo does it.

Pure. Plainly, it is the same workflow again. Memoized, pods of the old run that succeeded are taken
over: they show as Skipped ("original pod: …") and keep their outputs, and everything else runs.
What Argo leaves Pending (steps and DAGs, pods that failed, requests, pauses) is left out here: the
engine makes it when it gets there, and until then it takes up no room under a ``parallelism``. Of
a retried node the last attempt is taken over, as the first one of the new run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from tiphys.core.name import fnv1a32
from tiphys.engine.lineage import Lineage, is_attempt, is_hook, was_daemon
from tiphys.engine.node import Node, NodeType, Ours, Phase
from tiphys.errors import ConflictError
from tiphys.spec import model

replace = msgspec.structs.replace

_PREFIX = "workflows.argoproj.io/"
ORIGIN_LABEL = f"{_PREFIX}resubmitted-from-workflow"
"""Names the workflow that was submitted again."""
_OWN_LABELS = frozenset(
    f"{_PREFIX}{name}"
    for name in (
        "creator",
        "creator-email",
        "creator-preferred-username",
        "phase",
        "completed",
        "workflow-archiving-status",
    )
)
_MAX_PREFIX = 58
"""Kubernetes cuts the prefix of a generated name so that five letters fit behind it."""
_TAKEN_OVER = "original pod: "


class Memoized(msgspec.Struct, frozen=True, kw_only=True):
    """The run whose finished pods are taken over."""

    nodes: Iterable[Node]
    phase: str
    """How it ended."""
    suffix: str
    """A few letters nobody can foresee: the nodes must know the new name already."""
    now: float


def plan_resubmit(
    workflow: model.Workflow,
    *,
    parameters: Mapping[str, str] | None = None,
    memoized: Memoized | None = None,
) -> tuple[model.Workflow, tuple[Node, ...]]:
    """Give the workflow to submit, and the nodes that its run begins with (for ``again.reopen``).

    Without ``memoized`` it has a ``generateName`` and is yet to be named.
    """
    if memoized is not None and memoized.phase not in {"Failed", "Error"}:
        raise ConflictError(
            "only a workflow that ended in Failed or Error can be resubmitted memoized; "
            f"this one is {memoized.phase or 'Pending'}"
        )
    fresh = override_parameters(_fresh(workflow), parameters or {})
    if memoized is None:
        return fresh, ()
    meta = fresh.metadata
    name = meta.generate_name[:_MAX_PREFIX] + memoized.suffix
    fresh = replace(fresh, metadata=replace(meta, name=name))
    taker = _Taker(workflow.metadata.name, name, Lineage(memoized.nodes), memoized.now)
    return fresh, taker.take()


def override_parameters(workflow: model.Workflow, parameters: Mapping[str, str]) -> model.Workflow:
    """Give the workflow other arguments, those that it did not have included."""
    if not parameters:
        return workflow
    given = tuple(model.Parameter(name=key, value=value) for key, value in parameters.items())
    arguments = workflow.spec.arguments
    kept = tuple(each for each in arguments.parameters if each.name not in parameters)
    arguments = replace(arguments, parameters=(*given, *kept))
    return replace(workflow, spec=replace(workflow.spec, arguments=arguments))


def _fresh(workflow: model.Workflow) -> model.Workflow:
    """Take from a workflow what its author wrote, and none of what became of it."""
    old, spec = workflow.metadata, workflow.spec
    labels = {key: value for key, value in old.labels.items() if key not in _OWN_LABELS}
    meta = model.ObjectMeta(
        generate_name=old.generate_name or f"{old.name}-",
        namespace=old.namespace,
        labels={**labels, ORIGIN_LABEL: old.name},
        annotations=dict(old.annotations),
        owner_references=old.owner_references,
    )
    if spec.active_deadline_seconds == 0:  # The old way to terminate a workflow.
        spec = replace(spec, active_deadline_seconds=None)
    return replace(workflow, metadata=meta, spec=replace(spec, shutdown=""), status=None)


class _Taker:
    """Takes pods over from one run to another."""

    def __init__(self, old: str, new: str, lineage: Lineage, now: float) -> None:
        self._old, self._new = old, new
        self._lineage = lineage
        self._now = now
        self._names: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        taken: set[str] = set()
        gone = self._left_behind()
        for node in lineage.nodes.values():
            if node.id not in gone:
                self._ids[node.id] = _new_id(new, self._new_name(node), taken)

    def take(self) -> tuple[Node, ...]:
        """Give the nodes of the new run."""
        nodes = [node for node in self._lineage.nodes.values() if node.id in self._ids]
        return tuple(found for node in nodes if (found := self._taken_over(node)))

    def _left_behind(self) -> set[str]:
        """Give what runs again even if it succeeded: the exit handler, hooks of nodes that run
        again, and attempts that were followed by another."""
        gone: set[str] = set()
        for node in self._lineage.nodes.values():
            if node.id in gone:
                continue
            if is_hook(node):
                leaves = not any(self._succeeded(parent) for parent in node.ours.parents)
            else:
                leaves = is_attempt(node) and not self._is_last(node)
            if leaves:
                gone |= self._lineage.inside(node) | {node.id}
        return gone

    def _succeeded(self, node_id: str) -> bool:
        node = self._lineage.nodes.get(node_id)
        return node is not None and node.phase in {Phase.SUCCEEDED, Phase.SKIPPED}

    def _is_last(self, attempt: Node) -> bool:
        owner = self._lineage.owner(attempt)
        return owner is None or self._lineage.attempts(owner)[-1] is attempt

    def _taken_over(self, node: Node) -> Node | None:
        """Give the node as it is in the new run; None where it is to be made anew."""
        if node.type is NodeType.CONTAINER:
            pod = self._lineage.owner(node)
            return self._moved(node) if pod is not None and _is_done(pod) else None
        if not _is_done(node):
            return None
        known = node.message.startswith(_TAKEN_OVER)
        return replace(
            self._moved(node),
            type=NodeType.SKIPPED,
            phase=Phase.SKIPPED,
            message=node.message if known else f"{_TAKEN_OVER}{node.id}",
            started_at=self._now,
            finished_at=self._now,
        )

    def _moved(self, node: Node) -> Node:
        """Give a copy under the new run's names and ids."""
        scope, old_scope = node.template_scope, f"local/{self._old}"
        ours = node.ours
        name = self._names[node.id]
        return replace(
            node,
            id=self._ids[node.id],
            name=name,
            display_name=_shown(node, name),
            template_scope=f"local/{self._new}" if scope == old_scope else scope,
            boundary_id=self._ids.get(node.boundary_id, ""),
            outbound_nodes=(),
            ours=Ours(
                parents=tuple(self._ids[each] for each in ours.parents if each in self._ids),
                seq=ours.seq,
                on_exit=ours.on_exit,
            ),
        )

    def _new_name(self, node: Node) -> str:
        """Give the name in the new run: that of the owner there, with the rest as it was.

        The attempt that is taken over is the first one there.
        """
        known = self._names.get(node.id)
        if known is not None:
            return known
        owner = self._lineage.owner(node)
        if owner is None:
            name = self._new + node.name.removeprefix(self._old)
        elif is_attempt(node) and self._is_last(node):
            name = f"{self._new_name(owner)}(0)"
        else:
            name = self._new_name(owner) + node.name.removeprefix(owner.name)
        self._names[node.id] = name
        return name


def _shown(node: Node, name: str) -> str:
    if node.display_name == node.name:
        return name
    head, opened, _ = node.display_name.rpartition("(")
    return f"{head}(0)" if opened and is_attempt(node) else node.display_name


def _new_id(run: str, name: str, taken: set[str]) -> str:
    """Give the id of a node as ``Run.node_id`` will, but never one that is taken."""
    wanted = base = run if name == run else f"{run}-{fnv1a32(name)}"
    number = 2
    while wanted in taken:
        wanted, number = f"{base}-{number}", number + 1
    taken.add(wanted)
    return wanted


def _is_done(node: Node) -> bool:
    """Whether a pod need not run again; a daemon that served until its end must."""
    if node.type is NodeType.SKIPPED:
        return node.message.startswith(_TAKEN_OVER)
    is_pod = node.type is NodeType.POD
    return is_pod and node.phase is Phase.SUCCEEDED and not was_daemon(node)
