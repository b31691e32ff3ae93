"""The server's side of the executor: starts it on demand, talks to it, notices when it is gone.

One connection at a time. ``on_events`` gets every batch on the event loop; ``on_lost`` is called
when the connection breaks without ``close``: whoever owns the client reconnects and attaches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from tiphys.errors import RuntimeFailure, StaleEpochError
from tiphys.executor import launch, protocol
from tiphys.executor.place import Place

START_TIMEOUT = 20.0
LATER = 0.02
"""Seconds; what waits may wait for twice as long."""
START_AGAIN = 3.0
"""Seconds after which another is started: the first found one at work, which then went away."""


class _Connection(asyncio.BufferedProtocol):
    def __init__(self, client: ExecutorClient) -> None:
        self._client = client
        self._frames = protocol.Frames()
        self._room = memoryview(bytearray(protocol.CHUNK))
        self.transport: asyncio.Transport | None = None
        self.answer: asyncio.Future[protocol.Welcome | protocol.Refused] = (
            asyncio.get_running_loop().create_future()
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        """Say where to put what arrives."""
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        """Take what has arrived."""
        for body in self._frames.feed(self._room[:nbytes]):
            reply = protocol.reply_decoder().decode(body)
            if isinstance(reply, protocol.Batch):
                self._client.on_events(reply.events)
            elif not self.answer.done():
                self.answer.set_result(reply)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.answer.done():
            self.answer.set_exception(ConnectionResetError("the executor went away"))
        self._client.lost(self)


class ExecutorClient:
    """A connection to the executor of one data directory."""

    def __init__(
        self,
        data: Path,
        *,
        epoch: int,
        on_events: Callable[[Sequence[protocol.Event]], None],
        on_lost: Callable[[], None],
        linger: float = 10.0,
        sandboxes: bool = True,
    ) -> None:
        self._place = Place(data)
        self._epoch = epoch
        self._options = launch.options_of(linger, sandboxes=sandboxes)
        self.on_events = on_events
        self._on_lost = on_lost
        self._connection: _Connection | None = None
        self._later = bytearray()
        self._alarm: asyncio.TimerHandle | None = None
        self._overtaken = False
        """Whether what waited when the alarm was set has gone with another request since."""
        self.welcome: protocol.Welcome | None = None

    @property
    def connected(self) -> bool:
        """Tell whether requests reach an executor."""
        return self._connection is not None

    async def connect(self) -> protocol.Welcome:
        """Reach the executor, starting one where none listens."""
        try:
            async with asyncio.timeout(START_TIMEOUT):
                welcome = await self._try_connect()
                if welcome is not None:
                    await asyncio.to_thread(launch.dismiss, self._place)
                while welcome is None:
                    await asyncio.to_thread(launch.start, self._place, self._options)
                    welcome = await self._keep_trying(START_AGAIN)
                return welcome
        except TimeoutError as error:
            reason = self._last_words() or "it is there and says nothing"
            raise RuntimeFailure(f"the executor does not answer: {reason}") from error

    async def _keep_trying(self, seconds: float) -> protocol.Welcome | None:
        tried = 0.0
        while tried < seconds:
            # Often at first: whoever calls waits for the first task of all.
            welcome = await self._try_connect()
            if welcome is not None:
                return welcome
            pause = 0.004 if tried < 0.4 else 0.1
            await asyncio.sleep(pause)
            tried += pause
        return None

    async def _try_connect(self) -> protocol.Welcome | None:
        """Greet the executor that is there; None where there is none, or it makes room."""
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_unix_connection(
                lambda: _Connection(self), self._place.address()
            )
        except (FileNotFoundError, ConnectionError):
            return None
        assert connection.transport is not None
        connection.transport.write(protocol.frame(protocol.Hello(protocol.VERSION, self._epoch)))
        try:
            answer = await connection.answer
        except ConnectionError:
            return None
        except asyncio.CancelledError:
            connection.transport.close()
            raise
        if isinstance(answer, protocol.Refused):
            connection.transport.close()
            self._take_refusal(answer)
            return None
        self._connection, self.welcome = connection, answer
        self._send_rest()
        return answer

    def _take_refusal(self, refused: protocol.Refused) -> None:
        """Raise what a refusal means; nothing where another executor is to be started."""
        if refused.leaves:
            return
        if "stale epoch" in refused.reason:
            raise StaleEpochError(
                f"{refused.reason} (after the return of an older store, with nothing running:"
                f" remove {self._place.journal})"
            )
        raise RuntimeFailure(f"the executor refused: {refused.reason}")

    def _last_words(self) -> str:
        try:
            return self._place.log.read_text(errors="replace").strip().rpartition("\n")[2][-300:]
        except OSError:
            return ""

    def send(self, request: protocol.Request) -> bool:
        """Send a request; False where there is no executor to take it."""
        if self._connection is None or self._connection.transport is None:
            return False
        self._connection.transport.write(protocol.frame(request) + self._later)
        self._later.clear()
        self._overtaken = True
        return True

    def send_later(self, request: protocol.Request) -> None:
        """Send a request with the next one, or soon by itself: each wakes the executor."""
        self._later += protocol.frame(request)
        if self._alarm is None:
            self._set_alarm()

    def _set_alarm(self) -> None:
        self._overtaken = False
        self._alarm = asyncio.get_running_loop().call_later(LATER, self._ring)

    def _ring(self) -> None:
        """Send what has waited long enough. What came after a request that took all before it
        along has not: with a request every few milliseconds none is ever sent alone."""
        self._alarm = None
        if self._later and self._overtaken:
            self._set_alarm()
        else:
            self._send_rest()

    def _send_rest(self) -> None:
        if self._later and self._connection is not None and self._connection.transport is not None:
            self._connection.transport.write(bytes(self._later))
            self._later.clear()

    def lost(self, connection: _Connection) -> None:
        """Note that a connection has ended."""
        if connection is self._connection:
            self._connection = None
            self._on_lost()

    def close(self) -> None:
        """Hang up; the executor goes on."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._send_rest()
        connection, self._connection = self._connection, None
        if connection is not None and connection.transport is not None:
            connection.transport.close()
