"""What is read from the store, over any connection. Nothing here writes.

A row that cannot be decoded does not stop the others: it comes back with what could be read of it,
and ``quarantine`` says what is wrong.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from tiphys.errors import ConflictError, NotFoundError
from tiphys.store import query
from tiphys.store.filter import where
from tiphys.store.row import (
    EventRow,
    NodeRow,
    ObjectRow,
    WorkflowFilter,
    WorkflowRow,
    WorkflowSummary,
)
from tiphys.store.schema import SEQ_BITS
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
            return msgspec.convert(fields, kind)
        except msgspec.ValidationError:
            pass
    return _salvage(fields, kind, problems)


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
    return kind(**sound)


def fetch(connection: sqlite3.Connection, text: str, values: Sequence[object] = ()) -> list[Any]:
    """Read all rows; a text that is not UTF-8 is read with marks in place of the bad bytes."""
    try:
        return connection.execute(text, values).fetchall()
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
    connection.text_factory = _lenient
    try:
        return connection.execute(text, values).fetchall()
    finally:
        connection.text_factory = str


def _lenient(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def list_workflows(
    connection: sqlite3.Connection,
    wanted: WorkflowFilter,
    limit: int,
    offset: int,
    *,
    newest_first: bool,
) -> list[WorkflowSummary]:
    """List workflows in the order of their creation."""
    clause = where(wanted)
    way = "DESC" if newest_first else "ASC"
    text = (
        f"{query.SELECT_SUMMARY}{clause.text} ORDER BY {clause.at} {way},"
        f" {clause.number} {way} LIMIT ? OFFSET ?"
    )
    found = fetch(connection, text, (*clause.values, limit, offset))
    return [decode_row(query.SUMMARY_COLUMNS, row, WorkflowSummary) for row in found]


def count_workflows(connection: sqlite3.Connection, wanted: WorkflowFilter) -> int:
    """Count workflows."""
    clause = where(wanted)
    found = connection.execute(query.COUNT_WORKFLOWS + clause.text, clause.values).fetchone()
    return int(found[0])


def count_by_phase(connection: sqlite3.Connection, wanted: WorkflowFilter) -> dict[str, int]:
    """Count workflows by phase."""
    clause = where(wanted)
    text = f"{query.COUNT_BY_PHASE}{clause.text} GROUP BY w.phase"
    return dict(connection.execute(text, clause.values).fetchall())


def find_workflow(connection: sqlite3.Connection, key: str, namespace: str) -> WorkflowRow:
    """Find a workflow by uid, by name, or as ``@latest``."""
    found = _latest(connection, namespace) if key == LATEST else _named(connection, key, namespace)
    if found is None:
        raise NotFoundError(_not_found(connection, key, namespace))
    return decode_row(query.ROW_COLUMNS, found, WorkflowRow)


def _latest(connection: sqlite3.Connection, namespace: str) -> Any:
    if namespace:
        number = connection.execute(query.LATEST_NUMBER_IN, (namespace,)).fetchone()
    else:
        number = connection.execute(query.LATEST_NUMBER).fetchone()
    found = fetch(connection, query.WORKFLOW_BY_NUMBER, number) if number else []
    return found[0] if found else None


def _named(connection: sqlite3.Connection, key: str, namespace: str) -> Any:
    rows = fetch(connection, query.WORKFLOW_BY_UID, (key,))
    rows = rows or fetch(connection, query.WORKFLOWS_BY_NAME, (key,))
    rows = [row for row in rows if namespace in {"", row[2]}]
    if len(rows) > 1:
        places = ", ".join(sorted(str(row[2]) for row in rows))
        raise ConflictError(f"there are workflows named {key!r} in several namespaces: {places}")
    return rows[0] if rows else None


def _not_found(connection: sqlite3.Connection, key: str, namespace: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only needed for this one message

    where_text = f" in namespace {namespace}" if namespace else ""
    if key == LATEST:
        return f"there are no workflows{where_text}"
    names = (row[0] for row in fetch(connection, query.RECENT_NAMES))
    close = get_close_matches(key, [name for name in names if isinstance(name, str)])
    hint = f"; did you mean {', '.join(close)}?" if close else ""
    return f"there is no workflow {key[:200]!r}{where_text}{hint}"


def list_unfinished(connection: sqlite3.Connection) -> list[WorkflowRow]:
    """List everything that has not ended, with its documents, in the order of submission."""
    try:
        found = fetch(connection, query.UNFINISHED)
    except sqlite3.DatabaseError:
        return _unfinished_one_by_one(connection)
    return [decode_row(query.ROW_COLUMNS, row, WorkflowRow) for row in found]


def _unfinished_one_by_one(connection: sqlite3.Connection) -> list[WorkflowRow]:
    """Read around damaged pages: a workflow whose documents cannot be read is quarantined."""
    numbers = sorted(row[0] for row in connection.execute(query.UNFINISHED_NUMBERS))
    rows = []
    for number in numbers:
        try:
            (found,) = fetch(connection, query.WORKFLOW_BY_NUMBER, (number,))
            rows.append(decode_row(query.ROW_COLUMNS, found, WorkflowRow))
        except sqlite3.DatabaseError as error:
            rows.append(_unreadable(connection, number, error))
    return rows


def _unreadable(connection: sqlite3.Connection, number: int, error: Exception) -> WorkflowRow:
    fields: dict[str, Any] = {"uid": "", "name": f"number {number}", "namespace": ""}
    try:
        (found,) = fetch(connection, query.SUMMARY_BY_NUMBER, (number,))
        summary = decode_row(query.SUMMARY_COLUMNS, found, WorkflowSummary)
        fields = msgspec.structs.asdict(summary)
    except sqlite3.DatabaseError:
        fields["created_at"] = 0.0
    fields["quarantine"] = f"the store is damaged here: {error}"
    return WorkflowRow(**fields)


def number_of(connection: sqlite3.Connection, uid: str) -> int | None:
    """Find the number of a workflow; events of none are under 0."""
    if not uid:
        return 0
    found = connection.execute(query.NUMBER_OF, (uid,)).fetchone()
    return found[0] if found else None


def nodes_page(
    connection: sqlite3.Connection, uid: str, number: int, after: int, size: int
) -> list[NodeRow]:
    """List up to ``size`` nodes behind place ``after``, in the order of creation."""
    first, end = bounds(number)
    found = fetch(connection, query.NODES_PAGE, (first + after, end, size))
    return [_node(uid, row) for row in found]


def find_node(
    connection: sqlite3.Connection, uid: str, number: int, node_id: str
) -> NodeRow | None:
    """Find a node by id. There is no index on ids (it would double the cost of a new node):
    the workflow's own nodes are searched."""
    found = fetch(connection, query.NODE_BY_ID, (*bounds(number), node_id))
    return _node(uid, found[0]) if found else None


