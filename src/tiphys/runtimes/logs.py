"""Reading the logs of attempts: lines with time and stream, bounded, whatever the bytes are.

The executor writes the files as the tasks write to their pipes, and adds marks that tell when a
stream had grown to which size (``executor.stream``). The start of a stream past its cap is a hole.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tiphys.executor.stream import MARK, STREAMS

MAX_LINE = 1024 * 1024
"""Longer lines come in pieces."""
CHUNK = 256 * 1024


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line, or a piece of a very long one."""

    at: float
    stream: str
    container: str
    text: str
    offset: int


class _Marks:
    """When a stream had grown past an offset."""

    def __init__(self, path: Path) -> None:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            data = b""
        whole = len(data) // MARK.size * MARK.size
        self._marks = list(MARK.iter_unpack(data[:whole]))
        self._next = 0

    def at(self, offset: int, fallback: float) -> float:
        """Return the time at which the byte before ``offset`` was first seen; offsets ascend."""
        while self._next < len(self._marks) and self._marks[self._next][0] < offset:
            self._next += 1
        if self._next < len(self._marks):
            return float(self._marks[self._next][1])
        return fallback


class Tail:
    """One stream of one container, read from an offset on, again and again as it grows."""

    def __init__(
        self, folder: Path, container: str, stream: str, *, last: int | None = None
    ) -> None:
        self._path = folder / f"{container}.{stream}"
        self._marks = Path(f"{self._path}.marks")
        self._container = container
        self._stream = stream
        self._last = last
        self._offset: int | None = None
        self._rest = b""

    def lines(self, *, final: bool) -> Iterator[LogLine]:
        """Yield what is there and was not read yet; ``final``: also an unfinished last line."""
        try:
            file = open(self._path, "rb", buffering=0)  # noqa: SIM115 - closed below
        except FileNotFoundError:
            return
        with file:
            status = os.fstat(file.fileno())
            if self._offset is None:
                self._offset = self._begin(file.fileno(), status.st_size)
            marks = _Marks(self._marks)
            file.seek(self._offset)
            while data := file.read(CHUNK):
                self._offset += len(data)
                yield from self._cut(data, marks, status.st_mtime)
        if final and self._rest:
            yield self._line(self._rest, self._offset, marks.at(self._offset, status.st_mtime))
            self._rest = b""

    def _begin(self, descriptor: int, size: int) -> int:
        start = 0 if self._last is None else max(0, size - self._last)
        try:
            # What was freed for the cap is a hole: go on behind it.
            first = os.lseek(descriptor, 0, os.SEEK_DATA) if size else 0
        except OSError:
            first = 0
        if first <= start and start == 0:
            return 0
        return _next_line(descriptor, max(first, start))

    def _cut(self, data: bytes, marks: _Marks, fallback: float) -> Iterator[LogLine]:
        assert self._offset is not None
        joined = self._rest + data
        end = self._offset - len(joined)
        *lines, rest = joined.split(b"\n")
        for line in lines:
            *pieces, last = _shortened(line)
            for piece in pieces:
                end += len(piece)
                yield self._line(piece, end, marks.at(end, fallback))
            end += len(last) + 1
            yield self._line(last, end, marks.at(end, fallback))
        *pieces, self._rest = _shortened(rest)
        for piece in pieces:
            end += len(piece)
            yield self._line(piece, end, marks.at(end, fallback))

    def _line(self, piece: bytes, end: int, at: float) -> LogLine:
        text = piece.decode("utf-8", "replace")
        return LogLine(at=at, stream=self._stream, container=self._container, text=text, offset=end)


def _shortened(line: bytes) -> list[bytes]:
    if len(line) <= MAX_LINE:
        return [line]
    return [line[start : start + MAX_LINE] for start in range(0, len(line), MAX_LINE)]


def _next_line(descriptor: int, offset: int) -> int:
    if offset == 0:
        return 0
    data = os.pread(descriptor, CHUNK, offset - 1)
    newline = data.find(b"\n")
    return offset if newline < 0 else offset + newline


def containers_of(folder: Path) -> list[str]:
    """Return the containers that have written anything."""
    names = {path.name.rpartition(".")[0] for s in STREAMS for path in folder.glob(f"*.{s}")}
    return sorted(names)


class LogReader:
    """The lines of an attempt, in the order of their times; call ``read`` again to follow."""

    def __init__(
        self, folder: Path, *, container: str | None = None, last_bytes: int | None = None
    ) -> None:
        self._folder = folder
        self._container = container
        self._last = last_bytes
        self._tails: dict[tuple[str, str], Tail] = {}

    def read(self, *, final: bool = False) -> Iterator[LogLine]:
        """Yield new lines; ``final`` when the attempt has ended, to get an unfinished last line."""
        names = [self._container] if self._container else containers_of(self._folder)
        for name in names:
            for stream in STREAMS:
                key = (name, stream)
                if key not in self._tails:
                    self._tails[key] = Tail(self._folder, name, stream, last=self._last)
        streams = [tail.lines(final=final) for tail in self._tails.values()]
        return heapq.merge(*streams, key=lambda line: line.at)


def read_all(folder: Path, container: str) -> Iterator[bytes]:
    """Yield a container's whole log, both streams, line by line."""
    for line in LogReader(folder, container=container).read(final=True):
        yield line.text.encode("utf-8", "surrogateescape") + b"\n"
