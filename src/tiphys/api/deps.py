"""What routes take from a request: the context, who asks, the body, the workflow that is meant."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Request
from pydantic import BaseModel, ValidationError

from tiphys.api.context import IDENTITY, ApiContext
from tiphys.api.fault import faults
from tiphys.api.problems import RequestError, echo
from tiphys.api.view import PREFIX
from tiphys.errors import NotFoundError
from tiphys.service.access import Identity, Role
from tiphys.store import WorkflowRow

B = TypeVar("B", bound=BaseModel)
MAX_MESSAGE = 500
"""Of what is told of one value: names of fields among it, and echoes that are short already."""
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def context_of(request: Request) -> ApiContext:
    """Give the server's context."""
    return cast(ApiContext, request.app.state.context)


def identity_of(request: Request) -> Identity:
    """Give the bearer that the guard let in."""
    return cast(Identity, request.scope[IDENTITY])


Context = Annotated[ApiContext, Depends(context_of)]
Who = Annotated[Identity, Depends(identity_of)]


def find_workflow(context: ApiContext, who: Identity, key: str, role: Role) -> WorkflowRow:
    """Find a workflow by its id; one of another project does not exist."""
    uid = key.removeprefix(PREFIX)
    missing = NotFoundError(f"there is no workflow {echo(key)!r}")
    if not (key.startswith(PREFIX) and _UID.fullmatch(uid)):
        raise missing
    try:
        row = context.store.workflow(uid)
    except NotFoundError:
        raise missing from None
    if not who.sees(row.namespace):
        raise missing
    who.require(role, row.namespace)
    return row


async def find_project(context: ApiContext, who: Identity, key: str) -> str:
    """Find a project for a change; the first use of an id by an admin of all makes it."""
    who.require(Role.MEMBER, key)
    project, made = await context.projects.find_or_make(who, key)
    if made:
        await context.audit.note(who, "make project", project=key, subject=key)
    return project.id


def body_of(kind: type[B]) -> Callable[[Request], Awaitable[B]]:
    """Give a dependency that reads the body as ``kind``; an empty one as an empty object."""

    async def read(request: Request) -> B:
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        raw = await request.body()
        if raw and media != "application/json":
            raise RequestError("unsupported_media_type", "bodies are application/json")
        return validated(kind, decoded(raw) if raw else {})

    return read


def decoded(raw: bytes) -> Any:
    """Read JSON; what is wrong with it is told with line and column."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise RequestError("parse_error", f"the body is not UTF-8: byte {error.start}") from None
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        place = {"path": "", "line": error.lineno, "column": error.colno, "message": error.msg}
        raise RequestError("parse_error", f"the body is not JSON: {error.msg}", [place]) from None
    except RecursionError:
        raise RequestError("parse_error", "the body is nested too deep") from None


def _no_constant(name: str) -> Any:
    raise RequestError("parse_error", f"{name} is no JSON value")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise RequestError("duplicate_key", f"the key {echo(key)!r} stands there twice")
        found[key] = value
    return found


def validated(kind: type[B], value: Any) -> B:
    """Read plain data as a model; all that is wrong with it is told at once."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        unknown = {each["type"] for each in errors} == {"extra_forbidden"}
        code = "unknown_field" if unknown else "invalid_input"
        raise invalid(code, faults(errors, value, kind)) from None


def invalid(code: str, found: Sequence[tuple[str, str]]) -> RequestError:
    """Give the error for values that are wrong, by path and message."""
    listed = [
        {"path": echo(path), "line": None, "column": None, "message": echo(message, MAX_MESSAGE)}
        for path, message in found
    ]
    first = listed[0]
    text = f"{first['path']}: {first['message']}" if first["path"] else str(first["message"])
    more = f" (and {len(listed) - 1} more)" if len(listed) > 1 else ""
    return RequestError(code, text + more, listed)
