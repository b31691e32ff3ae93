"""Where an attempt of a node left its log, and its last lines."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from tiphys.engine.node import Node

_LAST_BYTES = 64 * 1024


def attempt_folder(data: Path, uid: str, attempt: int) -> Path:
    """Give the folder of one start of one node of the workflow ``uid``."""
    return data / "attempts" / uid / f"{uid}.{attempt}"


def last_lines(data: Path, uid: str, node: Node, count: int) -> list[str]:
    """Give the last lines that the latest attempt of ``node`` wrote."""
    if not node.ours.attempt:
        return []
    from tiphys.runtimes.logs import LogReader  # noqa: PLC0415 - only for what failed

    folder = attempt_folder(data, uid, node.ours.attempt)
    reader = LogReader(folder, last_bytes=_LAST_BYTES)
    return [line.text for line in deque(reader.read(final=True), maxlen=count)]
