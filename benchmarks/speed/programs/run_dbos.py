"""Runs the tasks as steps of one DBOS workflow, or as many workflows of one step each.

run_dbos.py WIDTH DEPTH URL [flows]
"""

from __future__ import annotations

import asyncio
import sys

from dbos import DBOS, DBOSConfig
from told import AT_ONCE, Stopwatch, layers, shape

FREE = asyncio.Semaphore(AT_ONCE)


@DBOS.step()
async def step(name: str) -> int:
    """Run one task."""
    process = await asyncio.create_subprocess_exec("/bin/true")
    return await process.wait()


async def one(name: str) -> None:
    """Run one task when it is its turn."""
    async with FREE:
        if await step(name):
            raise RuntimeError(name)


@DBOS.workflow()
async def work(width: int, depth: int) -> None:
    """Run all layers."""
    for names in layers(width, depth):
        await asyncio.gather(*map(one, names))


@DBOS.workflow()
async def small(name: str) -> None:
    """Run one task."""
    await step(name)


async def submit(name: str) -> None:
    """Run one small workflow when it is its turn."""
    async with FREE:
        handle = await DBOS.start_workflow_async(small, name)
        await handle.get_result()


async def main() -> None:
    """Run it."""
    width, depth = shape()
    config: DBOSConfig = {
        "name": "bench",
        "system_database_url": sys.argv[3],
        "run_admin_server": False,
        "log_level": "ERROR",
    }
    DBOS(config=config)
    DBOS.launch()
    watch = Stopwatch()
    if "flows" in sys.argv:
        await asyncio.gather(*(submit(f"t{number}") for number in range(width)))
    else:
        await work(width, depth)
    watch.tell()
    DBOS.destroy()


asyncio.run(main())
