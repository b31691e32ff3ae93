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
    """Measures the work without the start of what runs it."""

    def __init__(self) -> None:
        self._begun = time.perf_counter()

    def tell(self) -> None:
        """Write down how long it took until now."""
        seconds = time.perf_counter() - self._begun
        if path := os.environ.get("BENCH_REPORT"):
            Path(path).write_text(json.dumps({"seconds": seconds}))
