"""The WebSocket ``/api/v1/overview/watch``: all that a dashboard shows, through one connection.

First everything, then the parts that have changed, at most once a second however much goes on.
Parts are compared with what was last sent, so that an idle server sends little: every few seconds
what is in use. Whoever connects again gets everything again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Annotated, Any, cast

from fastapi import Query, WebSocket
from starlette.concurrency import run_in_threadpool

from tiphys.api.context import IDENTITY, ApiContext
from tiphys.api.document import routes
from tiphys.api.envelope import instant
from tiphys.api.feeds import ALL
from tiphys.api.overview import look_over
from tiphys.api.stream import Watcher, serve
from tiphys.api.view import summary
from tiphys.engine.node import Phase
from tiphys.ports import LOCAL
from tiphys.service.access import Identity, Role
from tiphys.service.queue_desk import place_of
from tiphys.store import WorkflowFilter

router = routes("/overview")
INTERVAL = 1.0
"""No two messages are closer."""
ROWS = 8
QUEUES = 12
_LIVE = ("", "Pending", "Running")
_BAD = ("Failed", "Error")
_ENDED = ("Succeeded", *_BAD)


@router.websocket("/watch")
async def watch_overview(
    websocket: WebSocket,
    hours: Annotated[float, Query(gt=0, le=24)] = 24,
    buckets: Annotated[int, Query(ge=1, le=288)] = 48,
) -> None:
    """Stream how things are, until the watcher goes."""
    context = cast(ApiContext, websocket.app.state.context)
    who = cast(Identity, websocket.scope[IDENTITY])
    panorama = Panorama(context, who, hours, buckets)
    await serve(websocket, context, _watch(Watcher(websocket, context, who), panorama))


async def _watch(watcher: Watcher, panorama: Panorama) -> None:
    panorama.who.require(Role.VIEWER, panorama.who.project)
    with panorama.context.feeds.subscribed(ALL) as feed:
        async with watcher.listening():
            while not watcher.gone:
                feed.take()
                if message := await panorama.news():
                    await watcher.send(message)
                await asyncio.sleep(INTERVAL)
                await watcher.wait(feed.news)


class Panorama:
    """What one watcher sees, and has been sent."""

    def __init__(self, context: ApiContext, who: Identity, hours: float, buckets: int) -> None:
        self.context, self.who = context, who
        self._hours, self._buckets = hours, buckets
        self._sent: dict[str, Any] = {}

    async def news(self) -> dict[str, Any]:
        """Give the parts that differ from what was last given; nothing where none does."""
        parts = await self._parts()
        changed = {name: part for name, part in parts.items() if self._sent.get(name) != part}
        self._sent |= changed
        if not changed:
            return {}
        return {"type": "overview", "timestamp": instant(self.context.host.clock.now()), **changed}

    async def _parts(self) -> dict[str, Any]:
        seen = await look_over(self.context, self.who.project, self._hours, self._buckets)
        del seen["now"]
        *earlier, latest = seen.pop("use")
        return {
            **seen,
            "use": earlier,
            "latest": latest,
            "running_rows": await run_in_threadpool(self._rows, _LIVE),
            "ended_rows": await run_in_threadpool(self._rows, _ENDED),
            "failed_rows": await run_in_threadpool(self._rows, _BAD),
            "queues": await self._queues(),
        }

    def _rows(self, phases: tuple[str, ...]) -> list[dict[str, Any]]:
        wanted = WorkflowFilter(phases=phases, namespace=self.who.project)
        return [summary(row) for row in self.context.store.workflows(wanted, limit=ROWS)]

    async def _queues(self) -> list[dict[str, Any]]:
        """Give the first queues with how many nodes are in line and how many workflows run."""
        desk, control = self.context.queues, self.context.host.control
        running = Counter(
            place_of(run) for run in control.runs.values() if run.phase == Phase.RUNNING
        )
        depth = Counter(work.queue for work in control.scheduler.waiting_works())
        found = []
        for shown in (await desk.of(LOCAL).listed())[:QUEUES]:
            name = shown["name"]
            kept = {key: shown[key] for key in ("id", "name", "status", "sla_seconds")}
            found.append({**kept, "waiting": depth[name], "running": running[LOCAL, name]})
        return found
