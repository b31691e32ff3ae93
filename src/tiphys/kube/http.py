"""HTTP/1.1 for one server, over asyncio streams: a pool of connections, and streams beside it.

Small because the other end is always an API server: no redirects, no cookies, no compression. Gives
statuses as they are; only a connection that fails raises (``ConnectionError``, ``TimeoutError``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from tiphys.kube.access import Access

MOST = 32
"""Requests at once; more wait for a connection."""
CONNECT = 10.0
ANSWER = 60.0
"""Seconds for one answer."""
MAX_HEAD = 64 * 1024
_BUFFER = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers (names in small letters) and the whole body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.used = False
        """Whether it has carried an answer before."""
        self.whole = False
        """Whether the last answer was read to its end."""

    async def head(self, request: bytes) -> tuple[int, dict[str, str]]:
        """Send a request and read the answer's status and headers."""
        self.whole = False
        self.writer.write(request)
        await self.writer.drain()
        try:
            raw = await self.reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            raise ConnectionResetError("the server closed the connection") from error
        except asyncio.LimitOverrunError as error:
            raise ConnectionError("the answer's headers have no end") from error
        first, *lines = raw.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        try:
            status = int(first.split(" ", 2)[1])
        except (ValueError, IndexError):
            raise ConnectionError(f"this is no HTTP server: {first[:60]!r}") from None
        return status, {name.lower(): value.strip() for name, _, value in pairs}

    async def body(self, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
        """Give the body as it comes; the connection can be used again once all was read."""
        try:
            if "chunked" in headers.get("transfer-encoding", ""):
                while size := int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16):
                    yield await self.reader.readexactly(size)
                    await self.reader.readexactly(2)
                await self.reader.readuntil(b"\r\n")
            elif "content-length" in headers:
                left = int(headers["content-length"])
                while left:
                    data = await self.reader.readexactly(min(left, _BUFFER))
                    left -= len(data)
                    yield data
            self.whole = self.used = True
        except (asyncio.IncompleteReadError, ValueError) as error:
            raise ConnectionResetError("the answer broke off") from error

    def close(self) -> None:
        with suppress(Exception):
            self.writer.close()


class Pool:
    """Connections to one API server."""

    def __init__(self, access: Access, *, most: int = MOST) -> None:
        self._access = access
        self._idle: list[_Connection] = []
        self._room = asyncio.Semaphore(most)
        self._open: set[_Connection] = set()

    async def request(
        self, method: str, target: str, *, body: bytes, headers: Mapping[str, str]
    ) -> Answer:
        """Send a request and read the whole answer."""
        async with self._room, asyncio.timeout(ANSWER):
            while True:
                connection = self._idle.pop() if self._idle else await self._connect()
                try:
                    return await self._exchange(connection, method, target, body, headers)
                except ConnectionError:
                    # One that lay idle may have been closed meanwhile: that says nothing.
                    if not connection.used:
                        raise
                finally:
                    if connection not in self._idle:
                        self._drop(connection)

    async def _exchange(
        self,
        connection: _Connection,
        method: str,
        target: str,
        body: bytes,
        headers: Mapping[str, str],
    ) -> Answer:
        status, found = await connection.head(self._text(method, target, body, headers))
        data = b"".join([chunk async for chunk in connection.body(found)])
        if found.get("connection", "").lower() != "close":
            self._idle.append(connection)
        return Answer(status, found, data)

    @asynccontextmanager
    async def stream(
        self, target: str, *, headers: Mapping[str, str], patience: float
    ) -> AsyncIterator[tuple[int, AsyncIterator[bytes]]]:
        """Open a body that comes piece by piece; ``patience`` is how long it may say nothing."""
        request = self._text("GET", target, b"", headers)
        async with asyncio.timeout(CONNECT * 3):
            connection, status, found = await self._begin(request)
        try:
            yield status, _patient(connection.body(found), patience)
        finally:
            stays = found.get("connection", "").lower() != "close"
            if connection.whole and stays and len(self._idle) < MOST:
                self._idle.append(connection)
            else:
                self._drop(connection)

    async def _begin(self, request: bytes) -> tuple[_Connection, int, dict[str, str]]:
        """Send a request on a connection of its own; one that lies idle is as good as a new one."""
        while True:
            connection = self._idle.pop() if self._idle else await self._connect()
            try:
                return connection, *await connection.head(request)
            except BaseException as error:
                self._drop(connection)
                # As above: that an old one was closed meanwhile says nothing.
                if not (isinstance(error, ConnectionError) and connection.used):
                    raise

    def _text(self, method: str, target: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        lines = [f"{method} {self._access.prefix}{target} HTTP/1.1"]
        lines += [f"Host: {self._access.host}:{self._access.port}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + body

    async def _connect(self) -> _Connection:
        access = self._access
        try:
            async with asyncio.timeout(CONNECT):
                reader, writer = await asyncio.open_connection(
                    access.host, access.port, ssl=access.tls, limit=_BUFFER
                )
        except OSError as error:
            # Names that do not resolve and certificates that do not fit are OSErrors as well.
            raise ConnectionError(str(error)) from error
        connection = _Connection(reader, writer)
        self._open.add(connection)
        return connection

    def _drop(self, connection: _Connection) -> None:
        self._open.discard(connection)
        connection.close()

    async def close(self) -> None:
        """Close every connection."""
        for connection in list(self._open):
            self._drop(connection)
        self._idle.clear()


async def _patient(chunks: AsyncIterator[bytes], patience: float) -> AsyncIterator[bytes]:
    while True:
        try:
            async with asyncio.timeout(patience):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        yield chunk
