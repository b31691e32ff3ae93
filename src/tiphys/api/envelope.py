"""What all answers have in common: the envelope, and how instants are written."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from starlette.responses import Response

_encode = msgspec.json.Encoder().encode


def answer(
    data: Any = None,
    *,
    status: int = 200,
    message: str = "",
    pagination: Mapping[str, int] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Give a success."""
    body: dict[str, Any] = {"success": True}
    if data is not None:
        body["data"] = data
    if message:
        body["message"] = message
    if pagination is not None:
        body["pagination"] = pagination
    return Response(_encode(body), status, media_type="application/json", headers=headers)


def page_of(total: int, page: int, limit: int, *, at_least: bool = False) -> dict[str, int]:
    """Describe a page; ``at_least`` where the total is still being counted."""
    place = {"total": total, "page": page, "limit": limit}
    return {**place, "at_least": True} if at_least else place


def instant(at: float | None) -> str | None:
    """Write an instant in RFC 3339: UTC, milliseconds."""
    if at is None:
        return None
    text = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
