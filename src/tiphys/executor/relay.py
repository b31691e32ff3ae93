"""One thread that moves what tasks write from their pipes to their log files.

A thread of its own because a full disk cache makes the writer wait, and the loop never waits. Each
turn moves a limited part of every pipe that has something, so floods share and nobody starves. A
turn that found little is followed by a short pause: a task that writes line by line would otherwise
wake the thread for each. It is started when something is written for the first time.
"""

from __future__ import annotations

import select
import time
from contextlib import suppress

from tiphys.executor.stream import MUCH, Stream
from tiphys.executor.thread import start_thread

PAUSE = 0.005


class Relay:
    """Drains every stream that it was given."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._streams: dict[int, Stream] = {}
        self.descriptor = self._epoll.fileno()
        """Readable when something was written that nobody moves yet."""

    def begin(self) -> bool:
        """Have it moved from now on; False where no thread can be had: a part is moved here then,
        and whoever calls comes again."""
        try:
            start_thread("relay", self._run)
        except RuntimeError:
            self._turn(self._epoll.poll(0))
            return False
        return True

    def add(self, stream: Stream) -> None:
        """Begin to drain a stream."""
        self._streams[stream.reader] = stream
        self._epoll.register(stream.reader, select.EPOLLIN)

    def resume(self, stream: Stream) -> None:
        """Try again with a stream that was stuck."""
        stream.stuck = False
        self._epoll.modify(stream.reader, select.EPOLLIN)

    def remove(self, stream: Stream) -> None:
        """Leave a stream alone; ``finish`` of it is next."""
        if self._streams.pop(stream.reader, None) is not None:
            self._epoll.unregister(stream.reader)

    def close(self, stream: Stream) -> None:
        """Close a stream that nothing was written to; the kernel then looks at it no more."""
        self._streams.pop(stream.reader, None)
        stream.close()

    def _run(self) -> None:
        while True:
            if self._turn(self._epoll.poll()) < MUCH:
                time.sleep(PAUSE)

    def _turn(self, ready: list[tuple[int, int]]) -> int:
        """Drain each once; return the most that one of them had."""
        most = 0
        for fd, _ in ready:
            stream = self._streams.get(fd)
            if stream is None:
                continue
            try:
                most = max(most, stream.drain())
            except OSError:
                # The disk is full. The task waits at its full pipe, and nothing is lost.
                with suppress(OSError, ValueError):
                    self._epoll.modify(fd, 0)
                # Last: whoever sees it may at once resume.
                stream.stuck = True
        return most
