"""Two spans of time side by side: what Temporal's visibility and what Tiphys know of each.

For a span before work was handed over and one after it. Of Temporal: how long workflows took and
how they ended. Of Tiphys: how long runs that came from Temporal waited and ran, and how often they
had to make room. Reads only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from temporalio.client import Client as TemporalClient
from temporalio.client import WorkflowExecutionStatus

from tiphys.client import Client, calls
from tiphys.errors import NotFoundError
from tiphys.temporal.activity import LABEL
from tiphys.temporal.result import preemptions, ran_for, waited
from tiphys.temporal.span import Span, Spread

PAGE = 500
_AT_ONCE = 4
_FIELDS = "metadata.continue,items.metadata.uid,items.metadata.creationTimestamp"


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalPart:
    """Workflows of Temporal that began in a span."""

    workflows: int = 0
    completed: int = 0
    failed: int = 0
    timed_out: int = 0
    canceled: int = 0
    terminated: int = 0
    running: int = 0
    duration: Spread = field(default_factory=Spread)


@dataclass(frozen=True, slots=True, kw_only=True)
class TiphysPart:
    """Runs of Tiphys that were submitted by activities in a span."""

    runs: int = 0
    succeeded: int = 0
    failed: int = 0
    error: int = 0
    live: int = 0
    wait: Spread = field(default_factory=Spread)
    run: Spread = field(default_factory=Spread)
    preemptions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One span."""

    span: Span
    temporal: TemporalPart
    tiphys: TiphysPart
    truncated: bool = False
    """Whether there were more than were looked at; those looked at are the newest."""


async def fetch_temporal(
    client: TemporalClient, span: Span, *, query: str = "", most: int
) -> tuple[TemporalPart, bool]:
    """Ask Temporal's visibility; tell, too, whether there were more than ``most``."""
    wanted = f'StartTime >= "{_text(span.start)}" AND StartTime < "{_text(span.end)}"'
    if query:
        wanted += f" AND ({query})"
    counts: Counter[str] = Counter()
    took: list[float] = []
    async for each in client.list_workflows(wanted, limit=most + 1):
        if counts["workflows"] == most:
            return _temporal_part(counts, took), True
        counts["workflows"] += 1
        counts[_word(each.status)] += 1
        if each.close_time is not None:
            took.append((each.close_time - each.start_time).total_seconds())
    return _temporal_part(counts, took), False


def _temporal_part(counts: Counter[str], took: Sequence[float]) -> TemporalPart:
    return TemporalPart(
        workflows=counts["workflows"],
        # One that goes on as a new run has done what it had to.
        completed=counts["completed"] + counts["continued_as_new"],
        failed=counts["failed"],
        timed_out=counts["timed_out"],
        canceled=counts["canceled"],
        terminated=counts["terminated"],
        running=counts["running"],
        duration=Spread.of(took),
    )


def _word(status: WorkflowExecutionStatus | None) -> str:
    return status.name.lower() if status is not None else "running"


def _text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def fetch_tiphys(client: Client, span: Span, *, most: int) -> tuple[TiphysPart, bool]:
    """Ask Tiphys for the runs that came from Temporal."""
    found: list[str] = []
    for key, at in _from_temporal(client):
        if at < span.start:
            break
        if at in span:
            found.append(key)
        if len(found) > most:
            break
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        seen = [each for each in pool.map(lambda key: _look(client, key), found[:most]) if each]
    return _tiphys_part(seen), len(found) > most


def _from_temporal(client: Client) -> Iterator[tuple[str, datetime]]:
    """Give ids and times of all such runs, the newest first."""
    after = ""
    while True:
        call = calls.list_objects(selector=LABEL, fields=_FIELDS, limit=PAGE, after=after)
        page = client.do(call)
        for each in page.get("items") or ():
            meta = each["metadata"]
            yield f"wf-{meta['uid']}", datetime.fromisoformat(meta["creationTimestamp"])
        after = page.get("metadata", {}).get("continue", "")
        if not after:
            return


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    status: str
    waited: float
    ran: float
    preemptions: int


def _look(client: Client, key: str) -> _Run | None:
    try:
        found = client.do(calls.get_workflow(key))
        bars = client.do(calls.get_timeline(key))
        events = client.do(calls.get_events(key))
    except NotFoundError:
        return None  # Forgotten meanwhile.
    return _Run(
        status=found.status,
        waited=waited(found, bars),
        ran=ran_for(found, bars),
        preemptions=preemptions(events),
    )


def _tiphys_part(runs: Sequence[_Run]) -> TiphysPart:
    counts = Counter(run.status for run in runs)
    ended = [run for run in runs if run.status in {"succeeded", "failed", "error"}]
    return TiphysPart(
        runs=len(runs),
        succeeded=counts["succeeded"],
        failed=counts["failed"],
        error=counts["error"],
        live=len(runs) - len(ended),
        wait=Spread.of([run.waited for run in ended]),
        run=Spread.of([run.ran for run in ended]),
        preemptions=sum(run.preemptions for run in runs),
    )


def table(before: Part, after: Part) -> list[list[str]]:
    """Write both as rows: what, before, after, and the change."""
    rows = [["span", _shown_span(before.span), _shown_span(after.span), ""]]
    for label, value in _ROWS:
        one, other = value(before), value(after)
        rows.append([label, _shown(one), _shown(other), _change(one, other)])
    return rows


def _shown_span(span: Span) -> str:
    return f"{span.start:%Y-%m-%d %H:%M}..{span.end:%Y-%m-%d %H:%M}"


def _share(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 1) if whole else None


def _failures(part: Part) -> float | None:
    bad = part.temporal.failed + part.temporal.timed_out
    return _share(bad, part.temporal.workflows - part.temporal.running)


_ROWS: Sequence[tuple[str, Any]] = (
    ("Temporal workflows", lambda part: part.temporal.workflows),
    ("  completed", lambda part: part.temporal.completed),
    ("  failed", lambda part: part.temporal.failed),
    ("  timed out", lambda part: part.temporal.timed_out),
    ("  cancelled or terminated", lambda part: part.temporal.canceled + part.temporal.terminated),
    ("  running", lambda part: part.temporal.running),
    ("  failures, % of ended", _failures),
    ("  duration p50, s", lambda part: part.temporal.duration.p50),
    ("  duration p95, s", lambda part: part.temporal.duration.p95),
    ("Tiphys runs", lambda part: part.tiphys.runs),
    ("  failed or error", lambda part: part.tiphys.failed + part.tiphys.error),
    ("  wait p50, s", lambda part: part.tiphys.wait.p50),
    ("  wait p95, s", lambda part: part.tiphys.wait.p95),
    ("  run p50, s", lambda part: part.tiphys.run.p50),
    ("  run p95, s", lambda part: part.tiphys.run.p95),
    ("  preemptions", lambda part: part.tiphys.preemptions),
)


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _change(before: float | None, after: float | None) -> str:
    if not before or after is None:
        return ""
    return f"{100 * (after - before) / before:+.0f}%"
