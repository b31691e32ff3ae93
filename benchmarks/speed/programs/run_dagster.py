"""Runs the tasks as operations of one Dagster job, in process, with an instance on disk.

    run_dagster.py WIDTH DEPTH

In process Dagster runs one operation at a time; its other executors start a Python interpreter for
each and are slower by a factor of ten and more.
"""

from __future__ import annotations

import sys

from dagster import DagsterInstance, In, Nothing, Out, job, op
from told import Stopwatch, layers, shape, task


def operation(name: str, before: list[str]) -> object:
    """Make one operation that waits for others."""

    @op(name=name, ins={each: In(Nothing) for each in before}, out=Out(Nothing))
    def run() -> None:
        task()

    return run


@job
def bench() -> None:
    """All layers."""
    before: dict[str, object] = {}
    for names in layers(*shape()):
        before = {name: operation(name, list(before))(**before) for name in names}


if __name__ == "__main__":
    with DagsterInstance.get() as instance:
        watch = Stopwatch()
        result = bench.execute_in_process(instance=instance)
        watch.tell()
    sys.exit(0 if result.success else 1)
