"""What is read from the store, over any connection; lists are in `listing`. Nothing here writes.

A row that cannot be decoded does not stop the others: it comes back with what could be read of it,
and ``quarantine`` says what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from tiphys.errors import ConflictError, NotFoundError
from tiphys.store import query
from tiphys.store.link import Link
from tiphys.store.row import (
    EventRow,
    NodeRow,
    ObjectRow,
    WorkflowRow,
    WorkflowSummary,
)
from tiphys.store.schema import SEQ_BITS
from tiphys.store.shared import restored
from tiphys.store.writing import bounds

LATEST = "@latest"
_SEQ_MASK = (1 << SEQ_BITS) - 1
_labels = msgspec.json.Decoder(dict[str, str])

Some = TypeVar("Some", bound=WorkflowSummary)


def decode_row(columns: Sequence[str], values: Sequence[Any], kind: type[Some]) -> Some:
    """Build a row; a value that is not what it should be puts the row into quarantine."""
    fields = dict(zip(columns, values, strict=True))
    problems = []
    for name in ("labels", "annotations"):
        try:
            fields[name] = _labels.decode(fields[name])
        except (msgspec.DecodeError, TypeError) as error:
            problems.append(f"{name}: {error}")
            fields[name] = {}
    fields["suspended"] = bool(fields["suspended"])
    if not problems:
        try:
            row = msgspec.convert(fields, kind)
        except msgspec.ValidationError:
            pass
        else:
            return _whole(row)
    return _salvage(fields, kind, problems)


def _whole(row: Some) -> Some:
    if isinstance(row, WorkflowRow):
        row.spec = restored(row.manifest, row.spec)
    return row


def _salvage(fields: dict[str, Any], kind: type[Some], problems: list[str]) -> Some:
    """Keep the fields that are sound, one by one."""
    sound: dict[str, Any] = {"uid": "", "name": "", "namespace": "", "created_at": 0.0}
    for field in msgspec.structs.fields(kind):
        if field.name not in fields:
            continue
        try:
            sound[field.name] = msgspec.convert(fields[field.name], field.type)
        except msgspec.ValidationError as error:
            problems.append(f"{field.name}: {error}")
    sound["quarantine"] = "the stored row is damaged: " + "; ".join(problems)
    return _whole(kind(**sound))


def find_workflow(connection: Link, key: str, namespace: str) -> WorkflowRow:
    """Find a workflow by uid, by name, or as ``@latest``."""
    found = _latest(connection, namespace) if key == LATEST else _named(connection, key, namespace)
    if found is None:
        raise NotFoundError(_not_found(connection, key, namespace))
    return decode_row(query.ROW_COLUMNS, found, WorkflowRow)


def _latest(connection: Link, namespace: str) -> Any:
    if namespace:
        number = connection.execute(query.LATEST_NUMBER_IN, (namespace,)).fetchone()
    else:
        number = connection.execute(query.LATEST_NUMBER).fetchone()
    found = connection.read(query.WORKFLOW_BY_NUMBER, number) if number else []
    return found[0] if found else None


def _named(connection: Link, key: str, namespace: str) -> Any:
    rows = connection.read(query.WORKFLOW_BY_UID, (key,))
    rows = rows or connection.read(query.WORKFLOWS_BY_NAME, (key,))
    rows = [row for row in rows if namespace in {"", row[2]}]
    if len(rows) > 1:
        # Which ones is not told: whoever asks need not know of all of them.
        raise ConflictError(f"there are workflows named {key!r} in several namespaces: name one")
    return rows[0] if rows else None


def _not_found(connection: Link, key: str, namespace: str) -> str:
    """Say that there is none, with close names of the namespace: others' are not told."""
    where_text = f" in namespace {namespace}" if namespace else ""
    if key == LATEST:
        return f"there are no workflows{where_text}"
    close = _close_names(connection, key, namespace) if namespace else []
    hint = f"; did you mean {', '.join(close)}?" if close else ""
    return f"there is no workflow {key[:200]!r}{where_text}{hint}"


