"""The worker: Temporal's usual one, with the activities of Tiphys beside your own."""

from __future__ import annotations

import asyncio
import logging
import os
import signal

from temporalio.client import Client
from temporalio.worker import Worker
from workflow import Campaign

from tiphys.temporal import Settings, TiphysActivities

TASK_QUEUE = "campaigns"


async def main() -> None:
    """Work until interrupted."""
    stop = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stop.set)
    client = await Client.connect(os.environ.get("TEMPORAL_ADDRESS", "127.0.0.1:7233"))
    activities = TiphysActivities(Settings.from_environment())
    try:
        async with Worker(
            client, task_queue=TASK_QUEUE, workflows=[Campaign], activities=activities.all()
        ):
            logging.info("the worker is ready")
            await stop.wait()
    finally:
        await activities.close()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    asyncio.run(main())
