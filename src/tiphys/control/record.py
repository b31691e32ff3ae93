"""What the loop puts on record.

runs and nodes as rows, one transaction a turn, on one writer thread.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec

from tiphys.control.task import priority_of
from tiphys.engine import command as cm
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.errors import StoreFullError, StoreUnavailableError
from tiphys.scheduling.admission import queue_of
from tiphys.spec import model
from tiphys.store import Store
from tiphys.store.row import (
    Batch,
    EventRow,
    MemoRow,
    NodeRow,
    ObjectRow,
    WorkflowHeader,
    WorkflowRow,
)
from tiphys.wire.node import encode_node

T = TypeVar("T")
RETRY_SECONDS = 0.5
MOST_METRICS = 10_000
_ROOM = b" " * 160
"""For what its end adds to a node, so that its row keeps its length: a row that grows has SQLite
split the page that is full of its neighbours, and write three pages more."""
_encode = msgspec.json.Encoder().encode


class Ledger:
    """The store as the loop sees it. All writes go through one thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="writer")
        self._beside = True
        self._memos: dict[tuple[str, str, str], tuple[model.Outputs | None, float]] = {}
        self._new_memos: list[MemoRow] = []
        self._submitted: list[WorkflowRow] = []
        self._aside: list[WorkflowHeader] = []
        self._objects: list[ObjectRow] = []
        self._deleted: list[str] = []
        self._forgotten: list[tuple[str, str, str]] = []
        self._amended: list[NodeRow] = []
        self._events: list[EventRow] = []
        self.away: StoreUnavailableError | None = None
        """What is wrong while the database cannot be reached."""
        self.say: Callable[[str], None] = _unsaid
        """Tells people that it cannot, and that it can again."""
        self.metrics: deque[tuple[str, cm.EmitMetric]] = deque(maxlen=MOST_METRICS)
        """The latest values of metrics that workflows define."""

    @property
    def store(self) -> Store:
        """What it writes to; others only read there."""
        return self._store

    def submit(self, row: WorkflowRow) -> None:
        """Put a new workflow into the next commit."""
        self._submitted.append(row)

    def keep(self, row: ObjectRow) -> None:
        """Keep an object, with the next commit."""
        self._objects.append(row)

    def forget(self, kind: str, namespace: str, name: str) -> None:
        """Remove an object, with the next commit."""
        self._forgotten.append((kind, namespace, name))

    def learn(self, rows: Iterable[ObjectRow]) -> None:
        """Keep objects, and forget those that have no body any more, with the next commit."""
        for row in rows:
            if row.body:
                self.keep(row)
            else:
                self.forget(row.kind, row.namespace, row.name)

    def delete(self, uid: str) -> None:
        """Forget a workflow, with the next commit."""
        self._deleted.append(uid)

    async def sweep(self) -> None:
        """Remove what is left of deleted workflows, a part at a time."""
        while await self._in_thread(self._store.sweep):
            pass

    def quarantine(self, row: WorkflowRow, why: str) -> None:
        """Put a workflow that cannot be read aside, with the next commit."""
        self._aside.append(msgspec.structs.replace(_same_header(row), quarantine=why))

    def annotate(self, row: WorkflowRow, annotations: Mapping[str, str]) -> None:
        """Add annotations to a workflow that has ended, with the next commit."""
        joined = {**row.annotations, **annotations}
        self._aside.append(msgspec.structs.replace(_same_header(row), annotations=joined))

    def rewrite(self, row: WorkflowRow) -> None:
        """Put the documents of a workflow that has ended on record anew, with the next commit."""
        header = _same_header(row)
        self._aside.append(msgspec.structs.replace(header, manifest=row.manifest, spec=row.spec))

    def amend(self, nodes: Iterable[NodeRow]) -> None:
        """Change nodes of a workflow that has ended, with the next commit."""
        self._amended.extend(nodes)

    def note(self, event: EventRow) -> None:
        """Keep what happened for people to read, with the next commit."""
        self._events.append(event)

    async def commit(
        self,
        changed: Mapping[str, tuple[Run, Mapping[str, Node]]],
        headers: Mapping[str, Run],
        removed: list[tuple[str, str]],
        full: Callable[[StoreFullError, set[str]], None],
    ) -> None:
        """Write everything in one transaction; return when it is durable.

        A database that is away is waited for. With no room on the disk, new workflows are given up
        (``full`` is told which), and the rest is tried again until there is room: nothing is
        performed before it is on record, and nothing that was acknowledged is forgotten.
        """
        batch = Batch(
            submitted=self._submitted,
            headers=[*self._aside, *(header_of(run) for run in headers.values())],
            nodes=[*self._amended, *_node_rows(changed)],
            events=self._events,
            removed=removed,
            memos=self._new_memos,
            objects=self._objects,
            objects_removed=self._forgotten,
            deleted=self._deleted,
        )
        if not batch:
            return
        self._submitted, self._new_memos, self._aside = [], [], []
        self._objects, self._deleted, self._forgotten = [], [], []
        self._amended, self._events = [], []
        while True:
            try:
                await self._in_thread(lambda: self._store.commit(batch))
            except StoreFullError as error:
                full(error, _give_up_new(batch))
                await asyncio.sleep(RETRY_SECONDS)
            except StoreUnavailableError as error:
                self._wait_for(error)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                self._wait_for(None)
                return

    def _wait_for(self, error: StoreUnavailableError | None) -> None:
        if error is not None and self.away is None:
            self.say(f"waiting for the store: {error}")
        elif error is None and self.away is not None:
            self.say("the store is back")
        self.away = error

    def write_here(self) -> None:
        """Write in the loop's own thread from now on: for a loop that serves nobody else, and a
        store that is on this machine, two changes of threads a turn are for nothing."""
        self._beside = False

    async def _in_thread(self, work: Callable[[], T]) -> T:
        if not self._beside:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def save_memo(self, run: Run, command: cm.SaveMemo, now: float) -> None:
        """Remember outputs; they can be read at once and are durable with the next commit."""
        self._memos[run.namespace, command.cache, command.key] = (command.outputs, now)
        self._new_memos.append(
            MemoRow(
                namespace=run.namespace,
                cache=command.cache,
                key=command.key,
                node_id=command.node,
                outputs=_encode(command.outputs or model.Outputs()),
                at=now,
            )
        )

    def read_memo(self, run: Run, command: cm.ReadMemo, now: float) -> model.Outputs | None:
        """Give remembered outputs that are young enough."""
        key = (run.namespace, command.cache, command.key)
        known = self._memos.get(key)
        if known is None:
            try:
                stored = self._store.memo(*key)
            except StoreUnavailableError:
                return None  # The loop cannot stand still here; to do a thing again is no mistake.
            if stored is None:
                return None
            read = msgspec.json.decode(stored.outputs, type=model.Outputs)
            known = self._memos[key] = (read, stored.at)
        outputs, at = known
        if command.max_age is not None and now - at > command.max_age:
            return None
        return outputs or model.Outputs()

    def close(self) -> None:
        """Finish writing and close the store."""
        self._thread.submit(self._store.close).result()
        self._thread.shutdown()


