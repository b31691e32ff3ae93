"""What tasks wrote, as streams of Argo's log entries: ``{"content": …, "podName": …}``."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from starlette.responses import Response

from tiphys.api.argo.call import Call
from tiphys.api.argo.feed import Feed
from tiphys.api.argo.show import nodes_of
from tiphys.api.argo.stream import ALIVE, Frames, reply_stream
from tiphys.api.problems import RequestError
from tiphys.core.name import is_dns1123_label
from tiphys.engine.node import Node, pod_of
from tiphys.errors import InvalidInputError, NotFoundError
from tiphys.runtimes.archive import ArchivedLog, Read, open_log
from tiphys.runtimes.logs import LogLine, LogReader
from tiphys.service.access import Role
from tiphys.spec.expression.fault import Fault
from tiphys.spec.expression.regex import compile_pattern, matches
from tiphys.store import Store, WorkflowRow

POLL = 0.2
"""Seconds between two looks at logs that grow."""
BATCH = 500
_ENDED = frozenset({"Succeeded", "Failed", "Error"})
_PREFIX = "logOptions."


class Line(NamedTuple):
    """A line and the pod that wrote it."""

    pod: str
    line: LogLine


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which lines are wanted, and how."""

    pod: str = ""
    container: str = ""
    grep: str = ""
    since: float = 0.0
    tail: int | None = None
    timestamps: bool = False
    follow: bool = False

    def takes(self, found: Line) -> bool:
        """Tell whether a line is wanted."""
        if found.line.at < self.since:
            return False
        try:
            return not self.grep or matches(self.grep, self.content(found))
        except Fault as error:
            raise RequestError("bad_filter", f"grep: {error.message}") from None

    def content(self, found: Line) -> str:
        """Give the text of a line."""
        if not self.timestamps:
            return found.line.text
        at = datetime.fromtimestamp(found.line.at, UTC).isoformat(timespec="microseconds")
        return f"{at.replace('+00:00', 'Z')} {found.line.text}"

    def frame(self, found: Line) -> bytes:
        """Write a line as Argo's entry."""
        return msgspec.json.encode({"content": self.content(found), "podName": found.pod})

    def means(self, row: WorkflowRow, node: Node) -> bool:
        """Tell whether the lines of a node are wanted."""
        return self.pod in {"", node.id, pod_of(row.name, node)}


def read_wanted(call: Call) -> Wanted:
    """Read what somebody asked for."""
    if call.text("selector"):
        raise RequestError("not_implemented", "logs cannot be selected by labels of pods")
    grep = call.text("grep")
    try:
        compile_pattern(grep)
    except Fault as error:
        raise RequestError("bad_filter", f"grep: {error.message}") from None
    since = call.moment(f"{_PREFIX}sinceTime") or float(
        call.number(f"{_PREFIX}sinceTime.seconds") or 0
    )
    container = call.text(f"{_PREFIX}container")
    if container and not is_dns1123_label(container):
        # It becomes part of a path.
        raise InvalidInputError(f"{container[:60]!r} cannot be the name of a container")
    tail = call.number(f"{_PREFIX}tailLines")
    seconds = call.number(f"{_PREFIX}sinceSeconds")
    if seconds is not None:
        since = call.context.host.clock.now() - seconds
    return Wanted(
        pod=call.path("pod") or call.text("podName"),
        container=container,
        grep=grep,
        since=since,
        tail=None if tail is None or tail < 0 else tail,
        timestamps=call.flag(f"{_PREFIX}timestamps"),
        follow=call.flag(f"{_PREFIX}follow"),
    )


