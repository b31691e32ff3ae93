"""A simulation as a picture: who ran when, as text, SVG or JSON."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape

from tiphys.simulate.run import Outcome, Record

_COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#9c755f")


def rows(outcome: Outcome) -> list[Record]:
    """Tasks that ran, by start."""
    ran = [record for record in outcome.records.values() if record.ended_at >= 0]
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


def gantt_svg(outcome: Outcome, *, width: int = 960, bar: int = 12) -> str:
    """Draw the bars as a picture, one lane for each place that was used at once."""
    found = rows(outcome)
    first = min((record.task.arrives_at for record in found), default=0.0)
    scale = width / (outcome.makespan or 1.0)
    colours = {
        name: _COLOURS[index % len(_COLOURS)]
        for index, name in enumerate(sorted({record.task.queue for record in found}))
    }
    lanes: list[float] = []
    shapes = []
    for record in found:
        lane = _lane(lanes, record)
        left = (record.started_at - first) * scale
        wide = max(0.5, (record.ended_at - record.started_at) * scale)
        shapes.append(
            f'<rect x="{left:.2f}" y="{lane * bar}" width="{wide:.2f}" height="{bar - 2}" '
            f'fill="{colours[record.task.queue]}"><title>{escape(_title(record))}</title></rect>'
        )
    height = max(1, len(lanes)) * bar
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">' + "".join(shapes) + "</svg>"
    )


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