def _unsaid(_: str) -> None:
    """Tell nobody."""


def _give_up_new(batch: Batch) -> set[str]:
    """Take new workflows out of a batch that there is no room for; tell which."""
    refused = {row.uid for row in batch.submitted}
    batch.submitted = []
    batch.headers = [header for header in batch.headers if header.uid not in refused]
    batch.nodes = [node for node in batch.nodes if node.uid not in refused]
    return refused


def _node_rows(changed: Mapping[str, tuple[Run, Mapping[str, Node]]]) -> Iterator[NodeRow]:
    for uid, (_, nodes) in changed.items():
        for node in nodes.values():
            yield node_row(uid, node)


def _same_header(row: WorkflowRow) -> WorkflowHeader:
    """Give a header that changes nothing."""
    return WorkflowHeader(
        uid=row.uid,
        phase=row.phase,
        message=row.message,
        started_at=row.started_at,
        finished_at=row.finished_at,
        progress=row.progress,
        shutdown=row.shutdown,
        suspended=row.suspended,
        starts=row.starts,
    )


def header_of(run: Run) -> WorkflowHeader:
    """Give the fields of a run that change."""
    return WorkflowHeader(
        uid=run.uid,
        phase=run.phase,
        message=run.message,
        started_at=run.started_at,
        finished_at=run.finished_at,
        progress=progress_of(run),
        labels=dict(run.labels),
        annotations=dict(run.annotations),
        outputs=None if run.outputs is None else _encode(run.outputs),
        shutdown=str(run.shutdown),
        suspended=run.suspended,
        starts=run.starts,
    )


def progress_of(run: Run) -> str:
    """Give ``done/all`` over the pods there are, as Argo counts it."""
    return f"{run.pods_done}/{run.pods}"


def node_row(uid: str, node: Node) -> NodeRow:
    """Write a node as a row."""
    body = encode_node(node)
    return NodeRow(
        uid=uid,
        id=node.id,
        seq=node.ours.seq,
        phase=str(node.phase),
        type=str(node.type),
        name=node.name,
        body=body if node.ended else body + _ROOM,
    )


def row_of(
    run: Run,
    *,
    manifest: model.Workflow,
    library: bytes,
    source: str = "",
) -> WorkflowRow:
    """Write a run that is new as a row."""
    spec = _encode(run.spec)
    if run.spec is manifest.spec:  # Most are, and some are large: to write it twice takes time.
        manifest = msgspec.structs.replace(manifest, spec=msgspec.Raw(spec))
    return WorkflowRow(
        uid=run.uid,
        name=run.name,
        namespace=run.namespace,
        created_at=run.created_at,
        priority=priority_of(run),
        queue=queue_of(run.labels, run.annotations),
        labels=dict(run.labels),
        annotations=dict(run.annotations),
        suspended=run.suspended,
        manifest=_encode(manifest),
        spec=spec,
        library=library,
        source=source,
    )
