"""The two clients: one that waits, one for asyncio."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from tiphys.client.calls import Call, read
from tiphys.client.model import LogLine, Update
from tiphys.client.transport import PREFIX, AnswerError, Transport, error_of
from tiphys.errors import NotFoundError, UnauthenticatedError

T = TypeVar("T")
TIMEOUT = 60.0
PATIENCE = 3600.0
"""Seconds for what has to copy a whole store first."""
_PIECE = 1 << 20
_update = msgspec.json.Decoder(Update).decode
_line = msgspec.json.Decoder(LogLine).decode
_CLOSED = {4401: UnauthenticatedError, 4404: NotFoundError}


class Client:
    """Asks, and waits for the answer. Any number of threads may use it."""

    def __init__(self, url: str, token: str, *, timeout: float = TIMEOUT) -> None:
        self._transport = Transport(url, token, timeout)

    @classmethod
    def of(cls, data: Path, *, timeout: float = TIMEOUT) -> Client:
        """Give a client of the server of a data directory, with its own admin's token."""
        return cls(*local_server(data), timeout=timeout)

    def do(self, call: Call[T]) -> T:
        """Do a call and give its answer, or raise what went wrong."""
        return read(call, self._transport.send(call.method, call.path, call.body, call.headers))

    def logs(self, workflow: str, node: str, *, follow: bool = False) -> Iterator[LogLine]:
        """Yield the lines of a node's log; ``follow`` goes on until the node has ended."""
        with self._streamed(logs_path(workflow, node, follow=follow)) as response:
            for line in response:
                yield _line(line)

    def backup(self) -> Iterator[bytes]:
        """Yield a copy of the server's store, piece by piece; raise where it does not come whole.

        The server makes the copy before it sends any of it, which may take minutes.
        """
        with self._streamed("/backup", timeout=PATIENCE) as response:
            while piece := response.read(_PIECE):
                yield piece
            if response.length:
                raise AnswerError("the copy was cut off; nothing of it was kept")

    def watch(self, workflow: str) -> Iterator[Update]:
        """Yield the state of a workflow and what changes, to its end."""
        from websockets.exceptions import ConnectionClosed  # noqa: PLC0415
        from websockets.sync.client import connect  # noqa: PLC0415

        address, headers = self._watched(workflow), self._transport.headers
        with (
            _reached(address),
            connect(address, additional_headers=headers, max_size=None) as stream,
        ):
            try:
                while True:
                    yield _update(stream.recv())
            except ConnectionClosed:
                check_close(stream.protocol.close_code, stream.protocol.close_reason)

    @contextmanager
    def _streamed(
        self, path: str, timeout: float | None = None
    ) -> Iterator[http.client.HTTPResponse]:
        response, connection = self._transport.open("GET", path, None, {}, timeout)
        try:
            if response.status >= 400:
                raise error_of(response.status, response.read())
            yield response
        finally:
            connection.close()

    def _watched(self, workflow: str) -> str:
        return watch_address(self._transport.url, workflow)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> Client:
        """Give the client itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()


class AsyncClient:
    """The same for asyncio: calls are done in threads, streams in the loop itself."""

    def __init__(self, url: str, token: str, *, timeout: float = TIMEOUT) -> None:
        self._transport = Transport(url, token, timeout)

    async def do(self, call: Call[T]) -> T:
        """Do a call and give its answer, or raise what went wrong."""
        raw = await asyncio.to_thread(
            self._transport.send, call.method, call.path, call.body, call.headers
        )
        return read(call, raw)

    async def watch(self, workflow: str) -> AsyncGenerator[Update, None]:
        """Yield the state of a workflow and what changes, to its end."""
        from websockets.asyncio.client import connect  # noqa: PLC0415
        from websockets.exceptions import ConnectionClosed  # noqa: PLC0415

        address = watch_address(self._transport.url, workflow)
        headers: Mapping[str, Any] = self._transport.headers
        with _reached(address):
            async with connect(address, additional_headers=headers, max_size=None) as stream:
                try:
                    while True:
                        yield _update(await stream.recv())
                except ConnectionClosed:
                    check_close(stream.close_code, stream.close_reason)

    async def __aenter__(self) -> AsyncClient:
        """Give the client itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self._transport.close()


def local_server(data: Path) -> tuple[str, str]:
    """Find address and token of the server of a data directory, left there for its owner."""
    try:
        url = (data / "http-address").read_text().strip()
        return url, (data / "admin-token").read_text().strip()
    except FileNotFoundError as error:
        message = f"no server of {data} has left its address and token there (`tiphys server`)"
        raise NotFoundError(message) from error


def logs_path(workflow: str, node: str, *, follow: bool) -> str:
    """Give the path of a node's log."""
    place = f"/workflows/{quote(workflow, safe='')}/nodes/{quote(node, safe='')}/logs"
    return f"{place}?{urlencode({'follow': str(follow).lower()})}"


def watch_address(url: str, workflow: str) -> str:
    """Give the address of a workflow's stream."""
    return f"ws{url.removeprefix('http')}{PREFIX}/workflows/{quote(workflow, safe='')}/watch"


@contextmanager
def _reached(address: str) -> Iterator[None]:
    """Tell in our own words that a stream could not be opened, or broke."""
    from websockets.exceptions import InvalidStatus, WebSocketException  # noqa: PLC0415

    try:
        yield
    except (OSError, EOFError, WebSocketException) as error:
        failed = AnswerError(f"{address}: {error}")
        if isinstance(error, InvalidStatus):
            failed.status = error.response.status_code
        raise failed from error


def check_close(code: int | None, reason: str | None) -> None:
    """Raise unless a stream came to its regular end."""
    if code == 1000:
        return
    kind = _CLOSED.get(code or 0, AnswerError)
    raise kind(reason or f"the stream was closed with code {code}")
