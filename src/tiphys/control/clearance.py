"""Orders to remove what Volcano keeps of a run: on record until they are performed.

A run whose Jobs go with its success has its order on record from its submission, a run that is
deleted from the transaction that deletes it. So a crash at any instant forgets none: the next
server finds the order and gives it again, and to remove twice does no harm.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import msgspec

from tiphys.control.leftover import clearing, goes
from tiphys.control.record import Ledger
from tiphys.core.clock import Clock
from tiphys.errors import NotFoundError, StoreError
from tiphys.ports import Instruction, Mirrored, is_dispatched
from tiphys.store import ObjectRow, WorkflowRow

KIND = "ClusterClearing"
LAST_WORDS = 5.0
"""Seconds for orders of this host when it goes."""


class Performer(Protocol):
    """The loop, as orders go to it."""

    def clear(self, order: Instruction) -> None:
        """Have an order performed behind the next commit."""

    async def settle(self) -> None:
        """Wait for that commit."""


class Clearings:
    """Keeps them for one host, on the loop's thread."""

    def __init__(
        self,
        ledger: Ledger,
        control: Performer,
        clock: Clock,
        note: Callable[[str], None],
    ) -> None:
        self._ledger, self._control, self._clock, self._note = ledger, control, clock, note
        self._store = ledger.store
        self._orders = dict(filter(None, map(_read, self._store.objects(KIND))))
        self._given: set[str] = set()
        """Runs whose order was given and is not performed yet."""
        self._idle = asyncio.Event()

    def promise(self, row: WorkflowRow) -> None:
        """Put the order for a new run on record, if one comes with its success."""
        order = clearing(row.uid, row.name, row.namespace, row.labels)
        if order is not None and goes(row.labels, "Succeeded") and not is_dispatched(row.labels):
            self._keep(order)

    def order(self, order: Instruction) -> None:
        """Have something removed; it is on record with the next commit, and done behind it."""
        self._keep(order)
        self._give(order)

    def resume(self) -> None:
        """Give the orders again that an earlier host could not have performed."""
        for order in list(self._orders.values()):
            if order.uid not in self._given and self._is_due(order):
                self._give(order)

    def hear(self, news: Mirrored) -> None:
        """Hear what became of an order; one that could not be performed stays on record."""
        self._given.discard(news.uid)
        order = self._orders.get(news.uid)
        if news.cleared:
            self._orders.pop(news.uid, None)
            self._ledger.forget(KIND, "", news.uid)
        elif order is not None:
            name = f"{order.namespace}/{order.name}"
            self._note(f"what Volcano keeps of {name} is left to the next start: {news.message}")
        if not self._given:
            self._idle.set()

    async def close(self) -> None:
        """Wait for orders that were given, but not for long: the next host gives them again."""
        if not self._given:
            return
        self._idle.clear()
        with suppress(TimeoutError, StoreError):
            async with asyncio.timeout(LAST_WORDS):
                await self._idle.wait()
                await self._control.settle()

    def _keep(self, order: Instruction) -> None:
        self._orders[order.uid] = order
        body, at = msgspec.json.encode(order), self._clock.now()
        self._ledger.keep(ObjectRow(kind=KIND, namespace="", name=order.uid, body=body, at=at))

    def _give(self, order: Instruction) -> None:
        self._given.add(order.uid)
        self._control.clear(order)

    def _is_due(self, order: Instruction) -> bool:
        """Whether the run is deleted, or ended so that what it left goes."""
        try:
            row = self._store.workflow(order.uid)
        except NotFoundError:
            return True
        return goes(row.labels, row.phase)


def _read(row: ObjectRow) -> tuple[str, Instruction] | None:
    try:
        return row.name, msgspec.json.decode(row.body, type=Instruction)
    except msgspec.MsgspecError:
        return None
