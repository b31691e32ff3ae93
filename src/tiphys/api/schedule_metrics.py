"""What schedules did and when they are due, as numbers.

Runs are counted on record with each schedule, so these counters outlive the server. A schedule that
is late shows as one whose next run lies in the past.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from tiphys.api.exposition import Labels, family
from tiphys.service.schedule_book import Entry

MOST = 1000
"""Schedules that are shown, the first by name: a page must stay readable."""


def schedule_lines(entries: Iterable[Entry]) -> Iterator[str]:
    """Write what is known of each schedule."""
    shown = list(islice(sorted(entries, key=lambda each: each.cron.key), MOST))
    yield from family("counter", "schedule_runs_total", _runs(shown))
    active = ((_labels(each), len(each.cron.status.active)) for each in shown)
    yield from family("gauge", "schedule_active", active)
    suspended = ((_labels(each), float(bool(each.cron.spec.suspend))) for each in shown)
    yield from family("gauge", "schedule_suspended", suspended)
    last = ((_labels(each), each.cron.last_scheduled) for each in shown)
    yield from family("gauge", "schedule_last_run_timestamp_seconds", _known(last))
    due = ((_labels(each), each.wake_at) for each in shown)
    yield from family("gauge", "schedule_next_run_timestamp_seconds", _known(due))


def _labels(entry: Entry) -> Labels:
    project, name = entry.cron.key
    return (("project_id", project), ("schedule", name))


def _runs(entries: Sequence[Entry]) -> Iterator[tuple[Labels, float]]:
    for each in entries:
        status = each.cron.status
        yield (*_labels(each), ("status", "succeeded")), status.succeeded
        yield (*_labels(each), ("status", "failed")), status.failed


def _known(values: Iterable[tuple[Labels, float | None]]) -> Iterator[tuple[Labels, float]]:
    return ((labels, value) for labels, value in values if value is not None)
