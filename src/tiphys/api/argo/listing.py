"""Lists of workflows: selectors, pages, and answers that are written as they are read.

A continue token is ``place@moment``: the place in the list of what had been made by that moment
(when the list's first workflow was), so that workflows which come meanwhile shift nothing. To
clients it is opaque, as in Kubernetes.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

import msgspec
from starlette.responses import Response, StreamingResponse

from tiphys.api.argo.call import Call, read_moment
from tiphys.api.argo.fields import Fields
from tiphys.api.argo.show import workflow_text
from tiphys.errors import InvalidInputError, NotFoundError
from tiphys.store import Store, WorkflowFilter, WorkflowSummary

PAGE = 200
CHUNK = 64 * 1024
_TOKEN = re.compile(r"(?P<place>[0-9]{1,15})(@(?P<moment>[0-9.e+]{1,30})?)?", re.ASCII)
_FIELD = "listOptions.fieldSelector"


@dataclass(slots=True)
class Selection:
    """Which workflows a list or a watch is about, beyond what the store can tell."""

    name: str = ""
    how: str = "Exact"
    """Exact, Contains, Prefix or NotEquals."""
    namespace: str = ""
    started_after: float | None = None
    started_before: float | None = None
    count_rest: bool = False

    def take(self, part: str) -> None:
        """Take one requirement of a field selector."""
        if part.startswith("spec.startedAt"):
            after, found = part[14:15] == ">", read_moment(_FIELD, part[15:])
            if after:
                self.started_after = found
            else:
                self.started_before = found
            return
        key, _, value = part.replace("==", "=", 1).partition("=")
        if key == "metadata.namespace":
            self.namespace = value
        elif key in {"metadata.name", "metadata.name!"}:
            self.name = value
            self.how = "NotEquals" if key.endswith("!") else self.how
        elif key == "ext.showRemainingItemCount":
            self.count_rest = value.lower() == "true"
        else:
            raise InvalidInputError(f"{_FIELD}: cannot select by {part[:60]!r}")

    def admits(self, row: WorkflowSummary) -> bool:
        """Tell whether a workflow is among them."""
        return self._named(row.name) and self._started(row.started_at)

    def _named(self, name: str) -> bool:
        if not self.name:
            return True
        checks: dict[str, Callable[[], bool]] = {
            "Contains": lambda: self.name in name,
            "Prefix": lambda: name.startswith(self.name),
            "NotEquals": lambda: name != self.name,
        }
        return checks.get(self.how, lambda: name == self.name)()

    def _started(self, at: float | None) -> bool:
        after, before = self.started_after, self.started_before
        if after is None and before is None:
            return True
        return at is not None and (after is None or at > after) and (before is None or at < before)


@dataclass(slots=True)
class Query:
    """A list that somebody asked for."""

    wanted: WorkflowFilter
    selection: Selection
    fields: Fields
    now: float
    limit: int = 0
    offset: int = 0
    anchor: float | None = None
    """When the first workflow of the list was made."""


def read_selection(call: Call) -> Selection:
    """Read the field selector and what belongs to it."""
    selection = Selection(how=call.text("nameFilter") or "Exact")
    for part in call.text(_FIELD).split(","):
        if part.strip():
            selection.take(part.strip())
    prefix = call.text("namePrefix")
    if prefix:
        selection.name, selection.how = prefix, "Prefix"
    return selection


def read_query(call: Call, namespace: str, *, phases: tuple[str, ...] = ()) -> Query:
    """Read what kind of list is wanted, of the workflows in ``namespace`` ("": in all)."""
    selection = read_selection(call)
    if selection.namespace and namespace and selection.namespace != namespace:
        raise InvalidInputError(
            f"the namespaces {namespace!r} and {selection.namespace[:60]!r} contradict each other"
        )
    limit = call.number("listOptions.limit") or 0
    if limit < 0:
        raise InvalidInputError("listOptions.limit must not be negative")
    offset, anchor = _read_token(call.text("listOptions.continue"))
    narrow = selection.name and selection.how != "NotEquals"
    wanted = WorkflowFilter(
        phases=phases,
        namespace=namespace or selection.namespace,
        name_contains=selection.name if narrow else "",
        label_selector=call.text("listOptions.labelSelector"),
        since=call.moment("createdAfter"),
        before=None if anchor is None else math.nextafter(anchor, math.inf),
        finished_before=call.moment("finishedBefore"),
    )
    fields = Fields.of_items(call.text("fields"))
    return Query(wanted, selection, fields, call.context.host.clock.now(), limit, offset, anchor)


def _read_token(token: str) -> tuple[int, float | None]:
    if not token:
        return 0, None
    found = _TOKEN.fullmatch(token)
    if found is None:
        raise InvalidInputError("listOptions.continue is not a token of ours")
    return int(found["place"]), float(found["moment"]) if found["moment"] else None


def matching(store: Store, query: Query) -> Iterator[tuple[int, WorkflowSummary]]:
    """Yield the workflows of a list with their places, the newest first."""
    offset = query.offset
    while True:
        rows = store.workflows(query.wanted, limit=PAGE, offset=offset)
        for index, row in enumerate(rows):
            if query.selection.admits(row):
                yield offset + index, row
        if len(rows) < PAGE:
            return
        offset += PAGE


def _pieces(store: Store, query: Query) -> Iterator[bytes]:
    """Write the list piece by piece; the first piece raises what is wrong with the request."""
    rows = matching(store, query)
    following = next(rows, None)
    if following is not None and query.anchor is None and query.wanted.finished_before is None:
        query.anchor = following[1].created_at
    count, comma = 0, b""
    yield b'{"apiVersion":"argoproj.io/v1alpha1","kind":"WorkflowList","items":['
    while following is not None and (not query.limit or count < query.limit):
        try:
            row = store.workflow(following[1].uid)
            yield comma + workflow_text(store, row, query.fields)
            comma = b","
        except NotFoundError:
            pass  # Deleted since.
        count += 1
        following = next(rows, None)
    yield b'],"metadata":' + msgspec.json.encode(_meta(store, query, following)) + b"}"


def _meta(
    store: Store, query: Query, following: tuple[int, WorkflowSummary] | None
) -> dict[str, object]:
    meta: dict[str, object] = {"resourceVersion": str(int(query.now * 1000))}
    if following is not None:
        meta["continue"] = f"{following[0]}@{query.anchor or ''}"
    if query.selection.count_rest:
        place = following[0] if following else None
        rest = 0 if place is None else max(0, store.count_workflows(query.wanted) - place)
        meta["remainingItemCount"] = rest
    return meta


def _chunks(store: Store, query: Query) -> Iterator[bytes]:
    """Join pieces into chunks that are worth a trip between threads."""
    gathered: list[bytes] = []
    size = 0
    for piece in _pieces(store, query):
        gathered.append(piece)
        size += len(piece)
        if size >= CHUNK:
            yield b"".join(gathered)
            gathered, size = [], 0
    yield b"".join(gathered)


async def reply_list(call: Call, query: Query) -> Response:
    """Answer with a list, however long it is."""
    chunks = _chunks(call.context.store, query)
    first = await asyncio.to_thread(next, chunks)

    async def body() -> AsyncIterator[bytes]:
        yield first
        while chunk := await asyncio.to_thread(next, chunks, b""):
            yield chunk

    return StreamingResponse(body(), media_type="application/json")
