"""A real Temporal: ``temporal server start-dev``, built once into the cache of ``scripts/cluster``.

Headless, on loopback, in memory, on ports of its own.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from temporalio.client import Client
from temporalio.service import RPCError

from tests.cluster.rig.build import MissingError, build
from tests.cluster.rig.parts import TEMPORAL

PATIENCE = 180.0


def find_program() -> Path:
    """Give the program, built if need be; raise MissingError where that cannot be done."""
    named = os.environ.get("TIPHYS_TEST_TEMPORAL") or shutil.which("temporal")
    if named:
        return Path(named)
    build(TEMPORAL)
    return TEMPORAL.program("temporal")


@contextmanager
def dev_server(folder: Path) -> Iterator[str]:
    """Run a server for a while; give its address."""
    program, port = find_program(), free_port()
    log = folder / "temporal.log"
    words = ["server", "start-dev", "--headless", "--ip", "127.0.0.1", "--log-level", "error"]
    ports = ["--port", str(port), "--http-port", str(free_port()), "--metrics-port", "0"]
    # Nothing may be read from or left in the home of whoever runs the tests.
    environment = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(program), *words, *ports],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    try:
        _wait(process, port, log)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until it takes a workflow: it listens before it is healthy and has a namespace."""
    end = time.monotonic() + PATIENCE
    while not asyncio.run(_takes(f"127.0.0.1:{port}")):
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.05)


async def _takes(address: str) -> bool:
    """Try to start a workflow that nobody works on, and end it."""
    try:
        client = await Client.connect(address)
        handle = await client.start_workflow("nothing", id="ready", task_queue="nobody")
        await handle.terminate()
    except (RPCError, RuntimeError):
        return False
    return True


def free_port() -> int:
    """Give a port that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


__all__ = ["MissingError", "dev_server", "find_program", "free_port"]
