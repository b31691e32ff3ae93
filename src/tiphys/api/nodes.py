"""``/api/v1/workflows/{id}/nodes/{node_id}``: one node, what it wrote, what it left behind."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import anyio
import msgspec
from fastapi import Depends, Query, Request
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.responses import Response, StreamingResponse

from tiphys.api.context import EndingError
from tiphys.api.deps import Context, Who, find_workflow
from tiphys.api.document import answers, routes
from tiphys.api.envelope import answer, instant
from tiphys.api.shapes import Envelope, Node, Output
from tiphys.api.workflows import node_views
from tiphys.engine import node as engine
from tiphys.errors import NotFoundError, UnauthenticatedError
from tiphys.runtimes.archive import ArchivedLog, archived_logs, open_log
from tiphys.runtimes.logs import LogLine, LogReader, containers_of
from tiphys.service.access import Role
from tiphys.spec import model
from tiphys.wire.node import decode_node

router = routes("/workflows/{workflow_id}/nodes/{node_id}", "nodes")
LAST_BYTES = 1024 * 1024
INTERVAL = 0.2
_LINES = 500
_encode = msgspec.json.Encoder().encode


class Place:
    """The node that a path names."""

    def __init__(self, context: Context, who: Who, workflow_id: str, node_id: str) -> None:
        self.context, self.who = context, who
        self.row = find_workflow(context, who, workflow_id, Role.VIEWER)
        self.node = decode_node(context.store.node(self.row.uid, node_id).body)

    def leaf(self) -> engine.Node:
        """Give what wrote something: of a node that is retried, the latest attempt."""
        if self.node.type is not engine.NodeType.RETRY:
            return self.node
        return node_views(self.context, self.row).last_attempt(self.node)

    def folder(self, node: engine.Node) -> Path:
        """Give the folder of a node's latest attempt."""
        uid = self.row.uid
        return self.context.host.data / "attempts" / uid / f"{uid}.{node.ours.attempt}"

    def read(self, artifact: model.Artifact) -> Iterator[bytes]:
        """Yield the bytes of an artifact of the workflow: a log that was archived."""
        return self.context.artifacts.read(artifact, self.row.namespace)


At = Annotated[Place, Depends()]


@router.get("", summary="Show a node", responses=answers(Envelope[Node]))
def get_node(place: At) -> Response:
    """Show one node."""
    return answer(node_views(place.context, place.row).show(place.node))


@router.get("/output", summary="What a node wrote", responses=answers(Envelope[Output]))
def get_output(place: At) -> Response:
    """Give stdout and stderr of the latest attempt, the last 1 MiB of each.

    Where its files are gone and ``archiveLogs`` kept the log, that comes as stdout.
    """
    node = place.leaf()
    folder = place.folder(node)
    kept = {} if folder.is_dir() else archived_logs(node)
    if kept:
        # What is kept is one stream for both.
        log = kept.get("main") or kept[min(kept)]
        (out, out_cut), (err, err_cut) = _end_of(place.read(log)), ("", False)
    else:
        container = _container(folder)
        out, out_cut = _tail(folder / f"{container}.stdout")
        err, err_cut = _tail(folder / f"{container}.stderr")
    return answer(
        {
            "stdout": out,
            "stderr": err,
            "stdout_truncated": out_cut,
            "stderr_truncated": err_cut,
            "exit_code": _exit_code(node),
        }
    )


def _container(folder: Path) -> str:
    names = containers_of(folder)
    return "main" if "main" in names or not names else names[0]


def _end_of(chunks: Iterator[bytes]) -> tuple[str, bool]:
    """Keep the end of what comes, and tell whether something before it is missing."""
    end, whole = b"", 0
    for chunk in chunks:
        whole += len(chunk)
        end = (end + chunk)[-LAST_BYTES:]
    return end.decode("utf-8", "replace"), whole > len(end)


