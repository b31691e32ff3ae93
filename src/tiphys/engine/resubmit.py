"""A workflow is submitted once more under a new name, as Argo does it.

Pure. Plainly, it is the same workflow again. Memoized, pods of the old run that succeeded are taken
over: they show as Skipped ("original pod: …") and keep their outputs, and everything else runs.
What Argo leaves Pending to be started (pods that failed, requests, pauses) is left out here, for
the engine makes it when it gets there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from tiphys.core.name import fnv1a32
from tiphys.engine.again import renewed
from tiphys.engine.lineage import COMPOSITE, Lineage, is_hook, was_daemon
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Memoized:
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
    """Takes nodes over from one run to another."""

    def __init__(self, old: str, new: str, lineage: Lineage, now: float) -> None:
        self._old, self._new = old, new
        self._lineage = lineage
        self._now = now
        self._history = lineage.superseded()
        self._ids: dict[str, str] = {}
        self._taken: set[str] = set()
        for node in lineage.nodes.values():
            self._ids[node.id] = self._new_id(self._renamed(node.name))

    def take(self) -> tuple[Node, ...]:
        """Give the nodes of the new run."""
        handler = self._lineage.named(f"{self._old}.onExit")
        gone: set[str] = set()
        if handler is not None and is_hook(handler):
            gone = self._lineage.below(handler, frozenset())
        nodes = [node for node in self._lineage.nodes.values() if node.id not in gone]
        return tuple(self._moved(found) for node in nodes if (found := self._converted(node)))

    def _converted(self, node: Node) -> Node | None:
        """Give the node as it begins in the new run; None where it is to be made anew."""
        if node.id in self._history and node.type is not NodeType.POD:
            return node
        if node.type in COMPOSITE:
            return renewed(node, self._now)
        if node.type is NodeType.CONTAINER:
            pod = self._lineage.owner(node)
            return node if pod is not None and _is_done(pod) else None
        if node.type is NodeType.POD and _is_done(node):
            return self._skipped(node, f"{_TAKEN_OVER}{node.id}")
        if node.type is NodeType.SKIPPED and node.message.startswith(_TAKEN_OVER):
            return self._skipped(node, node.message)
        return node if node.id in self._history else None

    def _skipped(self, node: Node, message: str) -> Node:
        return replace(
            node,
            type=NodeType.SKIPPED,
            phase=Phase.SKIPPED,
            message=message,
            started_at=self._now,
            finished_at=self._now,
        )

    def _moved(self, node: Node) -> Node:
        """Give a copy under the new run's names and ids."""
        ours, old_scope = node.ours, f"local/{self._old}"
        is_root = node.name == self._old
        return replace(
            node,
            id=self._ids[node.id],
            name=self._renamed(node.name),
            display_name=self._new if is_root else node.display_name,
            template_scope=(
                f"local/{self._new}" if node.template_scope == old_scope else node.template_scope
            ),
            boundary_id=self._ids.get(node.boundary_id, ""),
            outbound_nodes=tuple(self._ids[each] for each in node.outbound_nodes),
            ours=Ours(
                parents=tuple(self._ids[each] for each in ours.parents if each in self._ids),
                seq=ours.seq,
                on_exit=ours.on_exit,
            ),
        )

    def _renamed(self, name: str) -> str:
        return self._new + name.removeprefix(self._old)

    def _new_id(self, name: str) -> str:
        """Give the id of a node, as ``Run.node_id`` will: never one that is taken."""
        wanted = base = self._new if name == self._new else f"{self._new}-{fnv1a32(name)}"
        number = 2
        while wanted in self._taken:
            wanted, number = f"{base}-{number}", number + 1
        self._taken.add(wanted)
        return wanted


def _is_done(pod: Node) -> bool:
    return pod.phase is Phase.SUCCEEDED and not was_daemon(pod)
