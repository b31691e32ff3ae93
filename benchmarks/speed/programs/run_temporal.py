"""Runs the tasks as activities on Temporal's development server with a file as its store.

    run_temporal.py WIDTH DEPTH SERVER [flows]

The server is a real process and started first; worker and client are this one.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker
from told import AT_ONCE, Stopwatch, shape, tell

QUEUE = "bench"
LIMIT = timedelta(minutes=5)


@activity.defn
async def task(name: str) -> None:
    """Run one task."""
    process = await asyncio.create_subprocess_exec("/bin/true")
    if await process.wait():
        raise RuntimeError(name)


@workflow.defn
class Work:
    """All layers."""

    @workflow.run
    async def run(self, shape: list[int]) -> None:
        """Run them; the worker decides how many tasks run at once."""
        width, depth = shape
        for layer in range(depth):
            names = [f"t{layer}x{index}" for index in range(width)]
            await asyncio.gather(
                *(
                    workflow.execute_activity(task, name, start_to_close_timeout=LIMIT)
                    for name in names
                )
            )


def free_port() -> int:
    """Give a port that is free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_server(port: int) -> subprocess.Popen[bytes]:
    """Start the server."""
    words = ["server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(port)]
    more = ["--db-filename", str(Path.cwd() / "temporal.db"), "--log-level", "error"]
    return subprocess.Popen([sys.argv[3], *words, *more])


async def connect(port: int) -> Client:
    """Connect as soon as the server answers."""
    for _ in range(600):
        try:
            return await Client.connect(f"127.0.0.1:{port}")
        except RuntimeError:
            await asyncio.sleep(0.1)
    sys.exit("the server does not answer")


async def run_flows(client: Client, count: int) -> None:
    """Run many workflows of one task each."""
    turn = asyncio.Semaphore(100)

    async def one(number: int) -> None:
        async with turn:
            await client.execute_workflow(Work.run, [1, 1], id=f"w{number}", task_queue=QUEUE)

    await asyncio.gather(*map(one, range(count)))


async def main() -> None:
    """Run it."""
    width, depth = shape()
    port = free_port()
    watch = Stopwatch()
    server = start_server(port)
    try:
        client = await connect(port)
        tell(server=watch.seconds())
        worker = Worker(
            client,
            task_queue=QUEUE,
            workflows=[Work],
            activities=[task],
            max_concurrent_activities=AT_ONCE,
            workflow_runner=UnsandboxedWorkflowRunner(),
        )
        async with worker:
            watch = Stopwatch()
            if "flows" in sys.argv:
                await run_flows(client, width)
            else:
                given = [width, depth]
                await client.execute_workflow(Work.run, given, id="w", task_queue=QUEUE)
            watch.tell()
    finally:
        watch = Stopwatch()
        server.terminate()
        server.wait()
        tell(server=watch.seconds())


logging.disable(logging.WARNING)
asyncio.run(main())
