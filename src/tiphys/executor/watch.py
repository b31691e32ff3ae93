"""What running attempts write: their output streams and their progress.

Owned by the loop, which looks at it on its tick; the bytes themselves are moved by ``relay``.
"""

from __future__ import annotations

import re

from tiphys.executor.protocol import VIEW, Attempt, ContainerRun
from tiphys.executor.relay import Relay
from tiphys.executor.stream import STREAMS, Stream, log_path

_PROGRESS = re.compile(r"\d{1,9}/\d{1,9}")


class Watch:
    """The streams and the progress file of one attempt."""

    def __init__(self, attempt: Attempt, relay: Relay) -> None:
        self._attempt = attempt
        self._relay = relay
        self._streams: dict[str, Stream] = {}
        self._progress = attempt.progress
        self._seen = ""
        self._inside = False

    def pipes(self, run: ContainerRun) -> tuple[int, int]:
        """Return where a container is to write its output and its errors."""
        out, err = STREAMS
        return self._stream(run.name, out).writer, self._stream(run.name, err).writer

    def _stream(self, container: str, name: str) -> Stream:
        path = log_path(self._attempt.folder, container, name)
        stream = self._streams.get(path)
        if stream is None:
            stream = self._streams[path] = Stream(path, self._attempt.log_cap)
            self._relay.add(stream)
        return stream

    def follow_to(self, path: str) -> None:
        """Find the progress file at a path of the host."""
        self._progress, self._inside = path, True

    def follow_into(self, upper: str, run: ContainerRun) -> None:
        """Find the progress file in the container's own root, if it is there that it belongs."""
        if self._progress.startswith(VIEW) and run.role == "main" and not self._inside:
            self._inside = True
            self._progress = upper + self._progress.removeprefix(VIEW)

    def look(self) -> str:
        """Look once; return the progress where it is new."""
        for stream in self._streams.values():
            stream.look()
            if stream.stuck:
                self._relay.resume(stream)
        if not self._progress:
            return ""
        try:
            with open(self._progress, "rb") as file:
                lines = file.read(4096).decode(errors="replace").split()
        except OSError:
            return ""
        text = lines[-1] if lines else ""
        if text == self._seen or not _PROGRESS.fullmatch(text):
            return ""
        self._seen = text
        return text

    def close(self) -> list[Stream]:
        """Let go of the streams, no writer being left; return those that are to be finished."""
        written = []
        for stream in self._streams.values():
            if stream.is_silent():
                self._relay.close(stream)
            else:
                self._relay.remove(stream)
                written.append(stream)
        self._streams = {}
        return written
