"""Runs the tasks as tasks of one Prefect flow, in threads, with Prefect's own temporary server.

run_prefect.py WIDTH DEPTH
"""

from __future__ import annotations

from prefect import flow
from prefect import task as prefect_task
from prefect.task_runners import ThreadPoolTaskRunner
from told import AT_ONCE, Stopwatch, layers, shape, task, tell


@prefect_task
def work(name: str) -> None:
    """Run one task."""
    task()


@flow
def first() -> None:
    """Have the server started before anything is measured."""


@flow(task_runner=ThreadPoolTaskRunner(max_workers=AT_ONCE))
def bench(width: int, depth: int) -> None:
    """Run all layers."""
    before: list[object] = []
    for names in layers(width, depth):
        before = [work.submit(name, wait_for=before) for name in names]
    for future in before:
        future.result()


if __name__ == "__main__":
    given = shape()
    watch = Stopwatch()
    first()
    tell(server=watch.seconds())
    watch = Stopwatch()
    bench(*given)
    watch.tell()
