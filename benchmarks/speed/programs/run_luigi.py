"""Runs the tasks as Luigi tasks, each with a file that marks its end.

run_luigi.py WIDTH DEPTH
"""

from __future__ import annotations

import sys
from pathlib import Path

import luigi
from told import AT_ONCE, Stopwatch, shape, task

WIDTH, DEPTH = shape()


class Work(luigi.Task):
    """One task."""

    layer = luigi.IntParameter()
    index = luigi.IntParameter()

    def requires(self) -> list[Work]:
        """Give all tasks of the layer before."""
        before = self.layer - 1
        return [Work(before, index) for index in range(WIDTH)] if self.layer else []

    def output(self) -> luigi.LocalTarget:
        """Give the file that marks the end."""
        return luigi.LocalTarget(f"ended/{self.layer}-{self.index}")

    def run(self) -> None:
        """Run the task and mark it."""
        task()
        with self.output().open("w"):
            pass


if __name__ == "__main__":
    Path("ended").mkdir()
    watch = Stopwatch()
    last = [Work(DEPTH - 1, index) for index in range(WIDTH)]
    done = luigi.build(last, local_scheduler=True, workers=AT_ONCE, log_level="CRITICAL")
    watch.tell()
    sys.exit(0 if done else 1)
