"""Slots: of queues with ``max_parallel`` only so many workflows hold one at a time.

A workflow takes its slot with the first of its works that starts there, and gives it back when none
of its works waits or runs there any more. Who holds which stands in the accounts, where ``line``
looks for one that is free; here is counted when it becomes so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tiphys.scheduling.ledger import Account
from tiphys.scheduling.work import Work


class Slots:
    """Counts the works of each workflow in each queue with a limit of workflows."""

    __slots__ = ("_freed", "_works", "queues")

    def __init__(self, leaves: Mapping[str, Account], freed: Callable[[Account], None]) -> None:
        self.queues = frozenset(
            name
            for name, account in leaves.items()
            if any(step.queue.max_parallel is not None for step in account.path)
        )
        """Those with a limit of their own, or above them; of all others nothing is counted."""
        self._freed = freed
        self._works: dict[tuple[str, str], int] = {}

    def came(self, account: Account, work: Work) -> None:
        """A work is there, waiting or running."""
        if work.queue not in self.queues:
            return
        key = (account.queue.name, work.workflow or work.id)
        self._works[key] = self._works.get(key, 0) + 1

    def took(self, account: Account, work: Work) -> None:
        """A work has started: its workflow holds a slot, if it did not before."""
        if work.queue in self.queues:
            for step in account.path:
                step.workflows.setdefault(work.workflow or work.id, 0)

    def left(self, account: Account, work: Work) -> None:
        """A work has ended or was withdrawn; with the last one of its workflow the slot is free."""
        if work.queue not in self.queues:
            return
        workflow = work.workflow or work.id
        key = (account.queue.name, workflow)
        self._works[key] = self._works.get(key, 1) - 1
        if self._works[key] > 0:
            return
        del self._works[key]
        for step in account.path:
            if step.workflows.pop(workflow, None) is not None:
                self._freed(step)