def _tail(path: Path) -> tuple[str, bool]:
    """Read the end of a file, and tell whether something before it is missing."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            # What was freed for the cap is a hole at the start.
            first = os.lseek(file.fileno(), 0, os.SEEK_DATA) if size else 0
            start = max(first, size - LAST_BYTES)
            file.seek(start)
            return file.read(LAST_BYTES).decode("utf-8", "replace"), start > 0
    except OSError:
        return "", False


def _exit_code(node: engine.Node) -> int | None:
    text = node.outputs.exit_code if node.outputs else None
    return int(text) if text and text.lstrip("-").isdecimal() else None


@router.get(
    "/logs",
    summary="Stream a node's log",
    response_class=StreamingResponse,
    responses={
        **answers(Envelope[Output]),
        200: {
            "description": "One JSON object a line; server-sent events where asked for.",
            "content": {
                "application/x-ndjson": {
                    "example": '{"time":"2026-11-15T12:00:00.000Z","stream":"stdout",'
                    '"container":"main","text":"hello"}\n'
                },
                "text/event-stream": {},
            },
        },
    },
)
def get_logs(
    request: Request,
    place: At,
    follow: bool = False,
    container: Annotated[str | None, Query(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")] = None,
    last_bytes: Annotated[int | None, Query(ge=1, le=2**40, description="Of each stream.")] = None,
) -> Response:
    """Give the lines of the latest attempt in order; ``follow`` goes on until the node's end.

    ``last_bytes`` leaves out what was written long ago, so that a huge log opens at once.
    """
    batches = _stream(place, place.leaf().id, follow, container, last_bytes)
    if "text/event-stream" in request.headers.get("accept", ""):
        events = (_joined(b"data: %b\n\n", lines) async for lines in batches)
        return StreamingResponse(events, media_type="text/event-stream")
    plain = (_joined(b"%b\n", lines) async for lines in batches)
    return StreamingResponse(plain, media_type="application/x-ndjson")


async def _stream(
    place: Place, node_id: str, follow: bool, container: str | None, last_bytes: int | None
) -> AsyncIterator[list[LogLine]]:
    store, uid = place.context.store, place.row.uid
    reader: LogReader | ArchivedLog | None = None
    while True:
        # The state first: what is written before the end is then read after it.
        try:
            node = decode_node((await run_in_threadpool(store.node, uid, node_id)).body)
        except NotFoundError:
            return  # It was removed while somebody read on.
        final = node.ended or not follow
        if reader is None and node.ours.attempt:
            folder = place.folder(node)
            reader = open_log(folder, node, place.read, container, last_bytes=last_bytes)
        if reader is not None:
            lines = reader.read(final=final)
            while batch := await run_in_threadpool(_some, lines):
                yield batch
        if final:
            return
        try:
            place.context.check(place.who)
        except (UnauthenticatedError, EndingError):
            return
        await anyio.sleep(INTERVAL)


def _some(lines: Iterator[LogLine]) -> list[LogLine]:
    return list(islice(lines, _LINES))


def _joined(form: bytes, lines: Iterable[LogLine]) -> bytes:
    """Write many lines as one: a piece of an answer costs far more than a line."""
    return b"".join(form % _line(line) for line in lines)


def _line(line: LogLine) -> bytes:
    return _encode(
        {
            "time": instant(line.at),
            "stream": line.stream,
            "container": line.container,
            "text": line.text,
            "offset": line.offset,
        }
    )


@router.get(
    "/artifacts/{name}",
    summary="Download an artifact",
    response_class=StreamingResponse,
    responses={
        **answers(Envelope[Output]),
        200: {"description": "The bytes as stored.", "content": {"application/octet-stream": {}}},
    },
)
def get_artifact(place: At, name: str) -> Response:
    """Give an output artifact (or an input, if there is no such output) as it is stored."""
    artifact = _artifact(place.node, name)
    chunks = place.context.artifacts.read(artifact, place.row.namespace)
    return StreamingResponse(iterate_in_threadpool(chunks), headers=artifact_headers(name))


def _artifact(node: engine.Node, name: str) -> Any:
    for side in (node.outputs, node.inputs):
        for artifact in side.artifacts if side else ():
            if artifact.name == name:
                return artifact
    raise NotFoundError(f"node {node.name} has no artifact {name[:200]!r}")


def artifact_headers(name: str) -> dict[str, str]:
    """Give headers under which no browser runs what somebody else's task wrote."""
    return {
        "content-type": "application/octet-stream",
        "content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "content-security-policy": "sandbox; default-src 'none'",
        "x-content-type-options": "nosniff",
    }
