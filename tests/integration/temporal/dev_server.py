"""A real Temporal: ``temporal server start-dev``, built once into the cache of ``scripts/cluster``.

Headless, on loopback, in memory, on ports of its own.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
    """Wait until somebody listens; whether it is ready is for the client to find out."""
    end = time.monotonic() + PATIENCE
    while True:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.05)


def free_port() -> int:
    """Give a port that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


__all__ = ["MissingError", "dev_server", "find_program", "free_port"]
