"""``/api/v1/backup``: a copy of the whole store, for admins of all projects."""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from uuid import uuid4

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from tiphys.api.deps import Context, Who
from tiphys.api.document import routes
from tiphys.api.shapes import Failure
from tiphys.errors import ConflictError
from tiphys.service.access import Role
from tiphys.store.backup import back_up

router = routes("", "administration")
_PIECE = 1 << 20


@router.get(
    "/backup",
    summary="A copy of the store",
    response_class=Response,
    responses={
        200: {
            "description": "A database of SQLite, checked.",
            "content": {"application/vnd.sqlite3": {}},
        },
        **{
            status: {"model": Failure, "description": text}
            for status, text in (
                (401, "No token that holds."),
                (403, "Admins of all projects only."),
                (409, "The store is in PostgreSQL: back it up with pg_dump."),
            )
        },
    },
)
async def get_backup(context: Context, who: Who) -> Response:
    """Copy everything up to this moment, without logs and artifacts, and send the copy."""
    who.require(Role.ADMIN)
    if context.config.store.url:
        raise ConflictError("the store is in PostgreSQL: back it up with pg_dump")
    await context.audit.note(who, "back up", subject="store")
    file, size = await run_in_threadpool(_copied, context.host.data)
    return StreamingResponse(
        _pieces(file),
        media_type="application/vnd.sqlite3",
        headers={
            "content-length": str(size),
            "content-disposition": 'attachment; filename="tiphys.db"',
        },
    )


def _copied(data: Path) -> tuple[BufferedReader, int]:
    """Make a copy that has no name any more: it goes away however the answer ends."""
    path = data / f"backup-{uuid4().hex}"
    size = back_up(data, path)
    try:
        return path.open("rb"), size
    finally:
        path.unlink()


def _pieces(file: BufferedReader) -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE):
            yield piece
