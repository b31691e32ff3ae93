"""Which slots of a schedule are to be run now, and whether its conditions let them.

Pure: the same cron workflow, memory and instant give the same slots. ``tests/unit/service`` runs
this on a virtual clock through thousands of restarts.

A slot is run if it comes due while we look on. If it came due while nobody did (no server was up,
or an earlier workflow was in the way under ``Forbid``, or the schedule was suspended), the latest
such slot is run once, within ``startingDeadlineSeconds``; without a deadline it is let go. No slot
that is not behind the last one run is ever run: that, and a name made of the slot, is what keeps
each of them from running twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from tiphys.core.cron import Every, Schedule, Zone, parse_schedule
from tiphys.errors import ExpressionError
from tiphys.service.schedule_state import Cron
from tiphys.spec import expression, model
from tiphys.spec.template import compile_template

LATE = 60.0
"""Slots that we come to so late are still run each; of older ones the latest alone."""
MOST = 1000
"""Slots that are looked at in one go."""
_LAST = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
_SPANS = (3600.0, 86400.0, 32 * 86400.0, 366 * 86400.0)


@dataclass(frozen=True, slots=True)
class Timetable:
    """All slots of all schedules of a cron workflow."""

    schedules: tuple[Schedule, ...]

    def next(self, after: float, since: float) -> int | None:
        """Give the first slot behind ``after``. Spans (``@every``) count from ``since``."""
        found = [slot for each in self.schedules if (slot := _next(each, after, since)) is not None]
        return min(found, default=None)

    def slots(self, after: float, until: float, since: float) -> Iterator[int]:
        """Give all slots behind ``after`` that are not behind ``until``, each once."""
        slot = self.next(after, since)
        until = min(until, _LAST)
        while slot is not None and slot <= until:
            yield slot
            slot = self.next(slot, since)

    def latest(self, after: float, until: float, since: float) -> int | None:
        """Give the last slot behind ``after`` that is not behind ``until``."""
        for span in _SPANS:  # Backwards by growing steps: the last minute of a year is near.
            begin = max(after, until - span)
            last = None
            for slot in self.slots(begin, until, since):
                last = slot
            if last is not None or begin == after:
                return last
        return None


def _next(schedule: Schedule, after: float, since: float) -> int | None:
    if isinstance(schedule, Every):
        begin = math.floor(since)
        passed = max(0, math.floor(after) - begin) // schedule.seconds
        return begin + (passed + 1) * schedule.seconds
    return schedule.next(after)


def timetable(spec: model.CronWorkflowSpec, local: Zone) -> Timetable:
    """Read the schedules; raise InvalidInputError."""
    read = (parse_schedule(each, timezone=spec.timezone, local=local) for each in spec.schedules)
    return Timetable(tuple(read))


@dataclass(slots=True)
class Memory:
    """What we know of a cron workflow's slots while we are up."""

    seen: float
    """Slots up to here have been looked at."""
    look_back: bool = True
    """Whether a slot may have been missed: after a start, a change, or the end of a workflow."""


def take_due(cron: Cron, table: Timetable, memory: Memory, now: float) -> list[int]:
    """Give the slots to run now, the oldest first, and note that they were looked at."""
    since = cron.since
    live = _bounded(table.slots(max(memory.seen, since), now, since))
    due = [slot for slot in live if now - slot <= LATE] or live[-1:]
    deadline = cron.spec.starting_deadline_seconds
    if memory.look_back and deadline is not None and not due:
        missed = table.latest(max(since, now - deadline), now, since)
        if missed is not None and now < missed + deadline:
            due = [missed]
    memory.seen, memory.look_back = max(memory.seen, now), False
    return due


def _bounded(slots: Iterator[int]) -> list[int]:
    found: list[int] = []
    for slot in slots:
        found.append(slot)
        if len(found) > MOST:  # A machine that slept: only the end of the list matters.
            del found[0]
    return found


# --- conditions -----------------------------------------------------------------------------


def may_run(cron: Cron, now: float) -> bool:
    """Evaluate ``when``; raise ExpressionError."""
    text = cron.spec.when
    if not text:
        return True
    values = {f"cronworkflow.{name}": value for name, value in _variables(cron).items()}
    host = expression.Host(now=datetime.fromtimestamp(now, UTC))
    rendered = compile_template(text).render(values, allow_unresolved=False, host=host)
    return _truth(rendered)


def _truth(text: str) -> bool:
    """Evaluate as Argo does here: other than in steps, a bare word is no string."""
    from tiphys.spec.expression.word import read_words  # noqa: PLC0415

    try:
        bare = [word.value for word in read_words(text) if word.kind == "VARIABLE"]
    except expression.Fault as fault:
        raise ExpressionError(f"invalid 'when' {text[:200]!r}: {fault.message}") from None
    if bare:
        raise ExpressionError(f"invalid 'when' {text[:200]!r}: no parameter {bare[0]!r} is known")
    return expression.evaluate_when(text)


def is_over(cron: Cron) -> bool:
    """Evaluate the stop strategy; raise ExpressionError."""
    strategy = cron.spec.stop_strategy
    if strategy is None:
        return False
    program = expression.compile_expression(strategy.expression)
    found = program.evaluate({"cronworkflow": _variables(cron)})
    if not isinstance(found, bool):
        raise ExpressionError(f"the stop strategy gives {found!r}, not true or false")
    return found


def _variables(cron: Cron) -> dict[str, object]:
    from tiphys.spec.expression.moment import Instant  # noqa: PLC0415

    meta, last = cron.manifest.metadata, cron.last_scheduled
    return {
        "name": meta.name,
        "namespace": meta.namespace,
        "labels": dict(meta.labels),
        "annotations": dict(meta.annotations),
        "labels.json": msgspec.json.encode(meta.labels, order="sorted").decode(),
        "annotations.json": msgspec.json.encode(meta.annotations, order="sorted").decode(),
        "failed": cron.status.failed,
        "succeeded": cron.status.succeeded,
        "lastScheduledTime": None if last is None else Instant(int(last)),
    }
