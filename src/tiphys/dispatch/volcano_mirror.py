"""A flow that Volcano's controller runs, as our own nodes. Pure.

The nodes have the names, ids and edges that our engine would give them, so that whatever reads a
flow's nodes need not know who ran it. What upstream's status gets wrong is not read: how the flow
stands follows from its Jobs.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping

from tiphys.core.name import node_id
from tiphys.engine.event import JobSeen, PodSeen
from tiphys.engine.jobleaf import PODS_OF_ONE, note, pod_name, show
from tiphys.engine.node import Node, NodeType, Ours, Phase
from tiphys.spec import model

_PHASES: Mapping[str, Phase] = {
    "Pending": Phase.PENDING,
    "Completed": Phase.SUCCEEDED,
    "Failed": Phase.FAILED,
    "Terminated": Phase.FAILED,
    "Aborted": Phase.FAILED,
}
OMITTED = "omitted: depends condition not met"


class FlowMirror:
    """The nodes of one flow."""

    def __init__(self, name: str, spec: model.WorkflowSpec) -> None:
        entry = next(each for each in spec.templates if each.name == spec.entrypoint)
        assert entry.dag is not None
        self.name, self._entry = name, entry.name
        self.steps = {task.name: task for task in entry.dag.tasks}
        self.numbers = {step: number for number, step in enumerate(self.steps, 1)}
        """Under which the logs of a step's pods are kept."""
        self._nodes: dict[str, Node] = {}
        self._told: dict[str, PodSeen] = {}
        """What was last heard of pods, by the names of their nodes."""

    # --- how it stands ----------------------------------------------------------------------

    def begin(self, at: float) -> list[Node]:
        """Give the node of the whole flow."""
        known = self._nodes.get(self.name)
        if known is not None:
            return []
        root = Node(
            id=self.name,
            name=self.name,
            display_name=self.name,
            type=NodeType.DAG,
            template_name=self._entry,
            template_scope=f"local/{self.name}",
            phase=Phase.RUNNING,
            started_at=at,
            ours=Ours(seq=1),
        )
        return self._keep(root)

    def see(self, step: str, seen: JobSeen, message: str) -> list[Node]:
        """Give what is new of a step's Job and its pods."""
        started = seen.history[0][1] if seen.history else seen.at
        job = self._node(f"{self.name}.{step}", NodeType.JOB, step, started)
        job.ours.attempt, job.ours.admitted = self.numbers[step], True
        job.ours.seq = self.numbers[step] * PODS_OF_ONE
        job.ours.parents = self._parents(step)
        job.boundary_id = self.name
        note(job, seen)
        job.phase, job.message = _PHASES.get(seen.phase, Phase.RUNNING), message
        if job.ended:
            job.finished_at = seen.history[-1][1] if seen.history else seen.at
            job.outbound_nodes = tuple(node_id(self.name, pod_name(job, pod)) for pod in seen.pods)
        found = [*self._keep(job)]
        for pod in seen.pods:
            found += self._see_pod(job, step, pod, seen.at)
        return found

    def _see_pod(self, job: Node, step: str, pod: PodSeen, at: float) -> list[Node]:
        name = pod_name(job, pod)
        if self._told.get(name) == pod:
            return []  # News of one pod comes with all the others.
        self._told[name] = pod
        node = self._node(name, NodeType.POD, f"{step}-{pod.task}", pod.began_at or at)
        show(node, pod, self.numbers[step] * PODS_OF_ONE + pod.number)
        node.display_name = name.removeprefix(f"{job.name}.")
        node.boundary_id, node.ours.parents = job.id, (job.id,)
        node.ours.seq = node.ours.attempt
        node.phase, node.message = Phase(pod.phase), pod.message
        if node.ended:
            node.finished_at = pod.finished_at or node.finished_at or at
        return self._keep(node)

    def end(self, phase: Phase, at: float) -> list[Node]:
        """Give what the end of the flow changes: its own node, and steps that never came."""
        found: list[Node] = []
        for step, number in self.numbers.items():
            name = f"{self.name}.{step}"
            if node_id(self.name, name) not in self._nodes:
                node = self._node(name, NodeType.SKIPPED, step, at)
                node.phase, node.message, node.finished_at = Phase.OMITTED, OMITTED, at
                node.ours.seq, node.ours.parents = number * PODS_OF_ONE, self._parents(step)
                node.boundary_id = self.name
                found += self._keep(node)
        root = copy.deepcopy(self._nodes[self.name])
        root.phase, root.finished_at = phase, at
        return [*found, *self._keep(root)]

    # --- nodes ------------------------------------------------------------------------------

    def _node(self, name: str, kind: NodeType, template: str, at: float) -> Node:
        known = self._nodes.get(node_id(self.name, name))
        if known is not None:
            return copy.deepcopy(known)
        return Node(
            id=node_id(self.name, name),
            name=name,
            display_name=name.removeprefix(f"{self.name}."),
            type=kind,
            template_name=template,
            template_scope=f"local/{self.name}",
            phase=Phase.PENDING,
            started_at=at,
            ours=Ours(),
        )

    def _keep(self, node: Node) -> list[Node]:
        """Give the node if it is other than before; what is given is not changed later."""
        if self._nodes.get(node.id) == node:
            return []
        self._nodes[node.id] = node
        return [copy.deepcopy(node)]

    def _parents(self, step: str) -> tuple[str, ...]:
        names = self.steps[step].dependencies
        return tuple(node_id(self.name, f"{self.name}.{each}") for each in names) or (self.name,)


def is_over(phases: Mapping[str, str], steps: Mapping[str, Iterable[str]], *, inert: bool) -> bool:
    """Whether nothing more will happen in a flow: by the phases of its Jobs and what steps need.

    ``inert`` says that the controller makes no more Jobs: the flow failed there, or was stopped.
    """
    ended = {"Completed", "Failed", "Terminated", "Aborted"}
    if any(phase not in ended for phase in phases.values()):
        return False
    if inert:
        return True
    missing = [needs for step, needs in steps.items() if step not in phases]
    return not any(all(phases.get(need) == "Completed" for need in needs) for needs in missing)
