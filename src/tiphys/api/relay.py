"""What a server does that does not lead: it passes connections on to the one that does.

Bytes go both ways as they come, so that requests, streams and WebSockets are all the same, and so
that tokens, limits and errors are the leader's alone. While nobody leads, requests are answered
with 503 and may be sent again; only ``/healthz``, which asks for this very process, is answered.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

Leader = Callable[[], Awaitable[str]]
"""Gives the address of the server that leads, "" where there is none."""
_CHUNK = 64 * 1024
_CONNECT = 3.0
_HEAD = 5.0
"""Seconds that a request may take to arrive before it is told that there is nobody."""
_BODY = json.dumps(
    {
        "success": False,
        "message": "no server leads just now; try again",
        "error": {
            "code": "store_unavailable",
            "detail": "no server leads just now; try again",
            "errors": [],
            "request_id": "",
        },
    }
).encode()
_NOBODY = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 2\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(_BODY), _BODY)
)
_OK = b'{"success":true,"data":{"status":"ok"}}'
_ALIVE = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
    b"connection: close\r\n\r\n%b" % (len(_OK), _OK)
)


class Relay:
    """Passes connections on."""

    def __init__(self, leader: Leader, *, secure: bool) -> None:
        self._leader, self._secure = leader, secure
        self._open: set[asyncio.Task[None]] = set()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._pass_on(reader, writer)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            pass  # One of the two went away: the other is told by the end of its connection.
        finally:
            self._open.discard(task)
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = urlsplit(await self._leader())
        try:
            async with asyncio.timeout(_CONNECT):
                there = await asyncio.open_connection(address.hostname or "", address.port or 0)
        except (OSError, TimeoutError):
            await self._refuse(reader, writer)
            return
        back, forth = there
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_copy(reader, forth))
                group.create_task(_copy(back, writer))
        except* OSError:
            pass
        finally:
            forth.close()

    async def _refuse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._secure:
            return  # Without the leader there is nobody to shake hands.
        head = b""
        with suppress(asyncio.LimitOverrunError):
            async with asyncio.timeout(_HEAD):
                head = await reader.readuntil(b"\r\n\r\n")
        asked, _, rest = head.partition(b" ")
        answer = _ALIVE if asked in (b"GET", b"HEAD") and rest.startswith(b"/healthz ") else _NOBODY
        if asked == b"HEAD":  # Its answer ends with the headers.
            answer = answer.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        writer.write(answer)
        await writer.drain()

    async def close(self) -> None:
        """Cut what is open: whoever asked may ask again."""
        for task in self._open:
            task.cancel()
        if self._open:
            await asyncio.wait(self._open)


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(_CHUNK):
        target.write(data)
        await target.drain()
    if target.can_write_eof():
        target.write_eof()


@asynccontextmanager
async def relaying(listener: socket.socket, leader: Leader, *, secure: bool) -> AsyncIterator[None]:
    """Pass on what comes in at ``listener``, which stays open: the next to serve there takes it."""
    relay = Relay(leader, secure=secure)
    own = listener.dup()
    server = await asyncio.start_server(relay.take, sock=own, limit=_CHUNK)
    try:
        yield
    finally:
        server.close()
        await relay.close()
