"""Watching workflows: what is there first, then every change, as Kubernetes' watches do it.

A workflow that comes to match the selectors is ``ADDED``, one that ceases to (or is gone) is
``DELETED``. States between two sends are left out; the last one never is.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from tiphys.api.argo.call import Call
from tiphys.api.argo.feed import Feed, Subscription
from tiphys.api.argo.fields import Fields
from tiphys.api.argo.listing import Query, matching, read_query
from tiphys.api.argo.show import workflow_text
from tiphys.api.argo.stream import ALIVE, Frames, reply_stream
from tiphys.errors import NotFoundError
from tiphys.service.access import Role
from tiphys.store import Store, WorkflowFilter, WorkflowRow, WorkflowSummary
from tiphys.store.selector import Requirement, parse_selector
from tiphys.wire.argo import COMPLETED_LABEL, PHASE_LABEL

if TYPE_CHECKING:
    from collections.abc import Mapping

PAUSE = 0.1
"""At least so many seconds between two looks; more where a look takes long."""
_ENDED = frozenset({"Succeeded", "Failed", "Error"})


@dataclass(slots=True)
class Watch:
    """One watch: its selectors, and what its reader knows."""

    store: Store
    query: Query
    requirements: tuple[Requirement, ...]
    only: str = ""
    """The uid, where one workflow is watched."""
    since: float = 0.0
    """The reader knows what was there at that time."""
    known: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Namespace and name by uid."""

    def initial(self) -> Iterator[bytes]:
        """Yield what is there."""
        if self.only:
            rows: Iterator[WorkflowSummary] = iter((self.store.workflow(self.only),))
        else:
            rows = (row for _, row in matching(self.store, self.query))
        for row in rows:
            if not self._admits(row):
                continue
            self.known[row.uid] = (row.namespace, row.name)
            if _changed_at(row) >= self.since:
                kind = "ADDED" if row.created_at >= self.since else "MODIFIED"
                if frame := self._frame(kind, row.uid):
                    yield frame

    def lost(self) -> bool:
        """Tell whether the one workflow is gone: others than we may have deleted it."""
        if not self.only or self.only not in self.known:
            return False
        try:
            return self.store.workflow(self.only).uid != self.only
        except NotFoundError:
            return True

    def look(self, uid: str) -> bytes | None:
        """Give what has become of a workflow; None where it does not concern the reader."""
        known = self.known.get(uid)
        try:
            row = self.store.workflow(uid)
        except NotFoundError:
            return None if known is None else self._gone(uid, *self.known.pop(uid))
        if self._admits(row):
            self.known[uid] = (row.namespace, row.name)
            return self._frame("MODIFIED" if known else "ADDED", uid)
        if known is None:
            return None
        del self.known[uid]
        return self._frame("DELETED", uid)

    def _admits(self, row: WorkflowSummary) -> bool:
        namespace = self.query.wanted.namespace
        if (self.only and row.uid != self.only) or namespace not in {"", row.namespace}:
            return False
        labels = _labels(row)
        return self.query.selection.admits(row) and all(
            _holds(each, labels) for each in self.requirements
        )

    def _frame(self, kind: str, uid: str) -> bytes | None:
        try:
            row: WorkflowRow = self.store.workflow(uid)
        except NotFoundError:
            return None
        text = workflow_text(self.store, row, self.query.fields)
        return b'{"type":"%s","object":%s}' % (kind.encode(), text)

    def _gone(self, uid: str, namespace: str, name: str) -> bytes:
        meta = {"name": name, "namespace": namespace, "uid": uid}
        gone = {"metadata": meta, "spec": {}, "status": {}}
        return msgspec.json.encode({"type": "DELETED", "object": gone})


def _labels(row: WorkflowSummary) -> Mapping[str, str]:
    if not row.phase:
        return row.labels
    completed = "true" if row.phase in _ENDED else "false"
    return {**row.labels, PHASE_LABEL: row.phase, COMPLETED_LABEL: completed}


def _holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.name)
    found = value is not None and (requirement.values is None or value in requirement.values)
    return found is requirement.wanted


def _changed_at(row: WorkflowSummary) -> float:
    """Give when a workflow changed last; one that is under way may do so at any time."""
    if row.phase not in _ENDED or row.finished_at is None:
        return float("inf")
    return row.finished_at


class Watching:
    """The routes of watches."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    async def workflows(self, call: Call) -> Response:
        """Watch the workflows of a namespace, or one of them."""
        watch = open_watch(call, call.namespace(Role.VIEWER))
        seconds = call.number("listOptions.timeoutSeconds")
        return await reply_stream(call, self._frames(watch, seconds))

    async def _frames(self, watch: Watch, seconds: int | None) -> Frames:
        with self._feed.subscribed(watch.only) as subscription:
            initial = watch.initial()
            # The headers go out at once, also where nothing is there yet.
            yield await asyncio.to_thread(next, initial, None)
            while frame := await asyncio.to_thread(next, initial, None):
                yield frame
            end = None if seconds is None else time.monotonic() + seconds
            async for each in _changes(watch, subscription, end):
                yield each


async def _changes(watch: Watch, subscription: Subscription, end: float | None) -> Frames:
    while end is None or time.monotonic() < end:
        wait = ALIVE if end is None else min(ALIVE, max(0.0, end - time.monotonic()))
        changed = await subscription.take(wait)
        if not changed:
            yield None
            changed = [watch.only] if watch.lost() else []
        began = time.monotonic()
        for uid in changed:
            frame = await asyncio.to_thread(watch.look, uid)
            if frame is not None:
                yield frame
        # A workflow of 10,000 nodes takes a while to write: it is sent the less often for it.
        await asyncio.sleep(max(PAUSE, 3 * (time.monotonic() - began)))


def open_watch(call: Call, namespace: str) -> Watch:
    """Read what is to be watched; ``@latest`` is the workflow that is so now."""
    query = read_query(call, namespace)
    query.fields = Fields.parse(call.text("fields"), below="result.object.")
    requirements = parse_selector(query.wanted.label_selector)
    only = ""
    selection = query.selection
    if selection.name and selection.how == "Exact":
        row = call.context.store.workflow(selection.name, namespace=query.wanted.namespace)
        only, query.selection = row.uid, replace(selection, name="")
    # Labels change while one watches: what counts is looked at for each change.
    query.wanted = WorkflowFilter(namespace=query.wanted.namespace)
    version = call.text("listOptions.resourceVersion")
    since = int(version) / 1000 if re.fullmatch("[0-9]{1,15}", version) else 0.0
    return Watch(call.context.store, query, requirements, only, since)
