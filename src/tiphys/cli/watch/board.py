"""The tree of a run as a person thinks of it, kept up to date node by node. Pure.

Argo's edges say what came after what; a person wants to see what is part of what. So a node stands
below the steps or DAG that called it, an item below its loop, an attempt below its retry, and
groups of steps are not shown. Every change costs the same however many nodes there are, and
``lay_out`` looks at no more branches than it has rows: 10,000 nodes must not slow down what they
show.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from tiphys.engine.node import Node, NodeType, Phase
from tiphys.engine.run import Run

LEAVES = frozenset({NodeType.POD, NodeType.HTTP, NodeType.PLUGIN, NodeType.SUSPEND})
_ITEM = re.compile(r"\(\d+:")
_ATTEMPT = re.compile(r"\(\d+\)$")

STATES: Mapping[str, str] = {
    "": "waiting",
    Phase.PENDING: "waiting",
    Phase.RUNNING: "running",
    Phase.SUCCEEDED: "done",
    Phase.SKIPPED: "passed",
    Phase.OMITTED: "passed",
    Phase.FAILED: "failed",
    Phase.ERROR: "failed",
}
ORDER = ("failed", "running", "waiting", "done", "passed")
"""Which branches are shown first when there is no room for all."""
_ACTIVE = frozenset({"failed", "running"})
_ITEMS = {"waiting": 2, "done": 0, "passed": 0}
"""How many items of a large loop are worth a row: they are all alike."""
_SMALL = 12


@dataclass(slots=True, eq=False)
class Branch:
    """A node with all that is part of it; a loop over steps has no node of its own."""

    label: str
    number: int
    parent: Branch | None = None
    node: Node | None = None
    run: Run | None = None
    """Set on the branch that stands for the whole workflow."""
    state: str = "waiting"
    children: dict[int, Branch] = field(default_factory=dict)
    by_state: dict[str, dict[int, Branch]] = field(default_factory=dict)
    size: int = 1
    """Rows that it would take with everything below it."""
    unfolded: bool = False
    """A retry whose attempts have nodes of their own."""

    @property
    def folded(self) -> bool:
        """Whether its children are told on its own row."""
        return self.node is not None and self.node.type is NodeType.RETRY and not self.unfolded

    @property
    def is_loop(self) -> bool:
        """Whether its children are items of one loop."""
        if self.run is not None or self.parent is None:
            return False
        return self.node is None or self.node.type is NodeType.TASK_GROUP

    def count(self, state: str) -> int:
        """Count the children in a state."""
        return len(self.by_state.get(state, ()))

    @property
    def ended(self) -> int:
        """How many children are over."""
        return len(self.children) - self.count("running") - self.count("waiting")


@dataclass(slots=True)
class Row:
    """One line of the tree."""

    guide: str
    """The lines that lead to it."""
    branch: Branch
    hidden: int = 0
    """Not the branch itself, but so many of its children for which there was no room."""
    shown: tuple[Branch, ...] = ()


class Board:
    """All runs, as trees."""

    def __init__(self) -> None:
        self.root = Branch("", 0)
        self.total = 0
        self.states: dict[str, int] = dict.fromkeys(ORDER, 0)
        """Leaves by state; ``total`` is all of them."""
        self._numbers = 0
        self._runs: dict[str, Branch] = {}
        self._nodes: dict[tuple[str, str], Branch] = {}
        self._names: dict[tuple[str, str], Branch] = {}
        self._leaves: dict[tuple[str, str], str] = {}

    def see_run(self, run: Run) -> None:
        """Take in that a run began or changed."""
        branch = self._runs.get(run.uid)
        if branch is None:
            branch = self._runs[run.uid] = self._new(run.name, self.root)
            branch.run = run
            self._names[run.uid, run.name] = branch
        self._move(branch, STATES.get(run.phase, "running"))

    def see_nodes(self, run: Run, nodes: Iterable[Node]) -> None:
        """Take in that nodes are new or changed."""
        if run.uid not in self._runs:
            self.see_run(run)
        for node in nodes:
            self._see(run, node)

    def _see(self, run: Run, node: Node) -> None:
        state = STATES[node.phase]
        # However often a task is tried, it is one task.
        if node.type is NodeType.RETRY or (node.type in LEAVES and not _is_attempt(node)):
            self._count((run.uid, node.id), state)
        if node.type is NodeType.STEP_GROUP:
            return
        branch = self._nodes.get((run.uid, node.id))
        if branch is None:
            branch = self._place(run, node)
        if branch.run is None:
            self._move(branch, state)

    def _count(self, key: tuple[str, str], state: str) -> None:
        before = self._leaves.get(key)
        if before == state:
            return
        if before is None:
            self.total += 1
        else:
            self.states[before] -= 1
        self.states[state] += 1
        self._leaves[key] = state

    def _place(self, run: Run, node: Node) -> Branch:
        """Find or make the branch of a new node."""
        key = (run.uid, node.name)
        branch = self._names.get(key)
        if branch is None:
            parent, label = self._parent(run, node)
            branch = self._names[key] = self._new(label, parent)
        branch.node = node
        self._nodes[run.uid, node.id] = branch
        if branch.parent and branch.parent.folded and node.type not in LEAVES:
            branch.parent.unfolded = True
            self._grow(branch.parent, sum(each.size for each in branch.parent.children.values()))
        return branch

    def _parent(self, run: Run, node: Node) -> tuple[Branch, str]:
        top = self._runs[run.uid]
        boundary = self._nodes.get((run.uid, node.boundary_id), top)
        above = boundary.node.name if boundary.node and node.boundary_id else ""
        short = node.name.removeprefix(above)
        if _is_attempt(node):
            retry = self._names.get((run.uid, _ATTEMPT.sub("", node.name)))
            if retry is not None:
                return retry, node.display_name
        item = _ITEM.search(short)
        if item is None:
            return boundary, node.display_name or node.name
        name = above + short[: item.start()]
        loop = self._names.get((run.uid, name))
        if loop is None:
            label = _ITEM.split(node.display_name, maxsplit=1)[0]
            loop = self._names[run.uid, name] = self._new(label, boundary)
        return loop, short[item.start() + 1 :].removesuffix(")")

    def _new(self, label: str, parent: Branch) -> Branch:
        self._numbers += 1
        branch = Branch(label, self._numbers, parent)
        parent.children[branch.number] = branch
        parent.by_state.setdefault("waiting", {})[branch.number] = branch
        if not parent.folded:
            self._grow(parent, 1)
        return branch

    def _grow(self, branch: Branch | None, rows: int) -> None:
        while branch is not None and rows:
            branch.size += rows
            branch = branch.parent
            if branch is not None and branch.folded:
                return

    def _move(self, branch: Branch, state: str) -> None:
        parent = branch.parent
        if branch.state == state or parent is None:
            return
        parent.by_state.get(branch.state, {}).pop(branch.number, None)
        parent.by_state.setdefault(state, {})[branch.number] = branch
        branch.state = state
        if parent.node is None and parent.run is None:
            # A loop over steps is what its items are.
            self._move(parent, _summed(parent))


def _is_attempt(node: Node) -> bool:
    return node.node_flag is not None and node.node_flag.retried


def _summed(loop: Branch) -> str:
    if loop.count("running"):
        return "running"
    if loop.count("waiting"):
        return "waiting"
    return "failed" if loop.count("failed") else "done"


# ---------------------------------------------------------------------------- layout


def lay_out(root: Branch, room: int) -> list[Row]:
    """Give at most ``room`` rows for all that stands below ``root``, the most telling ones."""
    shares = _shares(root, room)
    rows: list[Row] = []
    for child, share, _ in shares:
        rows += _branch_rows(child, share, "", "")
    hidden = len(root.children) - len(shares)
    if hidden and shares:
        rows.append(Row("", root, hidden, tuple(child for child, _, _ in shares)))
    return rows


def _branch_rows(branch: Branch, room: int, guide: str, below: str) -> list[Row]:
    rows = [Row(guide, branch)]
    if branch.folded or room <= 1 or not branch.children:
        return rows
    shares = _shares(branch, room - 1)
    hidden = len(branch.children) - len(shares)
    for child, share, last in shares:
        end = last and not hidden
        rows += _branch_rows(
            child, share, below + ("└─ " if end else "├─ "), below + ("   " if end else "│  ")
        )
    if hidden and shares:
        shown = tuple(child for child, _, _ in shares)
        rows.append(Row(f"{below}└─ ", branch, hidden, shown))
    return rows


def _shares(branch: Branch, room: int) -> list[tuple[Branch, int, bool]]:
    """Divide ``room`` rows among the children: who is shown, how tall, and which is the last."""
    if branch.size - 1 <= room:
        chosen = list(branch.children.values())
        heights = {child.number: child.size for child in chosen}
    else:
        # One row tells of those left out, unless each child can have a row.
        seats = room if len(branch.children) <= room and not branch.is_loop else room - 1
        chosen = list(_first(branch, seats))
        heights = _heights(chosen, seats)
        chosen.sort(key=lambda child: child.number)
    last = len(chosen) - 1
    return [(child, heights[child.number], at == last) for at, child in enumerate(chosen)]


def _first(branch: Branch, seats: int) -> Iterator[Branch]:
    """Choose who is shown: what failed, what runs, what comes next, what ended last."""
    left = seats
    for state in ORDER:
        if left <= 0:
            return
        group = branch.by_state.get(state, {})
        limit = left
        if state == "failed" and branch.count("running"):
            # Failures must not hide that something is still going on.
            limit = max(1, left // 2)
        elif branch.is_loop:
            limit = min(left, _ITEMS.get(state, left))
        # The latest of what is over, the first of what is to come.
        values = reversed(group.values()) if state in {"done", "passed"} else group.values()
        found = list(islice(values, limit))
        yield from found
        left -= len(found)


def _heights(chosen: Sequence[Branch], seats: int) -> dict[int, int]:
    """Give each a row, and share out the others: what is going on first, then evenly."""
    heights = {child.number: 1 for child in chosen}
    spare = seats - len(chosen)
    for active in (True, False):
        group = [child for child in chosen if (child.state in _ACTIVE) is active]
        # Who wants least is served first, so that what it leaves goes to the others.
        group.sort(key=_appetite)
        for left, child in zip(range(len(group), 0, -1), group, strict=True):
            extra = min(_appetite(child) - 1, spare // left)
            heights[child.number] += extra
            spare -= extra
    return heights


def _appetite(branch: Branch) -> int:
    """Tell how many rows a branch would fill if it got all that it wants."""
    if not branch.is_loop or branch.size <= _SMALL:
        return branch.size
    shown = sum(min(branch.count(state), _ITEMS.get(state, branch.size)) for state in ORDER)
    return min(branch.size, shown + 2)
