"""DAG templates: tasks, their dependencies, cycles, targets.

Ancestors are kept as bits of one integer per task: a chain of thousands of tasks would fill
memory with sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from tiphys.spec.model import DAGTask, Template
from tiphys.spec.validate.call import (
    add_outputs,
    check_call,
    inline_scope,
    is_bare,
    output_names,
)
from tiphys.spec.validate.context import Context
from tiphys.spec.validate.language import ITEM_RESULTS, depends_references
from tiphys.spec.validate.loop import check_loop, is_loop
from tiphys.spec.validate.names import check_field_name, check_unique
from tiphys.spec.validate.tags import Scope, check_tags, has_tag, holds_tag
from tiphys.spec.yaml import Path

_MAX_SHOWN = 10


class Graph(msgspec.Struct):
    """The tasks of one template and who waits for whom."""

    tasks: Sequence[DAGTask]
    needs: list[list[int]] = msgspec.field(default_factory=list)
    """For each task the places of those it depends on."""
    ancestors: list[int] = msgspec.field(default_factory=list)
    """For each task a set of bits, one for each task before it."""
    place: dict[str, int] = msgspec.field(default_factory=dict)

    def is_ancestor(self, name: str, task: int) -> bool:
        """Tell whether the named task always ends before the other starts."""
        place = self.place.get(name)
        return place is not None and bool(self.ancestors[task] >> place & 1)


def check_dag(template: Template, path: Path, scope: Scope, context: Context) -> None:
    """Check all tasks of a DAG."""
    assert template.dag is not None
    path = (*path, "dag")
    tasks = template.dag.tasks
    if not tasks:
        context.report.add((*path, "tasks"), "a DAG needs at least one task")
        return
    for index, task in enumerate(tasks):
        check_field_name(task.name, (*path, "tasks", index, "name"), context.report)
    check_unique((task.name for task in tasks), (*path, "tasks"), context.report)
    _check_styles(tasks, path, context)
    graph = _graph(tasks, path, context)
    _check_target(template.dag.target, graph.place, path, scope, context)
    _check_tasks(graph, path, scope, context)


def _check_styles(tasks: Sequence[DAGTask], path: Path, context: Context) -> None:
    """Check that ``depends`` and its older kin are not mixed."""
    uses_depends = any(task.depends for task in tasks)
    for index, task in enumerate(tasks):
        place = (*path, "tasks", index)
        if uses_depends and task.dependencies:
            message = "'depends' and 'dependencies' cannot both be used in one DAG"
            context.report.add((*place, "dependencies"), message)
        if uses_depends and task.continue_on is not None:
            hint = "write for example depends: 'task.Succeeded || task.Failed'"
            message = "'continueOn' cannot be used where 'depends' is"
            context.report.add((*place, "continueOn"), message, hint=hint)
        if (uses_depends or task.dependencies) and task.name[:1].isdigit():
            message = "a task's name may not begin with a digit where tasks depend on each other"
            context.report.add((*place, "name"), message)


def _graph(tasks: Sequence[DAGTask], path: Path, context: Context) -> Graph:
    graph = Graph(tasks)
    for index, task in enumerate(tasks):
        graph.place.setdefault(task.name, index)
    last, needs = None, []  # In a wide join many tasks, one behind the other, need the same.
    for index, task in enumerate(tasks):
        if task.depends or task.dependencies != last:
            needs = _needs(graph, index, (*path, "tasks", index), context)
            is_whole = not task.depends and len(needs) == len(task.dependencies)
            last = task.dependencies if is_whole else None
        graph.needs.append(needs)
    _find_ancestors(graph, path, context)
    return graph


def _needs(graph: Graph, index: int, path: Path, context: Context) -> list[int]:
    task = graph.tasks[index]
    if not task.depends:
        places = list(map(graph.place.get, task.dependencies))
        if None not in places:
            return cast(list[int], places)
    found: list[int] = []
    references: Sequence[tuple[str, str, Path]] = [
        (name, "", (*path, "dependencies", place)) for place, name in enumerate(task.dependencies)
    ]
    if task.depends:
        where = (*path, "depends")
        pairs = depends_references(task.depends, where, context.report)
        references = [(name, result, where) for name, result in pairs]
    for name, result, where in references:
        place = graph.place.get(name)
        if place is None:
            hint = context.report.close_to(name, graph.place)
            context.report.add(where, f"there is no task {name[:100]!r} here", hint=hint)
            continue
        found.append(place)
        if result in ITEM_RESULTS and not is_loop(graph.tasks[place]):
            message = f"{name}.{result} is only known of tasks with items, {name!r} has none"
            context.report.add(where, message)
    return found


def _find_ancestors(graph: Graph, path: Path, context: Context) -> None:
    """Fill in all ancestors, in dependency order; what is left over forms cycles."""
    if _found_as_written(graph):
        return
    count = len(graph.tasks)
    graph.ancestors = [0] * count
    unique = [set(needs) for needs in graph.needs]
    waiting = [len(needs) for needs in unique]
    followers: list[list[int]] = [[] for _ in range(count)]
    for index, needs in enumerate(unique):
        for need in needs:
            followers[need].append(index)
    ready = [index for index in range(count) if not waiting[index]]
    done = 0
    while ready:
        index = ready.pop()
        done += 1
        inherited = graph.ancestors[index] | 1 << index
        for follower in followers[index]:
            graph.ancestors[follower] |= inherited
            waiting[follower] -= 1
            if not waiting[follower]:
                ready.append(follower)
    if done < count:
        cycle = _cycle(graph, waiting)
        names = " -> ".join(graph.tasks[index].name for index in cycle[:_MAX_SHOWN])
        names += " -> ..." if len(cycle) > _MAX_SHOWN else ""
        place = (*path, "tasks", cycle[0])
        context.report.add(place, f"the tasks depend on each other in a circle: {names}")


def _found_as_written(graph: Graph) -> bool:
    """Fill in all ancestors where each task stands behind those that it needs, as most do."""
    graph.ancestors = []
    known: dict[int, int] = {}  # By the list, as those of a wide join are one list.
    for index, needs in enumerate(graph.needs):
        found = known.get(id(needs))
        if found is None:
            if max(needs, default=-1) >= index:
                return False
            found = 0
            for need in needs:
                found |= graph.ancestors[need] | 1 << need
            known[id(needs)] = found
        graph.ancestors.append(found)
    return True


def _cycle(graph: Graph, waiting: Sequence[int]) -> list[int]:
    """Walk back from a task that never became ready until a task comes again."""
    index = next(index for index, left in enumerate(waiting) if left)
    walked: dict[int, int] = {}
    order: list[int] = []
    while index not in walked:
        walked[index] = len(order)
        order.append(index)
        index = next(need for need in graph.needs[index] if waiting[need])
    return [*order[walked[index] :], index]


def _check_target(
    target: str, tasks: Mapping[str, int], path: Path, scope: Scope, context: Context
) -> None:
    check_tags(target, (*path, "target"), scope, context.report)
    for name in target.split():
        if not has_tag(target) and name not in tasks:
            hint = context.report.close_to(name, tasks)
            context.report.add((*path, "target"), f"there is no task {name!r} here", hint=hint)


def _check_tasks(graph: Graph, path: Path, scope: Scope, context: Context) -> None:
    problems = context.report.problems
    alike: dict[str, list[str]] = {}
    """What is known of tasks that only name a template: of thousands most name the same few."""
    for index, task in enumerate(graph.tasks):
        bare, before = is_bare(task), len(problems)
        names = alike.get(task.template) if bare else None
        if names is None:
            target = check_call(task, (*path, "tasks", index), context)
            add_outputs(scope, f"tasks.{task.name}", target)
            if bare and target is not None and len(problems) == before:
                alike[task.template] = output_names(target)
        else:
            scope.names.update([f"tasks.{task.name}.{name}" for name in names])
    tagged = holds_tag(graph.tasks)  # Of all at once: there may be thousands.
    for index, task in enumerate(graph.tasks):
        if tagged or is_loop(task):
            _check_task(graph, index, (*path, "tasks", index), scope, context)
        if task.inline is not None:
            context.check_template(task.inline, (*path, "tasks", index, "inline"), context)
    # The template's own outputs are read when all is over.
    scope.also = lambda name: _is_about_task(graph, name)


def _check_task(graph: Graph, index: int, path: Path, scope: Scope, context: Context) -> None:
    task = graph.tasks[index]
    own = inline_scope(task, scope)
    own.also = lambda name: _is_about_ancestor(graph, index, name)
    if task.hooks or task.on_exit:
        own.add(f"tasks.{task.name}.status", f"tasks.{task.name}.outputs.parameters")
    check_loop(task, path, own, context.report)
    check_tags(task, path, own, context.report)
    for place, parameter in enumerate(task.arguments.parameters):
        where = (*path, "arguments", "parameters", place, "value")
        _check_order(parameter.value or "", graph, index, where, context)
    for place, artifact in enumerate(task.arguments.artifacts):
        where = (*path, "arguments", "artifacts", place, "from")
        _check_order(artifact.from_, graph, index, where, context)


def _check_order(text: str, graph: Graph, index: int, path: Path, context: Context) -> None:
    """Check that a value taken from another task can be there in time."""
    if not text.startswith("{{tasks."):
        return
    name = text.split(".")[1]
    if name in graph.place and not graph.is_ancestor(name, index):
        message = f"the value comes from task {name!r}, on which this task does not depend"
        hint = f"add {name} to dependencies" if not graph.tasks[index].depends else ""
        context.report.add(path, message, hint=hint)


def _is_about_ancestor(graph: Graph, index: int, name: str) -> bool:
    parts = name.split(".")
    return _is_about_task(graph, name) and graph.is_ancestor(parts[1], index)


def _is_about_task(graph: Graph, name: str) -> bool:
    """Tell whether the name is a status, or the outputs of all items of a loop."""
    parts = name.split(".")
    if len(parts) < 3 or parts[0] != "tasks" or parts[1] not in graph.place:
        return False
    if parts[2:] == ["status"]:
        return True
    return parts[2:] == ["outputs", "parameters"] and is_loop(graph.tasks[graph.place[parts[1]]])
