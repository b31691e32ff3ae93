"""The tasks of a DAG as its template has them: what each needs, what it feeds, which are wanted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from tiphys.engine.hook import Hooks
from tiphys.engine.node import Node
from tiphys.engine.resolve import UnresolvedError
from tiphys.engine.scope import Facts
from tiphys.spec import expression, model

if TYPE_CHECKING:
    Rule = tuple[tuple[str, ...], expression.Depends | None]
    """What a task needs, and when that lets it run; None: every one must have gone well."""

_PLAIN = re.compile(r"\s*[\w-]+(\s*&&\s*[\w-]+)*\s*")


class TaskState(msgspec.Struct, eq=False):
    """One task that is needed."""

    task: model.DAGTask
    needs: tuple[str, ...]
    rule: expression.Depends | None
    """None: every dependency must have gone well."""
    join: Join
    """Where it waits for them."""
    place: int
    """Among those that are needed, each after what it depends on."""
    feeds: list[Join] = msgspec.field(default_factory=list)
    """Where others wait for this one."""
    node: Node | None = None
    members: list[Node] = msgspec.field(default_factory=list)
    """The nodes of a loop."""
    open: int = 0
    """Of these the ones that are not done, or not started."""
    hooks: dict[str, Hooks] = msgspec.field(default_factory=dict)
    done: bool = False
    facts: Facts | None = None
    early: set[str] = msgspec.field(default_factory=set)
    """Dependencies that need not end: their probes passed."""

    def followers(self) -> Iterator[TaskState]:
        """Give the tasks that depend on this one."""
        for join in self.feeds:
            yield from join.tasks


class Join(msgspec.Struct, eq=False):
    """Tasks that wait for the same, counted down as one: in a wide layer that is all of them."""

    waits: int
    """Dependencies that have not ended."""
    tasks: list[TaskState] = msgspec.field(default_factory=list)


def rules_of(dag: model.DAGTemplate) -> dict[str, Rule]:
    """Read what each task depends on; those that need the same have one tuple in common."""
    known: dict[tuple[str, ...], Rule] = {}
    needed: dict[tuple[str, ...], tuple[str, ...]] = {}
    rules: dict[str, Rule] = {}
    last, rule = None, None
    for task in dag.tasks:
        if task.depends:
            needs, condition = _rule_of(task)
            rules[task.name] = needed.setdefault(needs, needs), condition
            continue
        # Most of those that need the same stand together: to compare is less than to look up.
        if rule is None or task.dependencies != last:
            last, rule = task.dependencies, known.get(task.dependencies)
            if rule is None:
                needs, _ = _rule_of(task)
                rule = known[last] = needed.setdefault(needs, needs), None
        rules[task.name] = rule
    return rules


def _rule_of(task: model.DAGTask) -> Rule:
    """Read what a task depends on."""
    if not task.depends:
        return tuple(dict.fromkeys(task.dependencies)), None
    if _PLAIN.fullmatch(task.depends):
        return tuple(dict.fromkeys(re.findall(r"[\w-]+", task.depends))), None
    rule = expression.parse_depends(task.depends)
    return rule.tasks, rule


def targets_of(dag: model.DAGTemplate, rules: dict[str, Rule]) -> tuple[str, ...]:
    """Give the tasks that the template wants; else those that nothing depends on."""
    if dag.target:
        return tuple(name for name in dag.target.split(" ") if name)
    distinct = {id(needs): needs for needs, _ in rules.values()}
    wanted = {name for needs in distinct.values() for name in needs}
    return tuple(sorted(name for name in rules if name not in wanted))


def needed(
    tasks: dict[str, model.DAGTask],
    rules: dict[str, Rule],
    targets: Iterable[str],
) -> dict[str, TaskState]:
    """Give the tasks that the targets need, each after what it depends on."""
    found: dict[str, TaskState] = {}
    joins: dict[int, Join] = {}
    """By the tuple itself: those that need the same have one in common."""
    seen: set[int] = set()
    todo = [(name, False) for name in reversed(tuple(targets))]
    while todo:
        name, expanded = todo.pop()
        if name in found:
            continue
        if name not in tasks:
            raise UnresolvedError(f"target {name} does not exist")
        needs, rule = rules[name]
        if expanded:
            task = tasks[name]
            join = joins.get(id(needs))
            if join is None or task.ready is not None:  # With probes it may start before others.
                join = Join(len(needs))
                for need in needs:
                    found[need].feeds.append(join)
                if task.ready is None:
                    joins[id(needs)] = join
            found[name] = state = TaskState(task, needs, rule, join, len(found))
            join.tasks.append(state)
            continue
        todo.append((name, True))
        if id(needs) not in seen:
            seen.add(id(needs))
            todo.extend((need, False) for need in reversed(needs) if need not in found)
    return found
