"""The replicas of a Volcano Job, counted as they change: no event makes anyone walk all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tiphys.engine.node import Node, Phase
from tiphys.spec.model.volcano import JobTask

PENDING, RUNNING, SUCCEEDED, FAILED = "pending", "running", "succeeded", "failed"
_WORDS = {
    Phase.PENDING: PENDING,
    Phase.RUNNING: RUNNING,
    Phase.SUCCEEDED: SUCCEEDED,
}


@dataclass(slots=True, eq=False)
class Slot:
    """One replica: the node that stands for it now, and how many came before."""

    task: JobTask
    index: int
    number: int = 0
    """Of the node: 0 is the first."""
    node: Node | None = None
    seen: str = ""
    """What of the node was acted on already."""
    restarts: int = 0
    """Of its container, in its pod."""
    counted: str = ""
    """As what the tally has it."""

    @property
    def key(self) -> str:
        """Its name within the Job."""
        return f"{self.task.name}-{self.index}"


@dataclass(slots=True)
class Tally:
    """How many replicas are in which state, in all and task by task."""

    words: Counter[str] = field(default_factory=Counter)
    by_task: Counter[tuple[str, str]] = field(default_factory=Counter)

    def see(self, slot: Slot) -> None:
        """Count a replica as it is now."""
        word = word_of(slot)
        if word == slot.counted:
            return
        if slot.counted:
            self.words[slot.counted] -= 1
            self.by_task[slot.task.name, slot.counted] -= 1
        self.words[word] += 1
        self.by_task[slot.task.name, word] += 1
        slot.counted = word

    def started(self, task: str) -> int:
        """How many replicas of a task run or have succeeded."""
        return self.by_task[task, RUNNING] + self.by_task[task, SUCCEEDED]

    def succeeded(self, task: str) -> int:
        """How many replicas of a task have succeeded."""
        return self.by_task[task, SUCCEEDED]


def word_of(slot: Slot) -> str:
    """Say how a replica is."""
    return PENDING if slot.node is None else _WORDS.get(slot.node.phase, FAILED)
