"""Artifacts for download: as stored, never to be shown by a browser as part of this site."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import AsyncIterator
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from tiphys.api.argo.call import Call
from tiphys.artifacts.location import key_of
from tiphys.errors import InvalidInputError, NotFoundError
from tiphys.service.access import Role
from tiphys.spec import model
from tiphys.store import WorkflowRow
from tiphys.wire.node import decode_node

HEADERS = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "private, no-store",
}


async def output_artifact(call: Call) -> Response:
    """Send an output artifact of a node."""
    return await _send(call, call.workflow(Role.VIEWER), inputs=False)


async def input_artifact(call: Call) -> Response:
    """Send an input artifact of a node."""
    return await _send(call, call.workflow(Role.VIEWER), inputs=True)


async def output_by_uid(call: Call) -> Response:
    """Send an output artifact of a node of the workflow with a uid."""
    return await _send(call, call.workflow_by_uid(Role.VIEWER), inputs=False)


async def input_by_uid(call: Call) -> Response:
    """Send an input artifact of a node of the workflow with a uid."""
    return await _send(call, call.workflow_by_uid(Role.VIEWER), inputs=True)


async def artifact_file(call: Call) -> Response:
    """Send an artifact by the long path that Argo's own pages use."""
    places = {"workflows", "archived-workflows"}
    if call.path("place") not in places or call.path("way") not in {"inputs", "outputs"}:
        raise InvalidInputError("expected …/workflows/NAME/NODE/outputs/ARTIFACT")
    row = call.workflow(Role.VIEWER, call.path("id"))
    return await _send(call, row, inputs=call.path("way") == "inputs")


async def _send(call: Call, row: WorkflowRow, *, inputs: bool) -> Response:
    artifact = _find(call, row, inputs=inputs)
    chunks = await asyncio.to_thread(call.context.artifacts.read, artifact, row.namespace)

    async def body() -> AsyncIterator[bytes]:
        while chunk := await asyncio.to_thread(next, chunks, b""):
            yield chunk

    name = posixpath.basename(key_of(artifact).rstrip("/")) or artifact.name
    disposition = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    headers = {**HEADERS, "Content-Disposition": disposition}
    return StreamingResponse(body(), headers=headers, media_type="application/octet-stream")


def _find(call: Call, row: WorkflowRow, *, inputs: bool) -> model.Artifact:
    node = decode_node(call.context.store.node(row.uid, call.path("node")).body)
    side = node.inputs if inputs else node.outputs
    for artifact in side.artifacts if side is not None else ():
        if artifact.name == call.path("artifact"):
            return artifact
    name = call.path("artifact")
    raise NotFoundError(f"node {node.id} has no artifact {name[:200]!r}")
