"""Servers over one PostgreSQL: one leads, the others stand by and follow.

To lead is to own the store (`store.postgres_writer`): whoever gets its lock. The others try again
each second, and meanwhile pass what they are asked on to the leader, whose address lies in the
store. A leader that is killed loses the lock with its session, so the next leads a second later.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from tiphys.errors import NotFoundError, StoreError, StoreLockedError, StoreUnavailableError
from tiphys.store import ObjectRow, Store

KIND = "Leader"
EVERY = 1.0
"""Seconds between two tries to lead."""
CHECK = 2.0
"""Seconds between two looks of a leader at whether it still is."""
_FRESH = 1.0
"""Seconds for which the leader's address is remembered."""


Leader = Callable[[], Awaitable[str]]


class Follower(Protocol):
    """What is open while a server stands by."""

    def follow(self, leader: Leader) -> AbstractAsyncContextManager[None]:
        """Pass on what comes in to the leader."""


class _Leading(msgspec.Struct):
    url: str
    epoch: int


def leader_row(url: str, epoch: int, at: float) -> ObjectRow:
    """Give the row that tells others where the leader is."""
    body = msgspec.json.encode(_Leading(url, epoch))
    return ObjectRow(kind=KIND, namespace="", name="leader", body=body, at=at)


class Lookout:
    """Knows where the leader is, as the store says."""

    def __init__(self, data: Path, url: str) -> None:
        self._data, self._url = data, url
        self._store: Store | None = None
        self._known, self._until = "", 0.0

    async def leader(self) -> str:
        """Give the leader's address, "" where there is none to be found."""
        if time.monotonic() >= self._until:
            self._known = await asyncio.to_thread(self._look)
            self._until = time.monotonic() + _FRESH
        return self._known

    def _look(self) -> str:
        try:
            if self._store is None:
                self._store = Store.open(self._data, owner=False, url=self._url)
            rows = self._store.objects(KIND)
            return msgspec.json.decode(rows[0].body, type=_Leading).url if rows else ""
        except (StoreError, NotFoundError, msgspec.MsgspecError):
            return ""

    def close(self) -> None:
        """Let go of the store."""
        if self._store is not None:
            self._store.close()


async def lead(
    data: Path,
    url: str,
    stop: asyncio.Event,
    follower: Follower | None,
    say: Callable[[str], None],
    following: Callable[[], None],
) -> Store | None:
    """Wait until this server leads, and give the store; None where it is told to end before.

    ``following`` is called once it follows another: while the database is away, nobody is ready.
    """
    said, led = "", False
    async with AsyncExitStack() as stack:
        while not stop.is_set():
            try:
                return await asyncio.to_thread(Store.open, data, owner=True, url=url)
            except (StoreLockedError, StoreUnavailableError) as error:
                text, led = f"standing by: {error}", isinstance(error, StoreLockedError)
            if text != said:
                say(text)
            if not said and follower is not None:
                lookout = Lookout(data, url)
                stack.callback(lookout.close)
                await stack.enter_async_context(follower.follow(lookout.leader))
            if led:
                following()
            said = text
            await _wait(stop, EVERY)
    return None


@asynccontextmanager
async def keep_leading(store: Store, stop: asyncio.Event) -> AsyncIterator[None]:
    """Have the server end once another leads: a leader with nothing to write would not notice."""
    looking = asyncio.create_task(_look_after(store, stop))
    try:
        yield
    finally:
        if not looking.cancel():
            looking.result()


async def _look_after(store: Store, stop: asyncio.Event) -> None:
    while True:
        await asyncio.sleep(CHECK)
        try:
            await asyncio.to_thread(store.check)
        except StoreUnavailableError:
            continue
        except StoreError:
            stop.set()
            raise


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        pass
