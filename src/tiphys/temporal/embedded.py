"""A Tiphys server of the worker's own, for work that is not handed over.

The same code runs the same text with the same results, on the worker's machine. It is a child
process on a loopback port that the system chooses; it ends when the worker says so, and the next
worker with the same data folder takes up what it left.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from tiphys.client import AsyncClient
from tiphys.client.client import local_server
from tiphys.errors import NotFoundError, TiphysError

START_SECONDS = 60.0
STOP_SECONDS = 20.0


class EmbeddedError(TiphysError):
    """The worker's own server does not start."""

    code = "embedded_server_failed"


class EmbeddedServer:
    """Starts a server once it is needed; use it from one event loop."""

    def __init__(self, data: Path | None = None) -> None:
        self._temporary = None if data else tempfile.TemporaryDirectory(prefix="tiphys-worker-")
        self._data = data or Path(self._temporary.name if self._temporary else "")
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()

    async def address(self) -> tuple[str, str]:
        """Give address and token, with the server started if it is not there."""
        async with self._lock:
            if self._process is None or self._process.returncode is not None:
                await self._start()
            return local_server(self._data)

    async def client(self) -> AsyncClient:
        """Give a client of it."""
        return AsyncClient(*await self.address())

    async def _start(self) -> None:
        self._data.mkdir(parents=True, exist_ok=True)
        (self._data / "http-address").unlink(missing_ok=True)
        log = self._data / "server.log"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TIPHYS_SERVER")}
        with log.open("ab") as out:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tiphys", "server", "--port", "0",
                env={**environment, "TIPHYS_DATA_DIR": str(self._data)},
                stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip
        await self._wait_until_ready(log)

    async def _wait_until_ready(self, log: Path) -> None:
        assert self._process is not None
        for _ in range(int(START_SECONDS / 0.05)):
            if self._process.returncode is not None:
                raise EmbeddedError(f"the worker's own server ended at once: see {log}")
            try:
                local_server(self._data)
            except NotFoundError:
                await asyncio.sleep(0.05)
            else:
                return
        raise EmbeddedError(f"the worker's own server was not ready in {START_SECONDS:g} s")

    async def close(self) -> None:
        """End the server; what it runs goes on only where the data folder is kept."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.terminate()
            try:
                async with asyncio.timeout(STOP_SECONDS):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()
        if self._temporary is not None:
            self._temporary.cleanup()
