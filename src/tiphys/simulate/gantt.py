"""A simulation as a picture: who ran when, as text, SVG or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from tiphys.simulate.machine import Outcome, Record

_COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#9c755f")

_HEAD, _FOOT, _GAP = 22, 18, 16
"""Room for the legend, for the times, and between two plans."""
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)


def rows(outcome: Outcome) -> list[Record]:
    """Tasks that ran, by start."""
    ran = [r for r in outcome.records.values() if r.ended_at >= 0 and r.started_at >= 0]
    return sorted(ran, key=lambda record: (record.started_at, record.task.id))


def gantt_text(outcome: Outcome, *, width: int = 72, most: int = 40) -> str:
    """Draw bars: dots while waiting, blocks while running. Long plans show the first tasks."""
    found = rows(outcome)
    if not found:
        return "nothing ran"
    first = min(record.task.arrives_at for record in found)
    scale = width / (outcome.makespan or 1.0)
    lines = []
    for record in found[:most]:
        ready = int((record.ready_at - first) * scale)
        start = int((record.started_at - first) * scale)
        end = max(start + 1, int((record.ended_at - first) * scale))
        bar = " " * ready + "·" * (start - ready) + "█" * (end - start)
        lines.append(f"{_label(record)[-28:]:<28} {bar}")
    if len(found) > most:
        lines.append(f"… and {len(found) - most} more")
    return "\n".join(lines)


def gantt_json(outcome: Outcome) -> list[dict[str, Any]]:
    """Give the bars as plain data."""
    return [
        {
            "id": record.task.id,
            "workflow": record.task.workflow,
            "queue": record.task.queue,
            "ready": record.ready_at,
            "start": record.started_at,
            "end": record.ended_at,
            "preempted": record.preempted,
        }
        for record in rows(outcome)
    ]


def gantt_svg(outcome: Outcome, *, title: str = "", width: int = 960, bar: int = 12) -> str:
    """Draw the bars as a picture, one lane for each place that was used at once."""
    body, height = _picture(outcome, title, width, bar)
    return _svg(body, width, height)


def stacked_svg(plans: Sequence[tuple[str, Outcome]], *, width: int = 960, bar: int = 12) -> str:
    """Draw several plans below each other, on one scale of time."""
    span = max((outcome.makespan for _, outcome in plans), default=0.0)
    parts, top = [], 0
    for title, outcome in plans:
        body, height = _picture(outcome, title, width, bar, span)
        parts.append(f'<g transform="translate(0 {top})">{body}</g>')
        top += height + _GAP
    return _svg("".join(parts), width, max(1, top - _GAP))


def _svg(body: str, width: int, height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" font-family="sans-serif" font-size="11">'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>{body}</svg>\n'
    )


def _picture(
    outcome: Outcome, title: str, width: int, bar: int, span: float | None = None
) -> tuple[str, int]:
    """Give the elements of one plan, and how high they are."""
    found = rows(outcome)
    first = min((record.task.arrives_at for record in found), default=0.0)
    whole = span or outcome.makespan or 1.0
    scale = width / whole
    colours = {
        name: _COLOURS[index % len(_COLOURS)]
        for index, name in enumerate(sorted({record.task.queue for record in found}))
    }
    lanes: list[float] = []
    shapes = _legend(title, colours)
    for record in found:
        top = _HEAD + _lane(lanes, record) * bar
        left = (record.started_at - first) * scale
        wide = max(0.5, (record.ended_at - record.started_at) * scale)
        shapes.append(
            f'<rect x="{left:.2f}" y="{top}" width="{wide:.2f}" height="{bar - 2}" '
            f'fill="{colours[record.task.queue]}"><title>{escape(_title(record))}</title></rect>'
        )
    bottom = _HEAD + max(1, len(lanes)) * bar
    return "".join([*shapes, *_axis(whole, scale, bottom)]), bottom + _FOOT


def _legend(title: str, colours: Mapping[str, str]) -> list[str]:
    parts, left = [], 4
    if title:
        parts.append(f'<text x="4" y="14" font-weight="bold">{escape(title)}</text>')
        left += 24 + 7 * len(title)
    for name, colour in colours.items():
        parts.append(f'<rect x="{left}" y="5" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{left + 14}" y="14">{escape(name)}</text>')
        left += 34 + 7 * len(name)
    return parts


def _axis(span: float, scale: float, bottom: int) -> list[str]:
    """Ticks at round times, about eight of them; none so far right that its time has no room."""
    step = next((size for size in _STEPS if span / size <= 8), span / 8)
    ticks = []
    for number in range(max(1, int(span * 0.97 / step) + 1)):
        left = number * step * scale
        ticks.append(
            f'<line x1="{left:.1f}" y1="{_HEAD}" x2="{left:.1f}" y2="{bottom}" '
            f'stroke="#000000" stroke-opacity="0.15"/>'
            f'<text x="{left + 2:.1f}" y="{bottom + 12}">{clock_text(number * step)}</text>'
        )
    return ticks


def clock_text(seconds: float) -> str:
    """Write a time since the start: ``45s``, ``12m``, ``1h30m``."""
    if seconds < 60:
        return f"{seconds:g}s"
    hours, minutes = divmod(round(seconds) // 60, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m"


def _lane(lanes: list[float], record: Record) -> int:
    """Take the first lane that is free at the start."""
    for index, busy_until in enumerate(lanes):
        if busy_until <= record.started_at:
            lanes[index] = record.ended_at
            return index
    lanes.append(record.ended_at)
    return len(lanes) - 1


def _label(record: Record) -> str:
    return record.task.id.rpartition("/")[2]


def _title(record: Record) -> str:
    return (
        f"{record.task.id}: queue {record.task.queue}, waited {record.waited:.1f}s, "
        f"ran {record.ended_at - record.started_at:.1f}s"
    )
