"""How activities reach a Tiphys server: one that is configured, or the worker's own.

Knows nothing of Temporal. What fails for a while (a server that restarts) is tried again here for
as long as ``patience`` says; what would only fail again is raised at once.
"""

from __future__ import annotations

import asyncio
import random
from typing import TypeVar

from tiphys.client import AnswerError, AsyncClient
from tiphys.client.calls import Call
from tiphys.errors import StoreError, TiphysError
from tiphys.temporal.embedded import EmbeddedError, EmbeddedServer
from tiphys.temporal.setting import Settings

T = TypeVar("T")
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0
_AGAIN = frozenset({408, 425, 429})
"""Answers to a request that is in order, and may be sent again."""


def is_passing(error: TiphysError) -> bool:
    """Tell whether the same call may go well later."""
    if isinstance(error, AnswerError):
        return not 400 <= error.status < 500 or error.status in _AGAIN
    # A server of our own may not start while the one before it is still ending.
    return isinstance(error, StoreError | EmbeddedError)


class Pauses:
    """Pauses that grow, each a little different, so that two hundred do not come back at once."""

    def __init__(self) -> None:
        self._next = FIRST_PAUSE

    def reset(self) -> None:
        """Begin again with a short one: it went well."""
        self._next = FIRST_PAUSE

    async def wait(self) -> None:
        """Pause."""
        await asyncio.sleep(self._next * random.uniform(0.7, 1.3))
        self._next = min(LONGEST_PAUSE, self._next * 2)


class Reach:
    """Gives clients and does calls; use it from one event loop."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._embedded = None if settings.enabled else EmbeddedServer(settings.data)
        self._clients: dict[tuple[str, str], AsyncClient] = {}
        self.url = settings.url

    @property
    def embedded(self) -> bool:
        """Whether the worker runs the work itself."""
        return self._embedded is not None

    async def client(self) -> AsyncClient:
        """Give a client; the worker's own server is started if it is not there."""
        address = self._settings.url, self._settings.token
        if self._embedded is not None:
            address = await self._embedded.address()
        self.url = address[0]
        if address not in self._clients:
            self._clients[address] = AsyncClient(*address)
        return self._clients[address]

    async def do(self, call: Call[T], *, patience: float | None = None) -> T:
        """Do a call that may be done twice; wait for a server that is away."""
        pauses = Pauses()
        loop = asyncio.get_running_loop()
        end = loop.time() + (self._settings.patience if patience is None else patience)
        while True:
            try:
                return await (await self.client()).do(call)
            except TiphysError as error:
                if not is_passing(error) or loop.time() > end:
                    raise
            await pauses.wait()

    async def close(self) -> None:
        """Let go of connections, and of the worker's own server."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.__aexit__(None, None, None)
        if self._embedded is not None:
            await self._embedded.close()
