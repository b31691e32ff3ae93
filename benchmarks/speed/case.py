"""What is measured: the shapes of work, and how much of it.

Every shape is a number of layers that are equally wide, each task depending on all tasks of the
layer before: a fan-out is one wide layer, a chain many layers of one. So each peer needs to know
two numbers only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

AT_ONCE = 8
"""So many tasks run at the same time, in every peer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One shape of work."""

    name: str
    title: str
    width: int = 1
    depth: int = 1
    small: tuple[int, int] = (1, 1)
    """Width and depth for a peer that would take minutes, and for a quick look at all of them."""

    @property
    def size(self) -> int:
        """How many tasks there are."""
        return self.width * self.depth

    def reduced(self, most: int | None = None) -> Case:
        """Give the small form, if this one has more tasks than ``most``."""
        if most is not None and self.size <= most:
            return self
        width, depth = self.small
        return replace(self, width=min(width, self.width), depth=min(depth, self.depth))


FAN_OUT = Case(
    name="fan-out", title="Fan-out: 1,000 independent tasks", width=1_000, small=(100, 1)
)
WIDE = Case(
    name="wide", title="Wide fan-out: 10,000 independent tasks", width=10_000, small=(200, 1)
)
CHAIN = Case(name="chain", title="Chain: 200 tasks, one after another", depth=200, small=(1, 20))
LAYERS = Case(
    name="layers",
    title="Layers: 10 × 100 tasks, each waits for all of the layer before",
    width=100,
    depth=10,
    small=(10, 10),
)
HELLO = Case(name="hello", title="Hello: from the shell to the end of one task, cold")
FLOWS = Case(
    name="flows",
    title="1,000 workflows of one task each, given to a running server",
    width=1_000,
    small=(100, 1),
)
NODES = Case(
    name="nodes",
    title="100,000 nodes on a runtime that does nothing: the engine alone",
    width=100_000,
    small=(1_000, 1),
)
CASES = {case.name: case for case in (FAN_OUT, WIDE, CHAIN, LAYERS, HELLO, FLOWS, NODES)}
