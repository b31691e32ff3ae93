"""What one transaction of the owner writes. Works in the caller's transaction; never commits.

Rows go to the driver as tuples by ``executemany``: per row there is no other Python than one tuple.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import msgspec

from tiphys.errors import NameTakenError, StoreError
from tiphys.store import query
from tiphys.store.link import Link
from tiphys.store.row import Batch, EventRow, NodeRow, WorkflowHeader, WorkflowRow
from tiphys.store.schema import SEQ_BITS
from tiphys.store.shared import shortened

SWEEP_SIZE = 4000
"""How many rows of deleted workflows one transaction removes: a few milliseconds' worth."""

_REMEMBERED = 100_000

_json = msgspec.json.Encoder()


def text_of(value: object) -> str:
    """Give the JSON text of labels and the like."""
    return _json.encode(value).decode()


class Numbers:
    """The whole numbers behind the uids of workflows, remembered by the one writer."""

    def __init__(self, connection: Link) -> None:
        self._connection = connection
        self._known: dict[str, int] = {"": 0}
        self._last: int = connection.execute(query.LAST_NUMBER).fetchone()[0] or 0
        self.missing: set[str] = set()
        """Uids asked for that no workflow has."""
        self._written: dict[tuple[str, int], object] = {}

    def is_new(self, kind: str, number: int, value: object) -> bool:
        """Tell whether it is not what was written of a workflow last, and remember it: headers come
        with every turn, and most of what they say stays as it is."""
        key = (kind, number)
        if self._written.get(key) == value:
            return False
        self._written[key] = value
        return True

    def next(self) -> int:
        """Give a number that no workflow ever had, or has left traces of."""
        self._last += 1
        return self._last

    def learn(self, uid: str, number: int) -> None:
        """Remember the number of a new workflow."""
        self._known[uid] = number

    def of(self, uid: str) -> int | None:
        """Find the number of a workflow."""
        number = self._known.get(uid)
        if number is None:
            found = self._connection.execute(query.NUMBER_OF, (uid,)).fetchone()
            if found is None:
                self.missing.add(uid)
                return None
            number = self._known[uid] = found[0]
        return number

    def forget(self, uids: Iterable[str] | None = None) -> None:
        """Forget some, or all: what a transaction that was undone had taught, or too many."""
        self._written.clear()
        if uids is None:
            self._known = {"": 0}
        else:
            for uid in uids:
                self._known.pop(uid, None)

    def trim(self) -> None:
        """Keep memory bounded."""
        if len(self._known) > _REMEMBERED or len(self._written) > _REMEMBERED:
            self.forget()


def write(connection: Link, batch: Batch, numbers: Numbers) -> None:
    """Write everything in ``batch``."""
    if batch.submitted:
        _insert_workflows(connection, batch.submitted, numbers)
    if batch.headers:
        _update_headers(connection, batch.headers, numbers)
    if batch.removed:
        # First: what a retry makes anew may have the ids and the places of what is gone.
        _remove_nodes(connection, batch.removed, numbers)
    if batch.nodes:
        _upsert_nodes(connection, batch.nodes, numbers)
    if batch.memos:
        rows = [(m.namespace, m.cache, m.key, m.node_id, m.outputs, m.at) for m in batch.memos]
        connection.executemany(query.UPSERT_MEMO, rows)
    if batch.events:
        _append_events(connection, batch.events, numbers)
    if batch.objects:
        things = [(o.kind, o.namespace, o.name, o.body, o.at) for o in batch.objects]
        connection.executemany(query.UPSERT_OBJECT, things)
    if batch.objects_removed:
        connection.executemany(query.DELETE_OBJECT, batch.objects_removed)
    if batch.deleted:
        _delete_workflows(connection, batch.deleted, numbers)
        sweep(connection, SWEEP_SIZE)


def _insert_workflows(connection: Link, rows: list[WorkflowRow], numbers: Numbers) -> None:
    numbered = [(numbers.next(), row) for row in rows]
    inserted = [(number, *_columns(row)) for number, row in numbered]
    connection.executemany(query.INSERT_WORKFLOW, inserted)
    for number, row in numbered:
        numbers.learn(row.uid, number)
    connection.executemany(
        query.INSERT_DOCUMENTS,
        [
            (n, row.manifest, shortened(row.manifest, row.spec), row.library, row.outputs)
            for n, row in numbered
        ],
    )
    connection.executemany(
        query.INSERT_LABEL,
        [
            (name, value, row.created_at, number)
            for number, row in numbered
            for name, value in row.labels.items()
        ],
    )


def _columns(row: WorkflowRow) -> tuple[object, ...]:
    return (
        row.uid,
        row.name,
        row.namespace,
        row.phase,
        row.message,
        row.created_at,
        row.started_at,
        row.finished_at,
        row.priority,
        row.queue,
        row.progress,
        text_of(row.labels),
        text_of(row.annotations),
        row.shutdown,
        int(row.suspended),
        row.starts,
        row.source,
        row.quarantine,
    )


def _update_headers(connection: Link, headers: list[WorkflowHeader], numbers: Numbers) -> None:
    known = [(n, header) for header in headers if (n := numbers.of(header.uid)) is not None]
    connection.executemany(query.UPDATE_HEADER, [_header_values(n, h) for n, h in known])
    indexed = [(n, (h.phase, h.finished_at, h.queue)) for n, h in known]
    changed = [
        (*values, n, *values) for n, values in indexed if numbers.is_new("indexed", n, values)
    ]
    if changed:
        connection.executemany(query.UPDATE_INDEXED, changed)
    documents = [
        (h.manifest, _spec_of(h), h.outputs, h.outputs, n)
        for n, h in known
        if not (h.outputs is None and h.spec is None and h.manifest is None)
    ]
    if documents:
        connection.executemany(query.UPDATE_DOCUMENTS, documents)
    for number, header in known:
        if header.labels is not None and numbers.is_new("labels", number, header.labels):
            _relabel(connection, number, header.labels)


