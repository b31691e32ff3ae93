"""Logs that were kept as artifacts (``archiveLogs``), read where the attempt's own files are gone.

An artifact knows no times and no streams: its lines come as standard output, all at the time at
which their node ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from tiphys.engine.node import Node
from tiphys.errors import ArtifactError
from tiphys.runtimes.logs import MAX_LINE, LogLine, LogReader
from tiphys.spec import model

SUFFIX = "-logs"
Read = Callable[[model.Artifact], Iterator[bytes]]
"""Gives the bytes of an artifact."""


def log_artifact(container: str) -> str:
    """Name the artifact that holds the log of a container."""
    return f"{container}{SUFFIX}"


def archived_logs(node: Node, container: str | None = None) -> dict[str, model.Artifact]:
    """Give the logs of a node that are kept, by container: all, or that of one."""
    declared = node.outputs.artifacts if node.outputs is not None else ()
    # What a template declares has a path; a log has none.
    kept = {
        artifact.name.removesuffix(SUFFIX): artifact
        for artifact in declared
        if artifact.name.endswith(SUFFIX) and not artifact.path and not artifact.deleted
    }
    return {name: each for name, each in kept.items() if container in (None, name)}


class ArchivedLog:
    """The kept logs of a node; read as ``logs.LogReader`` is, and all there is at once."""

    def __init__(self, node: Node, read: Read, container: str | None = None) -> None:
        self._node = node
        self._read = read
        self._left = archived_logs(node, container)

    def read(self, *, final: bool = False) -> Iterator[LogLine]:
        """Yield the lines, one container after the other."""
        while self._left:
            name = min(self._left)
            yield from self._lines(name, self._left.pop(name))

    def _lines(self, container: str, artifact: model.Artifact) -> Iterator[LogLine]:
        offset = 0
        try:
            for line in _lines(self._read(artifact)):
                offset += len(line) + 1
                yield self._line(container, "stdout", line.decode("utf-8", "replace"), offset)
        except ArtifactError as error:
            # In its place in the log: of a workflow with many nodes the others are still wanted.
            yield self._line(container, "stderr", f"(this log cannot be read: {error})", offset)

    def _line(self, container: str, stream: str, text: str, offset: int) -> LogLine:
        at = self._node.finished_at or self._node.started_at or 0.0
        return LogLine(at=at, stream=stream, container=container, text=text, offset=offset)


def open_log(
    folder: Path,
    node: Node,
    read: Read | None,
    container: str | None = None,
    *,
    last_bytes: int | None = None,
) -> LogReader | ArchivedLog:
    """Open the log of a node's latest attempt: its own files, or what is kept of it."""
    if read is None or folder.is_dir() or not archived_logs(node, container):
        return LogReader(folder, container=container, last_bytes=last_bytes)
    return ArchivedLog(node, read, container)


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
        while len(rest) > MAX_LINE:
            yield rest[:MAX_LINE]
            rest = rest[MAX_LINE:]
    if rest:
        yield rest