def _close_names(connection: Link, key: str, namespace: str) -> list[str]:
    from difflib import get_close_matches  # noqa: PLC0415 - only needed for this one message

    names = (row[0] for row in connection.read(query.RECENT_NAMES_IN, (namespace,)))
    return get_close_matches(key, [name for name in names if isinstance(name, str)])


def list_unfinished(connection: Link) -> list[WorkflowRow]:
    """List everything that has not ended, with its documents, in the order of submission."""
    try:
        found = connection.read(query.UNFINISHED)
    except connection.damage:
        return _unfinished_one_by_one(connection)
    return [decode_row(query.ROW_COLUMNS, row, WorkflowRow) for row in found]


def _unfinished_one_by_one(connection: Link) -> list[WorkflowRow]:
    """Read around damaged pages: a workflow whose documents cannot be read is quarantined."""
    numbers = sorted(row[0] for row in connection.execute(query.UNFINISHED_NUMBERS))
    rows = []
    for number in numbers:
        try:
            (found,) = connection.read(query.WORKFLOW_BY_NUMBER, (number,))
            rows.append(decode_row(query.ROW_COLUMNS, found, WorkflowRow))
        except connection.damage as error:
            rows.append(_unreadable(connection, number, error))
    return rows


def _unreadable(connection: Link, number: int, error: Exception) -> WorkflowRow:
    fields: dict[str, Any] = {"uid": "", "name": f"number {number}", "namespace": ""}
    try:
        (found,) = connection.read(query.SUMMARY_BY_NUMBER, (number,))
        summary = decode_row(query.SUMMARY_COLUMNS, found, WorkflowSummary)
        fields = msgspec.structs.asdict(summary)
    except connection.damage:
        fields["created_at"] = 0.0
    fields["quarantine"] = f"the store is damaged here: {error}"
    return WorkflowRow(**fields)


def number_of(connection: Link, uid: str) -> int | None:
    """Find the number of a workflow; events of none are under 0."""
    if not uid:
        return 0
    found = connection.execute(query.NUMBER_OF, (uid,)).fetchone()
    return found[0] if found else None


def nodes_page(connection: Link, uid: str, number: int, after: int, size: int) -> list[NodeRow]:
    """List up to ``size`` nodes behind place ``after``, in the order of creation."""
    first, end = bounds(number)
    found = connection.read(query.NODES_PAGE, (first + after, end, size))
    return [_node(uid, row) for row in found]


def find_node(connection: Link, uid: str, number: int, node_id: str) -> NodeRow | None:
    """Find a node by id. There is no index on ids (it would double the cost of a new node):
    the workflow's own nodes are searched."""
    found = connection.read(query.NODE_BY_ID, (*bounds(number), node_id))
    return _node(uid, found[0]) if found else None


def _node(uid: str, row: tuple[Any, ...]) -> NodeRow:
    key, node_id, phase, kind, name, body = row
    return NodeRow(
        uid=uid, seq=key & _SEQ_MASK, id=node_id, phase=phase, type=kind, name=name, body=body
    )


def node_phases(connection: Link, number: int) -> dict[str, int]:
    """Count the nodes of a workflow by phase."""
    return dict(connection.execute(query.NODE_PHASES, bounds(number)).fetchall())


def list_events(
    connection: Link, uid: str, number: int, bound: int, limit: int, *, latest: bool = False
) -> list[EventRow]:
    """List events behind a number; or those before it, the ``latest`` first."""
    wanted = query.LATEST_EVENTS if latest else query.EVENTS
    found = connection.read(wanted, (number, bound, limit))
    return [
        EventRow(uid=uid, number=n, at=at, kind=kind, node=node, text=text)
        for n, at, kind, node, text in found
    ]


def list_objects(connection: Link, kind: str | None) -> list[ObjectRow]:
    """List objects, of one kind or all."""
    if kind is None:
        found = connection.read(query.OBJECTS)
    else:
        found = connection.read(query.OBJECTS_OF_KIND, (kind,))
    return [
        ObjectRow(kind=kind, namespace=namespace, name=name, body=body, at=at)
        for kind, namespace, name, body, at in found
    ]
