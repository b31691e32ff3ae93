"""A real worker as a process of its own: ``python -m tests.integration.temporal.worker``.

Configured by the environment as a user's worker is. Says ``ready`` on standard output, one JSON
object a record on standard error, and ends in order at SIGTERM.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys

from temporalio.client import Client
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig
from temporalio.worker import Worker

from tests.integration.temporal.flows import ALL
from tiphys.cli.server_log import JsonLines
from tiphys.temporal import Settings, TiphysActivities

QUEUE = "tiphys-tests"


async def main() -> None:
    """Work until told to stop."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    runtime = None
    if os.environ.get("METRICS"):
        metrics = PrometheusConfig(bind_address=os.environ["METRICS"])
        runtime = Runtime(telemetry=TelemetryConfig(metrics=metrics))
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"], runtime=runtime)
    activities = TiphysActivities(Settings.from_environment())
    queue = os.environ.get("TASK_QUEUE", QUEUE)
    try:
        async with Worker(
            client,
            task_queue=queue,
            workflows=ALL,
            activities=activities.all(),
            max_concurrent_activities=int(os.environ.get("MOST", "200")),
        ):
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            await stop.wait()
    finally:
        await activities.close()


if __name__ == "__main__":
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.getLogger("tiphys").addHandler(handler)
    logging.getLogger("tiphys").setLevel(logging.INFO)
    asyncio.run(main())
