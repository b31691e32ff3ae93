"""Lists of workflows and their counts, over any connection.

Apart from `reading`: a run of its own asks for none, and the texts of such statements are put
together here.
"""

from __future__ import annotations

from collections.abc import Sequence

from tiphys.store import query
from tiphys.store.depth import FAR, Way, by_spans, shortest, tally
from tiphys.store.filter import Clause, Piece, arms, tallied, where
from tiphys.store.link import Link
from tiphys.store.reading import decode_row
from tiphys.store.row import WorkflowFilter, WorkflowSummary

_DEEP = 100
"""Rows before a page that may as well be read with all they hold."""


def list_workflows(
    connection: Link,
    wanted: WorkflowFilter,
    limit: int,
    offset: int,
    *,
    newest_first: bool,
) -> list[WorkflowSummary]:
    """List workflows in the order of their creation."""
    way = Way(wanted, limit, offset, newest_first)
    if offset > FAR and limit > 0:
        way = shortest(connection, way)
    if way.limit == 0:
        return []
    most = connection.everything if way.limit < 0 else way.limit
    direction = "DESC" if way.newest_first else "ASC"
    text, values = _selection(connection, way.wanted, direction, deep=way.offset > _DEEP)
    found = connection.read(text, (*values, most, way.offset))
    rows = [decode_row(query.SUMMARY_COLUMNS, row[:-1], WorkflowSummary) for row in found]
    return rows if way.newest_first is newest_first else rows[::-1]


def _selection(
    connection: Link, wanted: WorkflowFilter, way: str, *, deep: bool
) -> tuple[str, list[object]]:
    """Give the statement of a list; its last two values are the limit and the offset."""
    narrow = _narrowed(connection, wanted)
    split = arms(wanted) if connection.merges else [wanted]
    clauses = [where(arm, narrow) for arm in split]
    values = [value for clause in clauses for value in clause.values]
    if deep:
        return _deep(clauses, way), values
    text = " UNION ALL ".join(f"{query.SELECT_LISTED}{clause.text}" for clause in clauses)
    return f"{text}{_order(clauses, way)} LIMIT ? OFFSET ?", values


def _order(clauses: Sequence[Clause], way: str) -> str:
    at, number = clauses[0].at, clauses[0].number
    if len(clauses) > 1:  # Of lists put together only the names of columns are left.
        at, number = at.removeprefix("w."), "number"
    return f" ORDER BY {at} {way}, {number} {way}"


def _deep(clauses: Sequence[Clause], way: str) -> str:
    """Read only an index of what lies before the page, and not the rows."""
    at = clauses[0].at.replace("t.", "w.")
    parts = [f"SELECT {c.at}, {c.number} AS number{c.keys}" for c in clauses]
    page = f"{' UNION ALL '.join(parts)}{_order(clauses, way)} LIMIT ? OFFSET ?"
    return (
        f"{query.SELECT_LISTED} WHERE w.number IN (SELECT p.number FROM ({page}) AS p)"
        f" ORDER BY {at} {way}, w.number {way}"
    )


def _narrowed(connection: Link, wanted: WorkflowFilter) -> Piece | None:
    return connection.narrow(wanted.name_contains) if wanted.name_contains else None


def count_workflows(connection: Link, wanted: WorkflowFilter, most: int = 0) -> tuple[int, bool]:
    """Count workflows, and tell whether that is all of them.

    With ``most``, no more rows are read than that and one; what is tallied is counted in any case.
    """
    known, rest = _known(connection, wanted)
    counts = [_count_rows(connection, part, most) for part in rest]
    return known + sum(count for count, _ in counts), all(whole for _, whole in counts)


def _known(connection: Link, wanted: WorkflowFilter) -> tuple[int, tuple[WorkflowFilter, ...]]:
    """Give what is counted already, and what is not."""
    total = tally(connection, wanted)
    if total is not None:
        return total, ()
    return by_spans(connection, wanted) or (0, (wanted,))


def _count_rows(connection: Link, wanted: WorkflowFilter, most: int) -> tuple[int, bool]:
    """Count by reading, and tell whether that is all."""
    clause = where(wanted, _narrowed(connection, wanted))
    if not most:
        found = connection.execute(f"SELECT count(*){clause.keys}", clause.values).fetchone()
        return int(found[0]), True
    if clause.label and clause.rest and wanted.finished_before is None:
        return _count_labelled(connection, clause, most)
    text = f"SELECT count(*) FROM (SELECT 1{clause.keys} LIMIT ?) AS counted"
    found = connection.execute(text, (*clause.values, most + 1)).fetchone()
    return int(found[0]), found[0] <= most


def _count_labelled(connection: Link, clause: Clause, most: int) -> tuple[int, bool]:
    """Bound the workflows that are looked at: few of a common label may be what is wanted."""
    marks = clause.label.count("?")
    text = (
        "SELECT count(*), count(w.number) FROM"
        f" (SELECT t.workflow FROM labels t WHERE {clause.label} LIMIT ?) AS t"
        f" LEFT JOIN workflows w ON w.number = t.workflow AND {clause.rest}"
    )
    values = (*clause.values[:marks], most + 1, *clause.values[marks:])
    seen, found = connection.execute(text, values).fetchone()
    return int(found), seen <= most


def count_by_phase(connection: Link, wanted: WorkflowFilter) -> dict[str, int]:
    """Count workflows by phase."""
    clause = tallied(wanted)
    if clause is not None:
        text = f"{query.TALLY_BY_PHASE}{clause.text} GROUP BY t.phase HAVING sum(t.count) > 0"
    else:
        clause = where(wanted, _narrowed(connection, wanted))
        text = f"{query.COUNT_BY_PHASE}{clause.text} GROUP BY w.phase"
    return {phase: int(n) for phase, n in connection.execute(text, clause.values).fetchall()}
