"""What a simulation says: makespan, waiting, use of the machine, missed service levels."""

from __future__ import annotations

from typing import Any

import msgspec

from tiphys.scheduling.estimate import median
from tiphys.simulate.bound import lower_bound
from tiphys.simulate.machine import Outcome, Record


class QueueReport(msgspec.Struct, frozen=True):
    """How one queue fared."""

    tasks: int
    wait_median: float
    wait_p95: float
    wait_max: float
    sla_misses: int


class Report(msgspec.Struct, frozen=True):
    """How a plan fared."""

    makespan: float
    lower_bound: float
    """No plan can be faster: the critical path, or all work spread evenly."""
    utilisation: dict[str, float]
    queues: dict[str, QueueReport]
    preemptions: int
    decisions: int
    stuck: dict[str, str]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


def summarize(outcome: Outcome) -> Report:
    """Sum up an outcome."""
    records = [
        record
        for record in outcome.records.values()
        if record.ended_at >= 0 and record.started_at >= 0
    ]
    queues: dict[str, list[Record]] = {}
    for record in records:
        if not (record.cut and record.preempted):  # Its next attempt counts, with the whole wait.
            queues.setdefault(record.task.queue, []).append(record)
    # Some followers need not wait for the end (``depends: a.AnySucceeded``): what was done faster
    # than the chain proves that it is none.
    chain = min(outcome.chain, outcome.makespan)
    # What never ran, or not to its end, is nothing that any plan had to do.
    plain = lower_bound([r.task for r in records if not r.cut], outcome.capacity)
    return Report(
        makespan=outcome.makespan,
        lower_bound=max(plain, chain),
        utilisation=_utilisation(outcome, records),
        queues={name: _queue(outcome, name, found) for name, found in sorted(queues.items())},
        preemptions=len(outcome.preemptions),
        decisions=outcome.decisions,
        stuck=dict(outcome.stuck),
        warnings=tuple(outcome.warnings),
    )


def _queue(outcome: Outcome, name: str, records: list[Record]) -> QueueReport:
    waits = sorted(record.waited for record in records)
    queue = outcome.queues.queues.get(name)
    sla = None if queue is None else queue.sla_seconds
    return QueueReport(
        tasks=len(records),
        wait_median=median(waits),
        wait_p95=waits[min(len(waits) - 1, int(len(waits) * 0.95))],
        wait_max=waits[-1],
        sla_misses=0 if sla is None else sum(wait > sla for wait in waits),
    )


def _utilisation(outcome: Outcome, records: list[Record]) -> dict[str, float]:
    span = outcome.makespan
    if not span:
        return {}
    return {
        # What asks for more than the machine has gets all of it.
        name: sum(
            min(r.task.requests.get(name), has) * (r.ended_at - r.started_at) for r in records
        )
        / (has * span)
        for name, has in outcome.capacity.items
        if has
    }


def report_text(report: Report) -> str:
    """Say a report to a person."""
    over = report.makespan / report.lower_bound - 1 if report.lower_bound else 0.0
    lines = [
        f"makespan     {_time(report.makespan)} ({over:+.1%} of the lower bound "
        f"{_time(report.lower_bound)})",
        "utilisation  "
        + (", ".join(f"{n} {part:.0%}" for n, part in report.utilisation.items()) or "none"),
        f"preemptions  {report.preemptions}",
        "",
        f"{'queue':<16}{'tasks':>7}{'wait p50':>10}{'p95':>10}{'max':>10}{'SLA missed':>12}",
    ]
    for name, queue in report.queues.items():
        lines.append(
            f"{name:<16}{queue.tasks:>7}{_time(queue.wait_median):>10}"
            f"{_time(queue.wait_p95):>10}{_time(queue.wait_max):>10}{queue.sla_misses:>12}"
        )
    lines += [f"never started: {name}: {why}" for name, why in report.stuck.items()]
    lines += [f"warning: {warning}" for warning in report.warnings]
    return "\n".join(lines)


def changes(left: Report, right: Report) -> dict[str, float | None]:
    """How much larger each figure of ``right`` is, as a part of that of ``left``."""
    found = {}
    for label, mine, yours, _ in _figures(left, right):
        found[label] = yours / mine - 1 if mine else None
    return found


def compare_text(left: Report, right: Report, names: tuple[str, str] = ("A", "B")) -> str:
    """Put two reports side by side."""
    wide = max(14, *(len(name) + 2 for name in names))
    lines = [f"{'':<26}{names[0]:>{wide}}{names[1]:>{wide}}{'change':>10}"]
    for label, mine, yours, unit in _figures(left, right):
        change = f"{yours / mine - 1:+.1%}" if mine else ""
        cells = "".join(f"{_figure(value, unit):>{wide}}" for value in (mine, yours))
        lines.append(f"{label:<26}{cells}{change:>10}")
    for name, report in zip(names, (left, right), strict=True):
        lines += [f"{name}: never started: {task}: {why}" for task, why in report.stuck.items()]
        lines += [f"{name}: warning: {warning}" for warning in report.warnings]
    return "\n".join(lines)


def _figures(left: Report, right: Report) -> list[tuple[str, float, float, str]]:
    """Label, both values, and how they are written."""
    rows: list[tuple[str, float, float, str]] = [
        ("makespan", left.makespan, right.makespan, "s"),
        ("preemptions", left.preemptions, right.preemptions, ""),
        ("never started", len(left.stuck), len(right.stuck), ""),
    ]
    for name in sorted({*left.utilisation, *right.utilisation}):
        mine, yours = left.utilisation.get(name, 0.0), right.utilisation.get(name, 0.0)
        rows.append((f"{name} used", mine * 100, yours * 100, "%"))
    for name in sorted({*left.queues, *right.queues}):
        a, b = left.queues.get(name, _NONE), right.queues.get(name, _NONE)
        rows.append((f"{name} wait p50", a.wait_median, b.wait_median, "s"))
        rows.append((f"{name} wait p95", a.wait_p95, b.wait_p95, "s"))
        rows.append((f"{name} SLA missed", a.sla_misses, b.sla_misses, ""))
    return rows


_NONE = QueueReport(0, 0.0, 0.0, 0.0, 0)


def _figure(value: float, unit: str) -> str:
    if unit == "s":
        return _time(value)
    return f"{value:.0f}{unit}"


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m{rest:02}s" if hours else f"{minutes}m{rest:02}s"
