"""Lines of many nodes in the order of their times, with few files open at once."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tiphys.cli.attempt import attempt_folder
from tiphys.engine.node import Node
from tiphys.runtimes.archive import ArchivedLog, Read, open_log
from tiphys.runtimes.logs import LogLine, LogReader

INTERVAL = 0.2


@dataclass(frozen=True, slots=True)
class NodeLine:
    """A line and who wrote it."""

    node: Node
    line: LogLine
    last: bool = False
    """Whether nothing else is there yet."""


def merged(
    data: Path,
    uid: str,
    nodes: Iterable[Node],
    container: str | None = None,
    read: Read | None = None,
) -> Iterator[NodeLine]:
    """Yield all lines of ``nodes`` by time; ``read`` gives those that are kept as artifacts.

    A log is opened when the time of its node has come: of 10,000 nodes only those that ran side by
    side are open together.
    """
    waiting = sorted((n for n in nodes if n.ours.attempt), key=_began, reverse=True)
    heap: list[tuple[float, int, LogLine, Node, Iterator[LogLine]]] = []
    count = 0
    while waiting or heap:
        while waiting and (not heap or _began(waiting[-1]) <= heap[0][0]):
            node = waiting.pop()
            folder = attempt_folder(data, uid, node.ours.attempt)
            lines = open_log(folder, node, read, container).read(final=True)
            count += 1
            _push(heap, count, node, lines)
        if heap:
            _, number, line, node, lines = heapq.heappop(heap)
            yield NodeLine(node, line)
            _push(heap, number, node, lines)


def _push(
    heap: list[tuple[float, int, LogLine, Node, Iterator[LogLine]]],
    number: int,
    node: Node,
    lines: Iterator[LogLine],
) -> None:
    line = next(lines, None)
    if line is not None:
        heapq.heappush(heap, (line.at, number, line, node, lines))


def _began(node: Node) -> float:
    return node.ours.began_at or node.started_at or 0.0


def follow(
    data: Path,
    uid: str,
    source: Callable[[], tuple[Sequence[Node], bool]],
    container: str | None = None,
    read: Read | None = None,
) -> Iterator[NodeLine]:
    """Yield lines as they are written until ``source`` says that the workflow is over."""
    readers: dict[tuple[str, int], LogReader | ArchivedLog] = {}
    closed: set[tuple[str, int]] = set()
    over = False
    while not over:
        nodes, over = source()
        found: list[NodeLine] = []
        for node in nodes:
            key = (node.id, node.ours.attempt)
            if not node.ours.attempt or key in closed:
                continue
            if key not in readers:
                folder = attempt_folder(data, uid, node.ours.attempt)
                readers[key] = open_log(folder, node, read, container)
            final = node.ended or over
            found += [NodeLine(node, line) for line in readers[key].read(final=final)]
            if final:
                closed.add(key)
                del readers[key]
        found.sort(key=lambda each: each.line.at)
        yield from found[:-1]
        if found:
            yield NodeLine(found[-1].node, found[-1].line, last=True)
        if not over:
            time.sleep(INTERVAL)
