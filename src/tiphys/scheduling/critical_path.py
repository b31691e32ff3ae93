"""Order inside a workflow: how long the rest of the workflow takes from each task on.

Pure. The rank of a task is its own duration plus the longest rank among those that wait for it;
work with the largest rank goes first, as that is what the end of the workflow hangs on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tiphys.errors import InvalidInputError


def ranks(parents: Mapping[str, Sequence[str]], seconds: Mapping[str, float]) -> dict[str, float]:
    """Return for each task the seconds from its start to the end of the workflow."""
    children: dict[str, list[str]] = {name: [] for name in parents}
    waiting: dict[str, int] = dict.fromkeys(parents, 0)
    for name, before in parents.items():
        for parent in before:
            if parent in children:
                children[parent].append(name)
                waiting[parent] += 1
    found: dict[str, float] = {}
    done = [name for name, count in waiting.items() if count == 0]
    while done:
        name = done.pop()
        rest = max((found[child] for child in children[name]), default=0.0)
        found[name] = seconds.get(name, 0.0) + rest
        for parent in parents[name]:
            if parent in waiting:
                waiting[parent] -= 1
                if waiting[parent] == 0:
                    done.append(parent)
    if len(found) < len(parents):
        raise InvalidInputError("the tasks depend on each other in a circle")
    return found


def critical_path(parents: Mapping[str, Sequence[str]], seconds: Mapping[str, float]) -> float:
    """Return how long the workflow takes at least, however large the machine."""
    return max(ranks(parents, seconds).values(), default=0.0)
