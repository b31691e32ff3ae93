"""Plays a workflow of many nodes on a runtime that does nothing, and a small one to compare.

    run_nodes.py WIDTH DEPTH ROOT

Each size is played several times in a process of its own by benchmarks/engine.py; the best counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SMALL = 1_000
ROUNDS = 3


def play(size: int) -> float:
    """Give the CPU seconds for each node."""
    words = [sys.executable, f"{sys.argv[3]}/benchmarks/engine.py", "--one", "fan-out", str(size)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout)["cpu"]) / size


def main() -> None:
    """Play them and tell."""
    size = int(sys.argv[1])
    small = min(play(SMALL) for _ in range(ROUNDS))
    large = min(play(size) for _ in range(ROUNDS))
    told = {"cpu": large * size, "each": large, "each_small": small}
    Path(os.environ["BENCH_REPORT"]).write_text(json.dumps(told))


if __name__ == "__main__":
    main()
