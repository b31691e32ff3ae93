"""What goes into pods and comes out of them: files over exec, logs over their own streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import IO

from tiphys.errors import ClusterError
from tiphys.kube.client import Client
from tiphys.kube.execute import execute
from tiphys.runtimes import kubernetes_helper as helper

_TRIES = 5
_PIECE = 256 * 1024


async def deliver(client: Client, pod: str, packed: Path) -> None:
    """Carry packed inputs into a pod that waits for them; raise ClusterError."""

    async def pieces() -> AsyncIterator[bytes]:
        with packed.open("rb") as file:
            while data := await asyncio.to_thread(file.read, _PIECE):
                yield data

    async def once() -> None:
        command = helper.shell(helper.RECEIVE)
        await execute(client.access, pod, command, container=helper.INIT, stdin=pieces())

    await _often(once)


async def receive(client: Client, pod: str, target: Path) -> None:
    """Bring what a task left in its pod here; raise ClusterError."""

    async def once() -> None:
        # A local file takes bytes faster than the network brings them.
        with target.open("wb") as file:
            command = helper.shell(helper.SEND)
            put = partial(_put, file)
            await execute(client.access, pod, command, container=helper.WAIT, stdout=put)

    await _often(once)


async def release(client: Client, pod: str) -> None:
    """Let a pod go that kept its files for us; raise ClusterError."""

    async def once() -> None:
        command = helper.shell(helper.RELEASE)
        await execute(client.access, pod, command, container=helper.WAIT)

    await _often(once)


def _put(file: IO[bytes], data: bytes) -> None:
    file.write(data)


async def _often(once: Callable[[], Awaitable[None]]) -> None:
    """Do something that does no harm twice, again if the connection breaks."""
    for number in range(_TRIES):
        try:
            await once()
            return
        except ClusterError:
            if number == _TRIES - 1:
                raise
        await asyncio.sleep(0.5 * 2**number)
