"""A Tiphys server of the worker's own, for work that is not handed over.

The same code runs the same text with the same results, on the worker's machine. It is a child
process on a loopback port that the system chooses, and ends with the worker (``keeper``). Its tasks
need not: the next worker with the same data folder takes up what was left. Workers that share the
folder share the server, whoever of them started it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from tiphys.client import AsyncClient, calls
from tiphys.client.client import local_server
from tiphys.errors import TiphysError

START_SECONDS = 120.0
STOP_SECONDS = 30.0
_LOOK = 0.05


class EmbeddedError(TiphysError):
    """The worker's own server does not start."""

    code = "embedded_server_failed"


class EmbeddedServer:
    """Starts a server once it is needed; use it from one event loop."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._keeper: asyncio.subprocess.Process | None = None
        self._known: tuple[str, str] | None = None
        self._lock = asyncio.Lock()

    async def address(self) -> tuple[str, str]:
        """Give address and token, with the server started if there is none."""
        async with self._lock:
            if self._known is None or not self._is_up():
                self._known = await self._found() or await self._started()
            return self._known

    def _is_up(self) -> bool:
        """Tell whether our server runs; one of another worker is looked for each time."""
        return self._keeper is not None and self._keeper.returncode is None

    async def _found(self) -> tuple[str, str] | None:
        """Give a server of this folder that answers."""
        try:
            address = local_server(self._data)
            await AsyncClient(*address, timeout=10).do(calls.whoami())
        except TiphysError:
            return None
        return address

    async def _started(self) -> tuple[str, str]:
        self._data.mkdir(parents=True, exist_ok=True, mode=0o700)
        log = self._data / "server.log"
        own = {"TIPHYS_DATA_DIR": str(self._data), "TIPHYS_HOST": "127.0.0.1", "TIPHYS_PORT": "0"}
        kept = {k: v for k, v in os.environ.items() if k not in _NOT_ITS_OWN}
        with log.open("ab") as out:
            self._keeper = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tiphys.temporal.keeper",
                sys.executable, "-m", "tiphys", "server",
                env={**kept, **own}, stdin=asyncio.subprocess.PIPE, stdout=out, stderr=out,
            )  # fmt: skip
        return await self._ready(log)

    async def _ready(self, log: Path) -> tuple[str, str]:
        assert self._keeper is not None
        for _ in range(int(START_SECONDS / _LOOK)):
            found = await self._found()
            if found is not None:
                return found
            if self._keeper.returncode is not None:
                raise EmbeddedError(f"the worker's own server ended at once: see {log}")
            await asyncio.sleep(_LOOK)
        raise EmbeddedError(f"the worker's own server was not ready in {START_SECONDS:g} s")

    async def close(self) -> None:
        """End the server, if it is ours; its tasks go on and are taken up by the next."""
        keeper, self._keeper, self._known = self._keeper, None, None
        if keeper is None or keeper.returncode is not None:
            return
        assert keeper.stdin is not None
        keeper.stdin.close()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await keeper.wait()
        except TimeoutError:
            keeper.kill()
            await keeper.wait()


_NOT_ITS_OWN = frozenset(
    {
        "TIPHYS_SERVER", "TIPHYS_TOKEN", "TIPHYS_TOKEN_FILE", "TIPHYS_SCHEDULER", "TIPHYS_STORE",
        "TIPHYS_ADMIN_TOKEN", "TIPHYS_ADMIN_TOKEN_FILE",
    }
)  # fmt: skip
"""Settings of the worker's environment that speak of another server."""