@dataclass(slots=True)
class Logs:
    """The logs of one workflow, read on and on."""

    data: Path
    store: Store
    row: WorkflowRow
    wanted: Wanted
    kept: Read | None = None
    """Reads logs that were archived."""
    readers: dict[tuple[str, int], LogReader | ArchivedLog] = field(default_factory=dict)
    closed: set[tuple[str, int]] = field(default_factory=set)
    open_nodes: list[Node] = field(default_factory=list)
    """Those of the nodes that may still write."""

    def meant(self) -> list[Node]:
        """Give the nodes whose lines are wanted."""
        nodes = nodes_of(self.store, self.row.uid)
        return [node for node in nodes if self.wanted.means(self.row, node)]

    def more(self, *, changed: bool) -> tuple[list[Line], bool]:
        """Give the lines that are new, and whether there will be no more.

        The nodes are read anew only where something has ``changed``: there may be 100,000.
        """
        # The phase first: nodes that end in between are then read once more.
        try:
            over = changed and self.store.workflow(self.row.uid).phase in _ENDED
        except NotFoundError:
            return [], True
        if changed:
            self.open_nodes = [node for node in self.meant() if _key(node) not in self.closed]
        found: list[Line] = []
        for node in self.open_nodes:
            if node.ours.attempt and _key(node) not in self.closed:
                found += self._read(_key(node), node, final=node.ended or over)
        found.sort(key=lambda each: each.line.at)
        return found, over

    def _read(self, key: tuple[str, int], node: Node, *, final: bool) -> list[Line]:
        reader = self.readers.pop(key, None) or self._open(node)
        if final:
            self.closed.add(key)
        else:
            self.readers[key] = reader
        lines = (Line(pod_of(self.row.name, node), line) for line in reader.read(final=final))
        return [line for line in lines if self.wanted.takes(line)]

    def _open(self, node: Node) -> LogReader | ArchivedLog:
        uid = self.row.uid
        folder = self.data / "attempts" / uid / f"{uid}.{node.ours.attempt}"
        return open_log(folder, node, self.kept, self.wanted.container or None)

    def everything(self) -> Iterator[Line]:
        """Yield all lines by time; a log is opened when the time of its node has come."""
        waiting = sorted((n for n in self.meant() if n.ours.attempt), key=_began, reverse=True)
        heap: list[tuple[float, int, Line, Iterator[Line]]] = []
        count = 0
        while waiting or heap:
            while waiting and (not heap or _began(waiting[-1]) <= heap[0][0]):
                count += 1
                _push(heap, count, self._lines(waiting.pop()))
            if heap:
                _, number, line, rest = heapq.heappop(heap)
                if self.wanted.takes(line):
                    yield line
                _push(heap, number, rest)

    def _lines(self, node: Node) -> Iterator[Line]:
        pod = pod_of(self.row.name, node)
        return (Line(pod, line) for line in self._open(node).read(final=True))


def _push(
    heap: list[tuple[float, int, Line, Iterator[Line]]], number: int, lines: Iterator[Line]
) -> None:
    line = next(lines, None)
    if line is not None:
        heapq.heappush(heap, (line.line.at, number, line, lines))


def _key(node: Node) -> tuple[str, int]:
    return node.id, node.ours.attempt


def _began(node: Node) -> float:
    return node.ours.began_at or node.started_at or 0.0


def tailed(lines: Iterable[Line], count: int | None) -> list[Line]:
    """Keep the last so many lines of each pod."""
    if count is None:
        return list(lines)
    kept: dict[str, deque[Line]] = {}
    for line in lines:
        kept.setdefault(line.pod, deque(maxlen=count)).append(line)
    return sorted((line for each in kept.values() for line in each), key=lambda each: each.line.at)


def _batches(lines: Iterator[Line]) -> Callable[[], list[Line]]:
    def take() -> list[Line]:
        return [line for line, _ in zip(lines, range(BATCH), strict=False)]

    return take


class Logging:
    """The routes of logs."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    async def logs(self, call: Call) -> Response:
        """Stream the logs of a workflow, or of one pod of it."""
        row = call.workflow(Role.VIEWER)
        wanted = read_wanted(call)
        shelf = call.context.artifacts
        kept = partial(shelf.read, namespace=row.namespace)
        logs = Logs(call.context.host.data, call.context.store, row, wanted, kept)
        if wanted.follow:
            return await reply_stream(call, self._following(logs))
        if wanted.pod and not await asyncio.to_thread(logs.meant):
            raise NotFoundError(f"there is no pod {wanted.pod[:200]!r} in workflow {row.name}")
        return await reply_stream(call, _stored(logs))

    async def _following(self, logs: Logs) -> Frames:
        over, changed, silent, tail = False, True, 0.0, logs.wanted.tail
        yield None  # The headers go out at once: the reader waits for them.
        with self._feed.subscribed(logs.row.uid) as subscription:
            while not over:
                lines, over = await asyncio.to_thread(logs.more, changed=changed)
                if tail is not None:
                    lines, tail = tailed(lines, tail), None
                for line in lines:
                    yield logs.wanted.frame(line)
                silent = 0.0 if lines else silent + POLL
                quiet = silent >= ALIVE
                if quiet:
                    silent = 0.0
                    yield None
                # Once in a while also unasked: it may have been deleted by others.
                changed = quiet or (not over and bool(await subscription.take(POLL)))


async def _stored(logs: Logs) -> Frames:
    if logs.wanted.tail is not None:
        for line in await asyncio.to_thread(lambda: tailed(logs.everything(), logs.wanted.tail)):
            yield logs.wanted.frame(line)
        return
    take = _batches(logs.everything())
    while lines := await asyncio.to_thread(take):
        for line in lines:
            yield logs.wanted.frame(line)
