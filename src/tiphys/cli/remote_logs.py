"""Logs of a server elsewhere, as ``tiphys logs`` prints them: merged by time, or followed."""

from __future__ import annotations

import heapq
import queue
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field

from tiphys.cli.merge import INTERVAL, NodeLine
from tiphys.cli.remote import Remote
from tiphys.cli.remote_view import nodes_of
from tiphys.engine.node import Node
from tiphys.errors import TiphysError
from tiphys.runtimes.logs import LogLine

_ENDED = frozenset({"Succeeded", "Failed", "Error"})


@dataclass(slots=True)
class RemoteLogs:
    """The logs of one workflow."""

    remote: Remote
    uid: str
    container: str | None = None
    containers: set[str] = field(default_factory=set)
    """Those that were seen to write something."""
    _lines: queue.SimpleQueue[NodeLine | TiphysError | None] = field(
        default_factory=queue.SimpleQueue
    )

    def merged(self, nodes: Sequence[Node]) -> Iterator[NodeLine]:
        """Yield all lines of nodes by time."""
        return heapq.merge(*(self._of(node, follow=False) for node in nodes), key=_time_of)

    def follow(self, namespace: str, wanted: Sequence[str]) -> Iterator[NodeLine]:
        """Yield lines as they are written, until the workflow has ended."""
        from tiphys.cli.logs import choose_nodes  # noqa: PLC0415 - it imports this module

        known: set[str] = set()
        open_streams, over = 0, False
        while not over or open_streams:
            if not over:
                found = self.remote.object(self.uid, namespace)
                over = (found.get("status") or {}).get("phase") in _ENDED
                every = nodes_of(found)
                chosen = choose_nodes(found["metadata"]["name"], every, wanted)
                if over and not known:
                    yield from self.merged(chosen)
                    return
                fresh = [node for node in chosen if node.id not in known]
                known.update(node.id for node in fresh)
                open_streams += len(fresh)
                for node in fresh:
                    threading.Thread(target=self._read, args=(node,), daemon=True).start()
            open_streams -= yield from self._arrived()

    def _arrived(self) -> Generator[NodeLine, None, int]:
        """Yield what came within a while; give how many streams have ended."""
        ended, until = 0, time.monotonic() + INTERVAL
        found: list[NodeLine] = []
        while (left := until - time.monotonic()) > 0:
            try:
                each = self._lines.get(timeout=left)
            except queue.Empty:
                break
            if each is None:
                ended += 1
            elif isinstance(each, TiphysError):
                raise each
            else:
                found.append(each)
        yield from sorted(found, key=_time_of)
        return ended

    def _read(self, node: Node) -> None:
        try:
            for line in self._of(node, follow=True):
                self._lines.put(line)
        except TiphysError as error:
            self._lines.put(error)
        finally:
            self._lines.put(None)

    def _of(self, node: Node, *, follow: bool) -> Iterator[NodeLine]:
        for each in self.remote.client.logs(f"wf-{self.uid}", node.id, follow=follow):
            self.containers.add(each.container)
            if self.container in {None, each.container}:
                line = LogLine(
                    at=each.time.timestamp(),
                    stream=each.stream,
                    container=each.container,
                    text=each.text,
                    offset=0,
                )
                yield NodeLine(node, line, last=follow)


def _time_of(line: NodeLine) -> float:
    return line.line.at
