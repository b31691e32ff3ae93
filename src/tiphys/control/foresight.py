"""How long a run and each of its parts will take, told from its templates and from past runs.

Walks the templates once, not the nodes: the expected time of a leaf is what its template took
before, of steps the sum of their longest, of a DAG its critical path. What a template took is known
by its name in workflows of the family, else by what it says, in any workflow of the project. The
rank of a node, the time from its start to the end of the run, decides who goes first inside a
workflow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import msgspec

from tiphys.core.duration import parse_duration_or_seconds
from tiphys.engine.node import Node, NodeType
from tiphys.engine.resolve import Base, Prepared, UnresolvedError
from tiphys.engine.run import Run
from tiphys.errors import TiphysError
from tiphys.scheduling import Resources
from tiphys.scheduling.estimate import Memory, key_of, same_text_key
from tiphys.spec import model


@cache
def _loop_or_try() -> re.Pattern[str]:
    """Give what a loop or an attempt adds to a name: ``(3:blue)``, ``(0)``."""
    return re.compile(r"\([^()]*(\([^()]*\)[^()]*)*\)$")


class _Part:
    """A template with what is expected of it."""

    __slots__ = ("below", "known", "seconds")

    def __init__(self, seconds: float, known: bool, below: Mapping[str, float]) -> None:
        self.seconds = seconds
        self.known = known
        """Whether all of its leaves ran before."""
        self.below = below
        """Task or step group to the seconds from its start to the end of the template."""


class Asked(msgspec.Struct, frozen=True):
    """What every node of one template asks for."""

    template: model.Template
    """Kept with it, so that no later one can be taken for it."""
    requests: Resources
    queue: str
    priority: int | None


_NOTHING = _Part(0.0, False, {})
_NO_TIME = _Part(0.0, True, {})


class Foresight:
    """What is expected of one run."""

    def __init__(self, run: Run, memory: Memory, family: str) -> None:
        self._run = run
        self._memory = memory
        self._family = family
        self._parts: dict[tuple[str, str], _Part] = {}
        self._after: dict[str, float] = {}
        """Seconds from the end of a steps or DAG node to the end of the run, by its id."""
        self._known: dict[str, _Part] = {}
        """What is expected of a steps or DAG node, by its id: each of its children asks."""
        self.names: dict[tuple[model.TemplateRef | None, str, str], tuple[str, str]] = {}
        """Under which names durations of a template are kept, by how nodes refer to it
        (``placing.names_of``)."""
        self.asked: dict[int, Asked] = {}
        """What the nodes of some templates ask for, by the template itself
        (``placing.facts_of``)."""
        entry = model.WorkflowStep(name="", template=run.spec.entrypoint)
        self._whole = self._called(run.templates.local, entry)
        last = model.WorkflowStep(name="", template=run.spec.on_exit)
        self._exit = self._called(run.templates.local, last) if run.spec.on_exit else _NO_TIME

    def seconds(self) -> float | None:
        """How long the run will take on a machine with room, what it does at its exit included;
        None where parts never ran."""
        if not (self._whole.known and self._exit.known):
            return None
        return self._whole.seconds + self._exit.seconds

    def rank(self, node: Node) -> float:
        """Seconds from the start of ``node`` to the end of the run, as far as is known."""
        boundary = self._run.nodes.get(node.boundary_id)
        if boundary is None:
            return self._whole.seconds
        part = self._part_of(boundary)
        if not part.seconds:  # Nothing is known of any part of it.
            return self._rest(boundary)
        return part.below.get(_place(node, boundary), 0.0) + self._rest(boundary)

    def _rest(self, boundary: Node) -> float:
        """What is left of the run once ``boundary`` has ended."""
        known = self._after.get(boundary.id)
        if known is None:
            own = self._part_of(boundary).seconds
            known = self._after[boundary.id] = max(0.0, self.rank(boundary) - own)
        return known

    def _part_of(self, node: Node) -> _Part:
        known = self._known.get(node.id)
        if known is None:
            known = self._called(self._run.templates.local, _holder(node))
            self._known[node.id] = known
        return known

    # -- templates ---------------------------------------------------------------------------

    def _called(self, base: Base, holder: model.WorkflowStep | model.DAGTask) -> _Part:
        try:
            prepared = self._run.templates.find(base, holder)
        except UnresolvedError:
            return _NOTHING
        key = (prepared.base.scope, prepared.template.name)
        if holder.inline is not None:
            return self._measured(prepared)
        if key not in self._parts:
            self._parts[key] = _NOTHING  # A template that calls itself adds nothing.
            self._parts[key] = self._measured(prepared)
        return self._parts[key]

    def _measured(self, prepared: Prepared) -> _Part:
        template = prepared.template
        if template.dag is not None:
            return self._dag(prepared.base, template.dag)
        if template.steps is not None:
            return self._steps(prepared.base, template.steps)
        seconds = self._leaf(prepared)
        return _Part(seconds or 0.0, seconds is not None, {})

    def _leaf(self, prepared: Prepared) -> float | None:
        template = prepared.template
        if template.suspend is not None:
            return _pause(template.suspend.duration)
        scope, _, owner = prepared.base.scope.partition("/")
        family = self._family if scope == "local" else owner
        project = self._run.namespace
        own = self._memory.seconds(key_of(template.name, family, project))
        if own is not None:
            return own
        return self._memory.seconds(same_text_key(prepared.digest, project))

    def _dag(self, base: Base, dag: model.DAGTemplate) -> _Part:
        from tiphys.engine.dagtask import rules_of  # noqa: PLC0415 - not every run has a DAG
        from tiphys.scheduling.critical_path import ranks  # noqa: PLC0415

        alike: dict[str, _Part] = {}  # Of thousands of tasks most name the same few templates.
        parts: dict[str, _Part] = {}
        for task in dag.tasks:
            is_named = task.inline is None and task.template_ref is None
            part = alike.get(task.template) if is_named else None
            if part is None:
                part = self._called(base, task)
                if is_named:
                    alike[task.template] = part
            parts[task.name] = part
        parents = {name: needs for name, (needs, _) in rules_of(dag).items()}
        try:
            below = ranks(parents, {name: part.seconds for name, part in parts.items()})
        except TiphysError:
            return _NOTHING
        known = all(part.known for part in parts.values())
        return _Part(max(below.values(), default=0.0), known, below)

    def _steps(self, base: Base, groups: tuple[model.ParallelSteps, ...]) -> _Part:
        below: dict[str, float] = {}
        total, known = 0.0, True
        for index in range(len(groups) - 1, -1, -1):
            longest = 0.0
            for step in groups[index]:
                part = self._called(base, step)
                known = known and part.known
                longest = max(longest, part.seconds)
                below[f"[{index}].{step.name}"] = part.seconds + total
            total += longest
        return _Part(total, known, below)


def text_key(run: Run, node: Node) -> str:
    """The name under which durations of all templates are kept that say what the node's says.

    "" where there is none: an inline template is found by its place alone.
    """
    if not node.template_name and node.template_ref is None:
        return ""
    try:
        prepared = run.templates.find(run.templates.local, _holder(node))
    except UnresolvedError:
        return ""
    return same_text_key(prepared.digest, run.namespace)


def _holder(node: Node) -> model.WorkflowStep:
    """Name the template of a node, seen from the workflow itself."""
    ref = node.template_ref
    scope, _, owner = node.template_scope.partition("/")
    if ref is None and scope in ("namespaced", "cluster"):
        cluster = scope == "cluster"
        ref = model.TemplateRef(name=owner, template=node.template_name, cluster_scope=cluster)
    return model.WorkflowStep(name="", template=node.template_name, template_ref=ref)


def _pause(duration: str) -> float | None:
    if not duration:
        return None
    try:
        return parse_duration_or_seconds(duration)
    except TiphysError:
        return None


def _place(node: Node, boundary: Node) -> str:
    """The task or step of ``boundary`` that ``node`` came from."""
    rest = node.name[len(boundary.name) :]
    name = rest if rest.startswith("[") else rest.removeprefix(".")
    while name.endswith(")") and node.type is not NodeType.SKIPPED:
        if (shorter := _loop_or_try().sub("", name)) == name:
            break
        name = shorter
    return name
