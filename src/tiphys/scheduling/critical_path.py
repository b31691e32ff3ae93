"""Order inside a workflow: how long the rest of the workflow takes from each task on.

Pure. The rank of a task is its own duration plus the longest rank among those that wait for it;
work with the largest rank goes first, as that is what the end of the workflow hangs on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tiphys.errors import InvalidInputError


def ranks(parents: Mapping[str, Sequence[str]], seconds: Mapping[str, float]) -> dict[str, float]:
    """Return for each task the seconds from its start to the end of the workflow."""
    joins = _joins(parents)
    rest: dict[str, float] = dict.fromkeys(parents, 0.0)
    waiting: dict[str, int] = dict.fromkeys(parents, 0)
    for join in dict.fromkeys(joins.values()):
        for parent in join.parents:
            waiting[parent] += 1
    found: dict[str, float] = {}
    done = [name for name, count in waiting.items() if count == 0]
    while done:
        name = done.pop()
        found[name] = seconds.get(name, 0.0) + rest[name]
        join = joins[id(parents[name])]
        join.longest = max(join.longest, found[name])
        join.left -= 1
        if join.left:
            continue
        for parent in join.parents:
            rest[parent] = max(rest[parent], join.longest)
            waiting[parent] -= 1
            if waiting[parent] == 0:
                done.append(parent)
    if len(found) < len(parents):
        raise InvalidInputError("the tasks depend on each other in a circle")
    return found


class _Join:
    """Tasks that wait for the same: in a wide layer that is every one of them."""

    __slots__ = ("left", "longest", "parents")

    def __init__(self, parents: Iterable[str]) -> None:
        self.parents = tuple(parents)
        self.left = 0
        self.longest = 0.0


def _joins(parents: Mapping[str, Sequence[str]]) -> dict[int, _Join]:
    """Find the joins, by the very sequences of ``parents``: many tasks may have one in common, and
    to look up a hundred names for each of a hundred tasks takes its time."""
    joins: dict[int, _Join] = {}
    alike: dict[tuple[str, ...], _Join] = {}
    for before in parents.values():
        join = joins.get(id(before))
        if join is None:
            names = tuple(before)
            join = alike.get(names)
            if join is None:
                join = _Join(dict.fromkeys(name for name in names if name in parents))
                alike[names] = join
            joins[id(before)] = join
        join.left += 1
    return joins


def critical_path(parents: Mapping[str, Sequence[str]], seconds: Mapping[str, float]) -> float:
    """Return how long the workflow takes at least, however large the machine."""
    return max(ranks(parents, seconds).values(), default=0.0)
