"""What the programs of this folder share: their arguments, and telling how long the work took.

They run in the environments of the peers, so this needs nothing but Python.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

AT_ONCE = 8


def shape() -> tuple[int, int]:
    """Give width and depth: the first two arguments."""
    return int(sys.argv[1]), int(sys.argv[2])


def layers(width: int, depth: int) -> list[list[str]]:
    """Name the tasks, layer by layer."""
    return [[f"t{layer}x{index}" for index in range(width)] for layer in range(depth)]


def task() -> None:
    """Do the work of one task."""
    subprocess.run(["/bin/true"], check=True)


class Stopwatch:
    """Measures a part of the time."""

    def __init__(self) -> None:
        self._begun = time.perf_counter()

    def seconds(self) -> float:
        """Give the time since it was made."""
        return time.perf_counter() - self._begun

    def tell(self) -> None:
        """Write down that the work has taken until now."""
        tell(seconds=self.seconds())


def tell(**numbers: float) -> None:
    """Add numbers to what the harness is told; ``server`` adds up.

    ``seconds`` is the work without any start-up, ``server`` what went into the start and the end
    of servers that would be running already in everyday use.
    """
    name = os.environ.get("BENCH_REPORT")
    if name is None:
        return
    path = Path(name)
    told = json.loads(path.read_text()) if path.exists() else {}
    if "server" in numbers:
        numbers["server"] += told.get("server", 0.0)
    path.write_text(json.dumps({**told, **numbers}))
