"""The WebSocket ``/api/v1/workflows/{id}/watch``.

First the whole state, then what changes: gathered, at most ten times a second, the last message for
sure. A reader who does not keep up is cut off; whoever connects again gets the whole state again,
so nothing is missed for good.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast

from fastapi import WebSocket
from starlette.concurrency import run_in_threadpool

from tiphys.api.context import IDENTITY, ApiContext
from tiphys.api.deps import find_workflow
from tiphys.api.document import routes
from tiphys.api.envelope import instant
from tiphys.api.stream import Watcher, serve
from tiphys.api.view import brief, kinds_of, percent, public_id, status_of
from tiphys.api.workflows import whole
from tiphys.engine.node import Node, NodeType, Phase
from tiphys.service.access import Identity, Role
from tiphys.store import WorkflowRow

router = routes("")
INTERVAL = 0.1
"""No two messages are closer."""
_ENDED = frozenset({"Succeeded", "Failed", "Error"})
_STRUCTURE = frozenset(
    {
        NodeType.DAG,
        NodeType.STEPS,
        NodeType.STEP_GROUP,
        NodeType.TASK_GROUP,
        NodeType.RETRY,
        NodeType.JOB,
    }
)
"""They only hold others."""


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
        self._kinds: dict[str, str] = {}
        self._current: str | None = None

    async def run(self) -> None:
        """Send until the workflow has ended or the watcher has gone."""
        watcher = self._watcher
        with self._context.feeds.subscribed(self._uid) as feed:
            async with watcher.listening():
                row = await self._row()
                self._current = self._running()
                await watcher.send(await run_in_threadpool(self._first, row))
                while row.phase not in _ENDED and not watcher.gone:
                    await watcher.wait(feed.news)
                    if feed.news.is_set():
                        nodes = feed.take()
                        row = await self._row()
                        self._follow(nodes)
                        await watcher.send(update(row, nodes, self._current, self._kinds))
                        await asyncio.sleep(INTERVAL)

    async def _row(self) -> WorkflowRow:
        return await run_in_threadpool(self._context.store.workflow, self._uid)

    def _running(self) -> str | None:
        """Find a node that does something just now."""
        run = self._context.host.control.runs.get(self._uid)
        return next((node.id for node in run.nodes.values() if _runs(node)), None) if run else None

    def _follow(self, nodes: Sequence[Node]) -> None:
        """Let the current node be one that has begun, else the same until it ends."""
        begun = next((node.id for node in nodes if _runs(node)), None)
        if begun is not None:
            self._current = begun
        elif any(node.id == self._current for node in nodes):
            self._current = self._running()

    def _first(self, row: WorkflowRow) -> dict[str, Any]:
        self._kinds = kinds_of(row.spec)
        data = whole(self._context, row)
        return {
            **update(row, (), self._current, self._kinds),
            "nodes": data["nodes"],
            "workflow": {**data, "nodes": []},
        }


def update(
    row: WorkflowRow, nodes: Sequence[Node], current: str | None, kinds: Mapping[str, str]
) -> dict[str, Any]:
    """Give one message; what has ended does nothing more."""
    changed_at = row.finished_at or max(
        [row.started_at or row.created_at, *(_touched(node) for node in nodes)]
    )
    return {
        "type": "status_update",
        "workflow_id": public_id(row.uid),
        "status": status_of(row.phase),
        "progress": percent(row.progress, row.phase),
        "current_node": None if row.phase in _ENDED else current,
        "nodes": [brief(node, kinds) for node in nodes],
        "message": row.message,
        "timestamp": instant(changed_at),
    }


def _runs(node: Node) -> bool:
    return node.phase is Phase.RUNNING and node.type not in _STRUCTURE


def _touched(node: Node) -> float:
    return node.finished_at or node.ours.began_at or node.started_at or 0.0
