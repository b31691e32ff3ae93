"""Who watches which changes: the loop tells the feed, the feed tells the streams.

A change is only the uid of a workflow; what it looks like now is read from the store when the
stream gets to it. So a slow reader costs a few words of memory, and misses states but never the
last one. Lives in the event loop; not for other threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiphys.engine.node import Node
    from tiphys.engine.run import Run


@dataclass(eq=False, slots=True)
class Subscription:
    """What changed since the subscriber last looked."""

    only: str = ""
    """The one workflow that matters; "" for all."""
    changed: dict[str, None] = field(default_factory=dict)
    _bell: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, uid: str) -> None:
        """Note a change."""
        if self.only in {"", uid}:
            self.changed[uid] = None
            self._bell.set()

    async def take(self, seconds: float) -> list[str]:
        """Wait for changes and give them, each workflow once; none after ``seconds``."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._bell.wait(), seconds)
        self._bell.clear()
        changed, self.changed = list(self.changed), {}
        return changed


class Feed:
    """Passes on what the loop announces (it is a ``control.loop.Watcher``)."""

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()

    @contextmanager
    def subscribed(self, only: str = "") -> Iterator[Subscription]:
        """Listen for a while."""
        subscription = Subscription(only)
        self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    def tell(self, uid: str) -> None:
        """Say that a workflow changed, or is gone."""
        for subscription in self._subscriptions:
            subscription.tell(uid)

    def workflow(self, run: Run) -> None:
        """Pass on that a run changed."""
        self.tell(run.uid)

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        """Pass on that nodes changed."""
        self.tell(run.uid)

    def note(self, text: str) -> None:
        """Notes are for the server's log."""
