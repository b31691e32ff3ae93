"""What every WebSocket here shares: how it is closed, how a watcher is waited for and sent to.

A stream begins with the whole state, so whoever connects again has missed nothing. The token is
looked at again and again: one that is revoked or expires ends the stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from fastapi import WebSocket, WebSocketDisconnect

from tiphys.api.context import ApiContext, EndingError
from tiphys.api.guard import FORBIDDEN, NOT_FOUND, UNAUTHENTICATED
from tiphys.errors import ForbiddenError, NotFoundError, TiphysError, UnauthenticatedError
from tiphys.service.access import Identity

PATIENCE = 10.0
"""A message that cannot be handed over within this time ends the stream."""
LOOK = 5.0
"""Without news, the token is looked at again this often."""
SLOW = 4408
RESTART = 1012
"""What a WebSocket says where its server will be back soon."""
_encode = msgspec.json.Encoder().encode


class SlowReaderError(Exception):
    """Somebody does not read what is sent to them."""


async def serve(websocket: WebSocket, context: ApiContext, work: Awaitable[None]) -> None:
    """Accept a watcher, do the work, and close with the code that says why."""
    await websocket.accept()
    code, reason = 1000, ""
    with suppress(WebSocketDisconnect):
        try:
            await work
        except SlowReaderError:
            context.metrics.watch["cut"] += 1
            code, reason = SLOW, "messages were not read in time"
        except TiphysError as error:
            code, reason = _closing(error)
        with suppress(RuntimeError, TimeoutError):
            await asyncio.wait_for(websocket.close(code, reason), PATIENCE)


def _closing(error: TiphysError) -> tuple[int, str]:
    match error:
        case UnauthenticatedError():
            return UNAUTHENTICATED, str(error)
        case ForbiddenError():
            return FORBIDDEN, str(error)[:100]
        case EndingError():
            return RESTART, str(error)
        case NotFoundError():
            return NOT_FOUND, str(error)[:100]
        case _:
            return 1011, "something went wrong inside"


class Watcher:
    """Somebody at the other end of a WebSocket."""

    def __init__(self, websocket: WebSocket, context: ApiContext, who: Identity) -> None:
        self._websocket, self._context, self._who = websocket, context, who
        self._left: asyncio.Task[None] | None = None

    @property
    def gone(self) -> bool:
        """Whether they have closed."""
        return self._left is not None and self._left.done()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Notice when they close; what they say is of no interest."""
        self._left = asyncio.create_task(self._leave())
        try:
            yield
        finally:
            self._left.cancel()
            with suppress(asyncio.CancelledError, WebSocketDisconnect):
                await self._left

    async def _leave(self) -> None:
        with suppress(WebSocketDisconnect):
            while True:
                message = await self._websocket.receive()
                if message["type"] == "websocket.disconnect":
                    return

    async def wait(self, news: asyncio.Event) -> None:
        """Wait for news, for them to go, or for the time to look at the token again; look at it."""
        assert self._left is not None
        patience = LOOK
        if self._who.expires_at is not None:
            left = self._who.expires_at - self._context.host.clock.now()
            patience = max(0.0, min(LOOK, left))
        task = asyncio.create_task(news.wait())
        try:
            await asyncio.wait(
                {task, self._left}, timeout=patience, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            task.cancel()
        self._context.check(self._who)

    async def send(self, message: dict[str, Any]) -> None:
        """Hand a message over."""
        try:
            text = _encode(message).decode()
            await asyncio.wait_for(self._websocket.send_text(text), PATIENCE)
            self._context.metrics.watch["messages"] += 1
        except TimeoutError as error:
            raise SlowReaderError from error
