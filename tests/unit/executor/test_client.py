"""What a client sends later: with its next request, or soon by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tiphys.executor import protocol
from tiphys.executor.client import LATER, ExecutorClient
from tiphys.executor.place import Place

PATIENCE = 30.0


class Listener:
    """An executor that welcomes everybody and keeps what it is told, as it arrives."""

    def __init__(self) -> None:
        self.arrived: list[list[protocol.Request]] = []
        self.changed = asyncio.Event()
        self.left = asyncio.Event()

    async def hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client."""
        frames = protocol.Frames()
        while data := await reader.read(protocol.CHUNK):
            told = [protocol.request_decoder().decode(body) for body in frames.feed(data)]
            if isinstance(told[0], protocol.Hello):
                writer.write(protocol.frame(protocol.Welcome(protocol.VERSION, 1, "")))
                continue
            self.arrived.append(told)
            self.changed.set()
        writer.close()
        self.left.set()

    async def heard(self, count: int) -> list[protocol.Request]:
        """Wait until so many requests have arrived; give all."""
        async with asyncio.timeout(PATIENCE):
            while sum(map(len, self.arrived)) < count:
                self.changed.clear()
                await self.changed.wait()
        return [request for told in self.arrived for request in told]


@asynccontextmanager
async def conversation(data: Path) -> AsyncIterator[tuple[ExecutorClient, Listener]]:
    """A client that is connected, and who listens to it."""
    place = Place(data)
    place.folder.mkdir(parents=True)
    listener = Listener()
    client = ExecutorClient(
        data, epoch=1, on_events=lambda events: None, on_lost=lambda: None, linger=0.1
    )
    async with await asyncio.start_unix_server(listener.hear, place.make_address()):
        await client.connect()
        try:
            yield client, listener
        finally:
            client.close()
            async with asyncio.timeout(PATIENCE):
                await listener.left.wait()


def ack(number: int) -> protocol.Ack:
    return protocol.Ack((f"a.{number}",))


def stop(number: int) -> protocol.Stop:
    return protocol.Stop((f"a.{number}",), 1.0)


def test_what_is_sent_later_goes_soon_by_itself(tmp_path: Path) -> None:
    async def talk() -> None:
        async with conversation(tmp_path) as (client, listener):
            client.send_later(ack(1))
            client.send_later(ack(2))
            assert await listener.heard(2) == [ack(1), ack(2)]

            client.send_later(ack(3))  # After the alarm for those before.
            assert await listener.heard(3) == [ack(1), ack(2), ack(3)]

    asyncio.run(talk())


def test_what_is_sent_later_goes_with_the_next_request(tmp_path: Path) -> None:
    async def talk() -> None:
        async with conversation(tmp_path) as (client, listener):
            client.send_later(ack(1))
            client.send(stop(2))

            await listener.heard(2)
            assert listener.arrived == [[stop(2), ack(1)]]

    asyncio.run(talk())


def test_the_alarm_of_what_has_gone_sends_nothing_that_came_after_it(tmp_path: Path) -> None:
    async def talk() -> None:
        async with conversation(tmp_path) as (client, listener):
            loop = asyncio.get_running_loop()
            begun = loop.time()
            client.send_later(ack(1))
            client.send(stop(2))
            client.send_later(ack(3))

            await listener.heard(3)
            assert (
                loop.time() - begun >= 2 * LATER * 0.95
            )  # Else it went when the first alarm rang.
            assert listener.arrived == [[stop(2), ack(1)], [ack(3)]]

    asyncio.run(talk())


def test_nothing_that_waits_is_lost_when_the_client_hangs_up(tmp_path: Path) -> None:
    async def talk() -> None:
        async with conversation(tmp_path) as (client, listener):
            client.send_later(ack(1))
            client.close()

            assert await listener.heard(1) == [ack(1)]

    asyncio.run(talk())
