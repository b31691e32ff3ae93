"""The WebSocket ``/api/v1/workflows/{id}/watch``.

First the whole state, then what changes: gathered, at most ten times a second, the last message for
sure. A reader who does not keep up is cut off; whoever connects again gets the whole state again,
so nothing is missed for good.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from fastapi import WebSocket
from starlette.concurrency import run_in_threadpool

from tiphys.api.context import IDENTITY, ApiContext
from tiphys.api.deps import find_workflow
from tiphys.api.document import routes
from tiphys.api.envelope import instant
from tiphys.api.stream import Watcher, serve
from tiphys.api.view import brief, percent, public_id, status_of
from tiphys.api.workflows import whole
from tiphys.engine.node import Node, NodeType, Phase
from tiphys.service.access import Identity, Role
from tiphys.store import WorkflowRow

router = routes("")
INTERVAL = 0.1
"""No two messages are closer."""
_ENDED = frozenset({"Succeeded", "Failed", "Error"})


@router.websocket("/workflows/{workflow_id}/watch")
async def watch(websocket: WebSocket, workflow_id: str) -> None:
    """Stream one workflow to its end."""
    context = cast(ApiContext, websocket.app.state.context)
    await serve(websocket, context, _watch(websocket, context, workflow_id))


async def _watch(websocket: WebSocket, context: ApiContext, workflow_id: str) -> None:
    who = cast(Identity, websocket.scope[IDENTITY])
    row = await run_in_threadpool(find_workflow, context, who, workflow_id, Role.VIEWER)
    await Stream(Watcher(websocket, context, who), context, row.uid).run()


class Stream:
    """One watcher of one workflow."""

    def __init__(self, watcher: Watcher, context: ApiContext, uid: str) -> None:
        self._watcher, self._context, self._uid = watcher, context, uid

    async def run(self) -> None:
        """Send until the workflow has ended or the watcher has gone."""
        watcher = self._watcher
        with self._context.feeds.subscribed(self._uid) as feed:
            async with watcher.listening():
                row = await self._row()
                await watcher.send(await run_in_threadpool(self._first, row))
                while row.phase not in _ENDED and not watcher.gone:
                    await watcher.wait(feed.news)
                    if feed.news.is_set():
                        nodes = feed.take()
                        row = await self._row()
                        await watcher.send(update(row, nodes))
                        await asyncio.sleep(INTERVAL)

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