def _spec_of(header: WorkflowHeader) -> bytes | None:
    if header.manifest is None:
        return header.spec
    if header.spec is None:
        raise StoreError("a manifest changes together with its spec")
    return shortened(header.manifest, header.spec)


def _header_values(number: int, h: WorkflowHeader) -> tuple[object, ...]:
    return (
        h.message,
        h.started_at,
        h.progress,
        h.shutdown,
        int(h.suspended),
        h.starts,
        h.priority,
        h.quarantine,
        None if h.annotations is None else text_of(h.annotations),
        number,
    )


def _relabel(connection: Link, number: int, labels: dict[str, str]) -> None:
    stored, created_at = connection.execute(query.LABELS_OF, (number,)).fetchone()
    text = text_of(labels)
    if stored == text:
        return
    _drop_labels(connection, number, stored, created_at)
    rows = [(name, value, created_at, number) for name, value in labels.items()]
    connection.executemany(query.INSERT_LABEL, rows)
    connection.execute(query.UPDATE_LABELS, (text, number))


def _drop_labels(connection: Link, number: int, stored: str, created_at: float) -> None:
    try:
        known = msgspec.json.decode(stored, type=dict[str, str])
    except msgspec.DecodeError:
        # The text is damaged: search for the labels instead of asking it.
        connection.execute(query.DELETE_ALL_LABELS, (number,))
        return
    rows = [(name, value, created_at, number) for name, value in known.items()]
    connection.executemany(query.DELETE_LABEL, rows)


def _upsert_nodes(connection: Link, nodes: list[NodeRow], numbers: Numbers) -> None:
    known = {uid: numbers.of(uid) for uid in {node.uid for node in nodes}}
    rows = [
        ((number << SEQ_BITS) + node.seq, node.id, node.phase, node.type, node.name, node.body)
        for node in nodes
        if (number := known[node.uid]) is not None
    ]
    if rows and connection.executemany(query.UPSERT_NODE, rows).rowcount != len(rows):
        raise StoreError("two nodes of a workflow were given the same place in its order")


def _remove_nodes(connection: Link, removed: list[tuple[str, str]], numbers: Numbers) -> None:
    unwanted: dict[str, set[str]] = {}
    for uid, node_id in removed:
        unwanted.setdefault(uid, set()).add(node_id)
    for uid, ids in unwanted.items():
        number = numbers.of(uid)
        if number is not None:
            found = connection.execute(query.NODE_IDS, bounds(number)).fetchall()
            rows = [(key,) for key, node_id in found if node_id in ids]
            connection.executemany(query.DELETE_NODE, rows)


def _append_events(connection: Link, events: list[EventRow], numbers: Numbers) -> None:
    rows = [
        (number, event.at, event.kind, event.node, event.text)
        for event in events
        if (number := numbers.of(event.uid)) is not None
    ]
    connection.executemany(query.INSERT_EVENT, rows)


def _delete_workflows(connection: Link, uids: list[str], numbers: Numbers) -> None:
    found = [(number,) for uid in dict.fromkeys(uids) if (number := numbers.of(uid)) is not None]
    for (number,) in found:
        stored, created_at = connection.execute(query.LABELS_OF, (number,)).fetchone()
        _drop_labels(connection, number, stored, created_at)
    for text in (query.DELETE_WORKFLOW, query.DELETE_DOCUMENTS, query.INSERT_GARBAGE):
        connection.executemany(text, found)
    numbers.forget(uids)


def sweep(connection: Link, limit: int) -> bool:
    """Remove up to ``limit`` rows of deleted workflows; tell whether more are left."""
    while limit > 0:
        (number,) = connection.execute(query.FIRST_GARBAGE).fetchone()
        if number is None:
            return False
        limit -= connection.execute(query.SWEEP_NODES, (*bounds(number), limit)).rowcount
        if limit > 0:
            limit -= connection.execute(query.SWEEP_EVENTS, (number, limit)).rowcount
        if limit > 0:
            connection.execute(query.DELETE_GARBAGE, (number,))
            limit -= 1
    return True


def has_garbage(connection: Link) -> bool:
    """Tell whether deleted workflows left anything."""
    return connection.execute(query.FIRST_GARBAGE).fetchone()[0] is not None


def blame(connection: Link, batch: Batch) -> None:
    """Raise NameTakenError for the first new workflow of a refused batch that cannot be new.

    Both the name and the uid are unique; a uid that is met again is the same mistake.
    """
    seen: set[object] = set()
    for row in batch.submitted:
        name = (row.name, row.namespace)
        known = connection.execute(query.NUMBER_OF_NAME, name).fetchone()
        known = known or connection.execute(query.NUMBER_OF, (row.uid,)).fetchone()
        if known or name in seen or row.uid in seen:
            raise NameTakenError(row.name, row.namespace, row.uid)
        seen |= {name, row.uid}


def bounds(number: int) -> tuple[int, int]:
    """Give the first node key of a workflow, and the first behind it."""
    return number << SEQ_BITS, (number + 1) << SEQ_BITS


def touched(batch: Batch) -> Iterable[str]:
    """Name the workflows whose numbers a transaction may have learned."""
    return chain((row.uid for row in batch.submitted), batch.deleted)
