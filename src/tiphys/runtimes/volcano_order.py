"""Orders to Volcano's controller about a Job: it has no fields for them but a kind of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiphys.errors import ClusterError
from tiphys.kube.client import FOREVER, Client
from tiphys.runtimes.volcano_object import commands_path, write_command


async def order(client: Client, job: Mapping[str, Any], action: str) -> None:
    """Have something done with a Job; one that was ordered already is not ordered twice."""
    collection = commands_path(job["metadata"]["namespace"])
    try:
        await client.create(collection, write_command(job, action), patience=FOREVER)
    except ClusterError as error:
        if error.status != 409:
            raise