def _node(uid: str, row: tuple[Any, ...]) -> NodeRow:
    key, node_id, phase, kind, name, body = row
    return NodeRow(
        uid=uid, seq=key & _SEQ_MASK, id=node_id, phase=phase, type=kind, name=name, body=body
    )


def node_phases(connection: sqlite3.Connection, number: int) -> dict[str, int]:
    """Count the nodes of a workflow by phase."""
    return dict(connection.execute(query.NODE_PHASES, bounds(number)).fetchall())


def list_events(
    connection: sqlite3.Connection, uid: str, number: int, after: int, limit: int
) -> list[EventRow]:
    """List events behind number ``after``."""
    found = fetch(connection, query.EVENTS, (number, after, limit))
    return [
        EventRow(uid=uid, number=n, at=at, kind=kind, node=node, text=text)
        for n, at, kind, node, text in found
    ]


def list_objects(connection: sqlite3.Connection, kind: str | None) -> list[ObjectRow]:
    """List objects, of one kind or all."""
    if kind is None:
        found = fetch(connection, query.OBJECTS)
    else:
        found = fetch(connection, query.OBJECTS_OF_KIND, (kind,))
    return [
        ObjectRow(kind=kind, namespace=namespace, name=name, body=body, at=at)
        for kind, namespace, name, body, at in found
    ]
