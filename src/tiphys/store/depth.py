"""How a page far within a long list is reached, and how long a list is, without walking it.

An index knows no places: to come to row 500,000 a database steps over all rows before it. But
``tallies`` and ``ages`` (`store.schema`) say how many workflows there are, altogether and for each
span of creation. So whole spans are left out by a bound on the time of creation, from whichever end
of the list is nearer, and only rows of the span where the page begins are stepped over.

That holds for lists by project or queue and by statuses. Counts of dates come from the same
numbers. Whoever adds workflows between two of these reads may see a page move by so many rows, as
with any page that is asked for by its number.
"""

from __future__ import annotations

from math import ceil, floor

import msgspec

from tiphys.store import query
from tiphys.store.filter import tallied
from tiphys.store.link import Link
from tiphys.store.row import WorkflowFilter
from tiphys.store.schema import SPAN

FAR = 1000
"""Rows before a page that may as well be stepped over."""

Spans = list[tuple[int | None, int]]
"""Each with its number of workflows, in the order of the list; None is all of time."""
change = msgspec.structs.replace


class Way(msgspec.Struct, frozen=True):
    """A page, and from where its place is counted."""

    wanted: WorkflowFilter
    limit: int
    offset: int
    newest_first: bool


def tally(connection: Link, wanted: WorkflowFilter) -> int | None:
    """Count a list by its tallies; None where they do not suffice."""
    clause = tallied(wanted)
    if clause is None:
        return None
    found = connection.execute(query.TALLY + clause.text, clause.values).fetchone()
    return int(found[0] or 0)


def shortest(connection: Link, way: Way) -> Way:
    """Give the same page so that few rows lie before it; from behind, its rows come turned round.

    A limit of 0 says that the list ends before the page.
    """
    spans = _spans(connection, way)
    if spans is None:
        return way
    limit = min(way.limit, sum(count for _, count in spans) - way.offset)
    if limit <= 0:
        return change(way, limit=0)
    first, before = _at(spans, way.offset)
    last, until = _at(spans, way.offset + limit - 1)
    until += spans[last][1]
    ahead, behind = way.offset - before, until - way.offset - limit
    if ahead <= behind:
        wanted = _bounded(way.wanted, spans[first][0], newest_first=way.newest_first)
        return change(way, wanted=wanted, limit=limit, offset=ahead)
    wanted = _bounded(way.wanted, spans[last][0], newest_first=not way.newest_first)
    return Way(wanted, limit, behind, not way.newest_first)


def _spans(connection: Link, way: Way) -> Spans | None:
    conditions = _aged(way.wanted)
    if conditions is None:
        total = tally(connection, way.wanted)
        return None if total is None else [(None, total)]
    text, values = conditions
    order = "DESC" if way.newest_first else "ASC"
    found = connection.read(f"{query.AGES}{text} GROUP BY a.span ORDER BY a.span {order}", values)
    return [(int(span), int(count)) for span, count in found]


def _aged(wanted: WorkflowFilter) -> tuple[str, list[object]] | None:
    """Give the conditions on ``ages``; None where these do not tell such workflows apart."""
    if tallied(wanted) is None or (wanted.namespace and wanted.queue):
        return None
    scope = f"n{wanted.namespace}" if wanted.namespace else ""
    scope = f"q{wanted.queue}" if wanted.queue else scope
    if not wanted.phases:
        return " WHERE a.scope = ?", [scope]
    marks = ", ".join("?" * len(wanted.phases))
    return f" WHERE a.scope = ? AND a.phase IN ({marks})", [scope, *wanted.phases]


def _at(spans: Spans, place: int) -> tuple[int, int]:
    """Give the span in which a place lies, and how many rows come before that span."""
    before = 0
    for index, (_, count) in enumerate(spans):
        if place < before + count:
            return index, before
        before += count
    raise IndexError(place)


def _bounded(wanted: WorkflowFilter, span: int | None, *, newest_first: bool) -> WorkflowFilter:
    """Leave out what lies before a span."""
    if span is None:
        return wanted
    if newest_first:
        return change(wanted, before=float((span + 1) * SPAN))
    return change(wanted, since=float(span * SPAN))


def by_spans(
    connection: Link, wanted: WorkflowFilter
) -> tuple[int, tuple[WorkflowFilter, ...]] | None:
    """Count the whole spans between two dates; give what is left to count at the two edges.

    None where spans do not help.
    """
    since, before = wanted.since, wanted.before
    conditions = _aged(change(wanted, since=None, before=None))
    if conditions is None or (since is None and before is None):
        return None
    first = None if since is None else ceil(since / SPAN)
    last = None if before is None else floor(before / SPAN)
    if first is not None and last is not None and first >= last:
        return None
    text, values = conditions
    edges = []
    if since is not None and first is not None:
        text, values = f"{text} AND a.span >= ?", [*values, first]
        edges.append(change(wanted, before=float(first * SPAN)))
    if before is not None and last is not None:
        text, values = f"{text} AND a.span < ?", [*values, last]
        edges.append(change(wanted, since=float(last * SPAN)))
    found = connection.execute(query.COUNT_AGES + text, values).fetchone()
    return int(found[0] or 0), tuple(edges)
