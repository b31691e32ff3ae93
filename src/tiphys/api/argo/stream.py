"""Streams in the two framings that Argo's clients read.

Server-sent events where the request accepts exactly those, else JSON objects a line each. Argo's
own command cuts six bytes off every line that is longer and parses the rest, so a frame is one
``data: `` line and an empty one, and a sign of life is a bare colon: nothing else may be sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import msgspec
from starlette.responses import Response, StreamingResponse

from tiphys.api.argo.call import Call
from tiphys.api.argo.problem import describe
from tiphys.api.context import EndingError
from tiphys.errors import UnauthenticatedError

ALIVE = 15.0
"""Seconds of silence after which a sign of life is due."""

Frames = AsyncGenerator[bytes | None, None]
"""JSON texts to send; None when nothing has happened for ``ALIVE`` seconds."""


async def reply_stream(call: Call, frames: Frames) -> Response:
    """Answer with a stream. What goes wrong before the first frame is an ordinary error."""
    events = call.request.headers.get("accept", "") == "text/event-stream"
    first = await anext(frames, b"")
    kind = "text/event-stream" if events else "application/json"
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse(_body(call, first, frames, events), headers=headers, media_type=kind)


async def _body(
    call: Call, first: bytes | None, frames: Frames, events: bool
) -> AsyncIterator[bytes]:
    if first == b"":
        return
    async with aclosing(frames):
        yield _framed(first, events)
        try:
            async for frame in frames:
                call.context.check(call.identity)
                yield _framed(frame, events)
        except (UnauthenticatedError, EndingError):
            return
        except asyncio.CancelledError:
            raise
        except Exception as error:
            yield _framed(_failure(error), events, key="error")


def _framed(frame: bytes | None, events: bool, *, key: str = "result") -> bytes:
    if frame is None:
        return b":\n" if events else b""
    wrapped = b'{"%s":%s}' % (key.encode(), frame)
    return b"data: " + wrapped + b"\n\n" if events else wrapped + b"\n"


def _failure(error: Exception) -> bytes:
    status, code, message = describe(error)
    return msgspec.json.encode({"grpc_code": code, "http_code": status, "message": message})
