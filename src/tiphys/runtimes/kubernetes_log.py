"""The log of one container, copied to the attempt's folder while it runs.

Kubernetes has one log for both streams: it becomes the ``stdout`` of the copy. The server may cut
the stream at any time; it is asked again from the beginning, and what was copied is passed over.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from tiphys.errors import ClusterError
from tiphys.executor.stream import MARK
from tiphys.kube.client import Client
from tiphys.runtimes.kubernetes_pod import seconds

_SILENCE = 3600.0
_TRIES = 4
_PAUSE, _LONGEST = 0.3, 5.0
_NO_ADDRESS = "no preferred addresses found"
"""What the API server says of a node that only pretends: it has no logs, now or later."""
_GONE = b"unable to retrieve container logs for "
"""What a kubelet writes in place of a log that it has removed."""
_MARK_EVERY = 0.05
"""Seconds between two marks of time, as the executor's own logs have."""


class LogCopy:
    """Copies one log. ``run`` ends when the container has."""

    def __init__(self, client: Client, pod: str, container: str, folder: Path, cap: int) -> None:
        self._client = client
        self._path = f"{pod}/log"
        self._container = container
        self._target = folder / f"{container}.stdout"
        self._cap = cap
        self._read = 0
        """Bytes of the stream, times included, that were dealt with."""
        self._size = 0
        self._marked = 0.0
        self.task: asyncio.Task[None] | None = None
        """What runs it."""
        self.over = False
        """Set when the container has ended: a stream that breaks off then is complete."""

    async def run(self) -> None:
        """Copy until the container has ended; a log that cannot be read is no failure."""
        with ExitStack() as files:
            target = files.enter_context(self._target.open("ab"))
            marks = files.enter_context(Path(f"{self._target}.marks").open("ab"))  # noqa: ASYNC230
            left, pause = _TRIES, _PAUSE
            while left:
                # One that has ended is asked a few times; one that runs, as long as it does.
                left -= self.over
                try:
                    await self._copy(target, marks)
                    if self.over:
                        return
                    pause = _PAUSE
                except ClusterError as error:
                    if _NO_ADDRESS in str(error):
                        return
                await asyncio.sleep(pause)
                pause = _PAUSE if self.over else min(pause * 2, _LONGEST)

    async def _copy(self, target: BinaryIO, marks: BinaryIO) -> None:
        query = {"container": self._container, "follow": "true", "timestamps": "true"}
        skip = self._read
        rest = b""
        async with self._client.stream(self._path, query, patience=_SILENCE) as chunks:
            async for chunk in chunks:
                data = chunk
                if skip:
                    data, skip = chunk[skip:], max(0, skip - len(chunk))
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._write(line, target, marks)
                target.flush()
                marks.flush()
        if rest:
            self._write(rest, target, marks, end=b"")

    def _write(self, line: bytes, target: BinaryIO, marks: BinaryIO, end: bytes = b"\n") -> None:
        if line.startswith(_GONE):
            return
        if not self._read:
            # What an earlier process copied comes again from the beginning.
            target.truncate(0)
            marks.truncate(0)
        self._read += len(line) + len(end)
        stamp, _, text = line.partition(b" ")
        at = seconds(_short(stamp.decode("latin-1")))
        if self._size < self._cap:
            target.write(text + end)
            self._size += len(text) + len(end)
            if at is not None and at - self._marked >= _MARK_EVERY:
                self._marked = at
                marks.write(MARK.pack(self._size, at))


def _short(stamp: str) -> str:
    """Cut nanoseconds to what Python reads."""
    head, dot, rest = stamp.partition(".")
    return f"{head}.{rest.rstrip('Z')[:6]:0<6}Z" if dot else stamp
