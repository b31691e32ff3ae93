"""Durable writes besides the loop's: tokens, projects, the audit.

Everything that is asked for while one commit is under way goes into the next, so that a thousand
requests at once cost a few waits for the disk and not a thousand.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from tiphys.errors import TiphysError
from tiphys.store import Batch, EventRow, ObjectRow, Store


class Cabinet:
    """The store as the service writes to it; use it from the event loop only."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._batch = Batch()
        self._waiting: list[asyncio.Future[None]] = []
        self._task: asyncio.Task[None] | None = None

    async def save(self, *objects: ObjectRow, events: tuple[EventRow, ...] = ()) -> None:
        """Write objects and events; returns when they are durable."""
        self._batch.objects.extend(objects)
        self._batch.events.extend(events)
        await self._written()

    async def remove(self, kind: str, namespace: str, name: str) -> None:
        """Remove an object."""
        self._batch.objects_removed.append((kind, namespace, name))
        await self._written()

    async def close(self) -> None:
        """Wait for what is being written."""
        if self._task is not None:
            with suppress(TiphysError):
                await self._task

    async def _written(self) -> None:
        done = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._write())
        await done

    async def _write(self) -> None:
        while self._waiting:
            batch, self._batch = self._batch, Batch()
            waiting, self._waiting = self._waiting, []
            failed: TiphysError | None = None
            try:
                await asyncio.to_thread(self._store.commit, batch)
            except TiphysError as error:
                failed = error
            for future in waiting:
                if future.done():
                    continue
                if failed is None:
                    future.set_result(None)
                else:
                    future.set_exception(failed)
