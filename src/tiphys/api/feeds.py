"""What the loop puts on record, passed on to those who watch.

Every watcher of a workflow has one feed. Changes gather in it under the ids of the nodes, so a slow
watcher costs as much memory as the workflow has nodes, and never holds up the loop. Whoever
watches everything (``ALL``) is only told that something changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from tiphys.api.metrics import Metrics
from tiphys.engine.node import Node
from tiphys.engine.run import Run

ALL = ""
"""Instead of the uid of a workflow: all of them."""


class Feed:
    """What changed in one workflow since it was last taken."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.news = asyncio.Event()

    def take(self) -> list[Node]:
        """Give the nodes that changed, and begin anew."""
        nodes, self.nodes = list(self.nodes.values()), {}
        self.news.clear()
        return nodes


class Feeds:
    """A watcher (``control.loop.Watcher``) that tells many."""

    def __init__(self, note: Callable[[str], None], metrics: Metrics) -> None:
        self._note, self._metrics = note, metrics
        self._feeds: dict[str, list[Feed]] = {}
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def watched(self) -> int:
        """How many feeds there are."""
        return sum(len(feeds) for feeds in self._feeds.values())

    async def emptied(self, patience: float) -> None:
        """Have every watcher look up, and wait until they are gone, but not for long."""
        for feeds in self._feeds.values():
            for feed in feeds:
                feed.news.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._empty.wait(), patience)

    @contextmanager
    def subscribed(self, uid: str) -> Iterator[Feed]:
        """Give a feed of a workflow; changes from now on are in it."""
        feed = Feed()
        self._empty.clear()
        self._feeds.setdefault(uid, []).append(feed)
        try:
            yield feed
        finally:
            self._feeds[uid].remove(feed)
            if not self._feeds[uid]:
                del self._feeds[uid]
            if not self._feeds:
                self._empty.set()

    def workflow(self, run: Run) -> None:
        """A run began, or its own fields changed."""
        self._metrics.workflow(run)
        for uid in (run.uid, ALL):
            for feed in self._feeds.get(uid, ()):
                feed.news.set()

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        """Nodes changed."""
        self._metrics.nodes(run, nodes)
        for feed in self._feeds.get(run.uid, ()):
            feed.nodes.update((node.id, node) for node in nodes)
            feed.news.set()
        for feed in self._feeds.get(ALL, ()):
            feed.news.set()

    def note(self, text: str) -> None:
        """Something that a person should know."""
        self._note(text)
