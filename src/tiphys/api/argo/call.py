"""One request as the routes see it: who asks, its parameters, its body.

The Argo Server's clients send JSON without saying so, booleans as text, and parameters under dotted
names; all of that ends here. A body is read only after it is known who asks.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tiphys.api.argo.problem import refuse
from tiphys.api.context import ApiContext
from tiphys.api.problems import RequestError
from tiphys.errors import ConflictError, InvalidInputError, NotFoundError
from tiphys.service.access import Identity, Role
from tiphys.store import WorkflowRow

_NUMBER = re.compile(r"-?[0-9]{1,15}", re.ASCII)
MAX_BODY = 2 * 1024 * 1024
_LARGE = 64 * 1024
"""Bodies beyond this are read beside the loop."""
Handler = Callable[["Call"], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Call:
    """One request."""

    context: ApiContext
    request: Request
    identity: Identity

    def path(self, name: str) -> str:
        """Give a part of the path; "" where the route has no such part."""
        return str(self.request.path_params.get(name, ""))

    def text(self, name: str) -> str:
        """Give a query parameter; "" where it is missing."""
        return self.request.query_params.get(name, "")

    def flag(self, name: str) -> bool:
        """Read a query parameter as yes or no."""
        return self.text(name).lower() in {"true", "1", "t"}

    def number(self, name: str) -> int | None:
        """Read a query parameter as a whole number; None where it is missing."""
        text = self.text(name)
        if not text:
            return None
        if not _NUMBER.fullmatch(text):
            raise InvalidInputError(f"{name} must be a whole number, not {text[:60]!r}")
        return int(text)

    def moment(self, name: str) -> float | None:
        """Read a query parameter as a time."""
        return read_moment(name, self.text(name))

    # --- who may -----------------------------------------------------------------------------

    def namespace(self, role: Role) -> str:
        """Give the namespace of the path ("" means all that the caller may see)."""
        namespace = self.path("namespace")
        self.identity.require(role, namespace or self.identity.project)
        return namespace or self.identity.project

    def workflow(self, role: Role, key: str = "") -> WorkflowRow:
        """Find the workflow of the path: by name, uid or ``@latest``."""
        namespace = self.namespace(role)
        return self.context.store.workflow(key or self.path("name"), namespace=namespace)

    def workflow_by_uid(self, role: Role) -> WorkflowRow:
        """Find the workflow whose uid the path holds; one that is foreign does not exist."""
        uid = self.path("uid")
        missing = NotFoundError(f"there is no workflow {uid[:200]!r}")
        try:
            row = self.context.store.workflow(uid)
        except (NotFoundError, ConflictError):  # A name, perhaps: who uses it is not told.
            raise missing from None
        if row.uid != uid or not self.identity.sees(row.namespace):
            raise missing
        self.identity.require(role, row.namespace)
        return row

    async def note(self, action: str, row: WorkflowRow) -> None:
        """Put a change of a workflow on record."""
        await self.context.audit.note_workflow(self.identity, action, row)

    # --- what was sent -----------------------------------------------------------------------

    async def body(self) -> dict[str, Any]:
        """Read the body as a JSON object; an empty one is an empty object."""
        value = await self.payload()
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise _unreadable("it must be a JSON object")
        return value

    async def payload(self) -> Any:
        """Read the body as any JSON value; an empty one is None."""
        data = bytearray()
        async for chunk in self.request.stream():
            data += chunk
            if len(data) > MAX_BODY:
                raise RequestError("body_too_large", f"bodies may be {MAX_BODY} bytes long")
        if not data.strip():
            return None
        small = len(data) < _LARGE
        return decode(bytes(data)) if small else await asyncio.to_thread(decode, bytes(data))


def decode(data: bytes) -> Any:
    """Read JSON, strictly: a key that is there twice is an error, as is what is no UTF-8."""
    try:
        text = data.decode("utf-8")
        msgspec.json.decode(text)  # It alone refuses halves of surrogate pairs.
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except UnicodeDecodeError:
        raise _unreadable("it is not UTF-8") from None
    except RecursionError:
        raise _unreadable("it is nested too deeply") from None
    except ValueError as error:
        raise _unreadable(str(error)[:200]) from None


def _unreadable(why: str) -> RequestError:
    return RequestError("parse_error", f"the body cannot be read: {why}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:60]!r} is there twice")
    return found


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def read_moment(name: str, text: str) -> float | None:
    """Read RFC 3339; None where there is nothing."""
    if not text:
        return None
    with suppress(ValueError, OverflowError):
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            return moment.timestamp()
    raise InvalidInputError(f"{name} must be a time as in RFC 3339, not {text[:60]!r}")


def pairs_of(name: str, given: Any) -> dict[str, str]:
    """Read ``["a=1", "b=2"]``."""
    if given is None:
        return {}
    if not isinstance(given, list):
        raise InvalidInputError(f"{name} must be a list of NAME=VALUE")
    found = {}
    for each in given:
        key, equals, value = str(each).partition("=")
        if not equals:
            raise InvalidInputError(f"{name}: expected NAME=VALUE, found {str(each)[:60]!r}")
        found[key] = value
    return found


def text_of(body: dict[str, Any], name: str) -> str:
    """Give a text of the body; "" where it is missing."""
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} must be a text")
    return value


def mapping_of(body: dict[str, Any], name: str) -> dict[str, Any]:
    """Give an object of the body; an empty one where it is missing."""
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidInputError(f"{name} must be an object")
    return value


def reply(value: Any) -> Response:
    """Answer with JSON; bytes are JSON already. The clients take no status but 200."""
    body = value if isinstance(value, bytes) else msgspec.json.encode(value)
    return Response(body, media_type="application/json")


def endpoint(context: ApiContext, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Make a handler a route's: it is asked only by those who may ask, and never raises."""

    async def respond(request: Request) -> Response:
        try:
            identity = context.authenticate(request)
            return await handler(Call(context, request, identity))
        except asyncio.CancelledError:
            raise
        except Exception as error:
            return refuse(error)

    return respond
