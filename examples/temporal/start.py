"""Starts a campaign, says yes to it, and prints what came out."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import uuid

from temporalio.client import Client
from worker import TASK_QUEUE
from workflow import Campaign, Order


async def main(subject: str, *, yes: bool) -> None:
    """Start, answer, wait."""
    client = await Client.connect(os.environ.get("TEMPORAL_ADDRESS", "127.0.0.1:7233"))
    handle = await client.start_workflow(
        Campaign.run, Order(subject=subject), id=f"campaign-{uuid.uuid4()}", task_queue=TASK_QUEUE
    )
    sys.stderr.write(f"started {handle.id}\n")
    await handle.signal(Campaign.approve, yes)
    sys.stdout.write(f"{await handle.result()}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subject", nargs="?", default="the Argo")
    parser.add_argument("--no", action="store_true", help="refuse it")
    given = parser.parse_args()
    asyncio.run(main(given.subject, yes=not given.no))
    # Temporal's client has threads of its own, and a Python that takes itself apart around them may
    # abort (temporalio/sdk-python#300). All is said and done, so this leaves without.
    sys.stdout.flush()
    os._exit(0)
