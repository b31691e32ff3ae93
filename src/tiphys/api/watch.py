"""The WebSocket ``/api/v1/workflows/{id}/watch``.

First the whole state, then what changes: gathered, at most ten times a second, the last message for
sure. A reader who does not keep up is cut off; whoever connects again gets the whole state again,
so nothing is missed for good.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

import msgspec
from fastapi import WebSocket, WebSocketDisconnect
from starlette.concurrency import run_in_threadpool

from tiphys.api.context import IDENTITY, ApiContext, EndingError
from tiphys.api.deps import find_workflow
from tiphys.api.document import routes
from tiphys.api.envelope import instant
from tiphys.api.feeds import Feed
from tiphys.api.guard import NOT_FOUND, UNAUTHENTICATED
from tiphys.api.view import brief, percent, public_id, status_of
from tiphys.api.workflows import whole
from tiphys.engine.node import Node, NodeType, Phase
from tiphys.errors import NotFoundError, TiphysError, UnauthenticatedError
from tiphys.service.access import Identity, Role
from tiphys.store import WorkflowRow

router = routes("")
INTERVAL = 0.1
"""No two messages are closer."""
PATIENCE = 10.0
"""A message that cannot be handed over within this time ends the stream."""
LOOK = 5.0
"""Without news, the token is looked at again this often."""
SLOW = 4408
RESTART = 1012
"""What a WebSocket says where its server will be back soon."""
_ENDED = frozenset({"Succeeded", "Failed", "Error"})
_encode = msgspec.json.Encoder().encode


class SlowReaderError(Exception):
    """Somebody does not read what is sent to them."""


@router.websocket("/workflows/{workflow_id}/watch")
async def watch(websocket: WebSocket, workflow_id: str) -> None:
    """Stream one workflow to its end."""
    context = cast(ApiContext, websocket.app.state.context)
    who = cast(Identity, websocket.scope[IDENTITY])
    await websocket.accept()
    code, reason = 1000, ""
    with suppress(WebSocketDisconnect):
        try:
            row = await run_in_threadpool(find_workflow, context, who, workflow_id, Role.VIEWER)
            await Stream(websocket, context, who, row.uid).run()
        except UnauthenticatedError as error:
            code, reason = UNAUTHENTICATED, str(error)
        except EndingError as error:
            code, reason = RESTART, str(error)
        except NotFoundError as error:
            code, reason = NOT_FOUND, str(error)[:100]
        except SlowReaderError:
            context.metrics.watch["cut"] += 1
            code, reason = SLOW, "messages were not read in time"
        except TiphysError:
            code, reason = 1011, "something went wrong inside"
        with suppress(RuntimeError, TimeoutError):
            await asyncio.wait_for(websocket.close(code, reason), PATIENCE)


class Stream:
    """One watcher of one workflow."""

    def __init__(self, websocket: WebSocket, context: ApiContext, who: Identity, uid: str) -> None:
        self._websocket, self._context, self._who, self._uid = websocket, context, who, uid

    async def run(self) -> None:
        """Send until the workflow has ended or the watcher has gone."""
        with self._context.feeds.subscribed(self._uid) as feed:
            gone = asyncio.create_task(self._gone())
            try:
                row = await self._row()
                await self._send(await run_in_threadpool(self._first, row))
                while row.phase not in _ENDED and not gone.done():
                    await self._news(feed, gone)
                    self._context.check(self._who)
                    if feed.news.is_set():
                        nodes = feed.take()
                        row = await self._row()
                        await self._send(update(row, nodes))
                        await asyncio.sleep(INTERVAL)
            finally:
                gone.cancel()
                with suppress(asyncio.CancelledError, WebSocketDisconnect):
                    await gone

    async def _row(self) -> WorkflowRow:
        return await run_in_threadpool(self._context.store.workflow, self._uid)

    def _first(self, row: WorkflowRow) -> dict[str, Any]:
        message = update(row, ())
        data = whole(self._context, row)
        current = next((n["id"] for n in data["nodes"] if n["status"] == "running"), None)
        nodes = data["nodes"]
        return {
            **message,
            "current_node": current,
            "nodes": nodes,
            "workflow": {**data, "nodes": []},
        }

    async def _news(self, feed: Feed, gone: asyncio.Task[None]) -> None:
        """Wait for changes, for the watcher to go, or for the time to look at the token again."""
        patience = LOOK
        if self._who.expires_at is not None:
            left = self._who.expires_at - self._context.host.clock.now()
            patience = max(0.0, min(LOOK, left))
        news = asyncio.create_task(feed.news.wait())
        try:
            await asyncio.wait({news, gone}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        finally:
            news.cancel()

    async def _gone(self) -> None:
        """Wait until the watcher closes; what it says is of no interest."""
        with suppress(WebSocketDisconnect):
            while True:
                message = await self._websocket.receive()
                if message["type"] == "websocket.disconnect":
                    return

    async def _send(self, message: dict[str, Any]) -> None:
        try:
            text = _encode(message).decode()
            await asyncio.wait_for(self._websocket.send_text(text), PATIENCE)
            self._context.metrics.watch["messages"] += 1
        except TimeoutError as error:
            raise SlowReaderError from error


def update(row: WorkflowRow, nodes: Sequence[Node]) -> dict[str, Any]:
    """Give one message."""
    changed_at = row.finished_at or max(
        [row.started_at or row.created_at, *(_touched(node) for node in nodes)]
    )
    return {
        "type": "status_update",
        "workflow_id": public_id(row.uid),
        "status": status_of(row.phase),
        "progress": percent(row.progress, row.phase),
        "current_node": next((node.id for node in nodes if _runs(node)), None),
        "nodes": [brief(node) for node in nodes],
        "message": row.message,
        "timestamp": instant(changed_at),
    }


def _runs(node: Node) -> bool:
    return node.phase is Phase.RUNNING and node.type is NodeType.POD


def _touched(node: Node) -> float:
    return node.finished_at or node.ours.began_at or node.started_at or 0.0
