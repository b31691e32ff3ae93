"""Metrics that workflows define for themselves (Argo's ``metrics:``), as they are published.

Under the names that Argo's controller gives them. Workflows are other people's: names are checked,
values shortened, and there are only so many series, so that no loop over a label fills the memory.
Like all numbers here they begin anew with the server.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tiphys.api.exposition import Histogram, Labels, family
from tiphys.engine.command import EmitMetric

PREFIX = "argo_workflows_"
MOST_SERIES = 2000
MOST_VALUE = 200
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,199}")
_DEFAULT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


@dataclass(slots=True)
class _Family:
    kind: str
    help: str
    bounds: tuple[float, ...]
    values: dict[Labels, float] = field(default_factory=dict)
    histogram: Histogram | None = None


class OwnMetrics:
    """All of them, by name."""

    def __init__(self) -> None:
        self._families: dict[str, _Family] = {}
        self._series = 0
        self.dropped = 0
        """Values that could not be published: too many series, or a name that is none."""

    def take(self, metric: EmitMetric) -> None:
        """Take a value in."""
        labels = tuple(sorted((key, value[:MOST_VALUE]) for key, value in metric.labels))
        found = self._family(metric)
        if found is None or not self._has_room(found, labels) or math.isnan(metric.value):
            self.dropped += 1
            return
        if found.histogram is not None:
            found.values[labels] = 0.0
            found.histogram.add(labels, metric.value)
        else:
            found.values[labels] = _after(found, labels, metric)

    def _family(self, metric: EmitMetric) -> _Family | None:
        names = (metric.name, *(key for key, _ in metric.labels))
        if not all(_NAME.fullmatch(name) for name in names):
            return None
        found = self._families.get(metric.name)
        if found is None:
            if self._series >= MOST_SERIES:
                return None
            bounds = tuple(sorted(metric.buckets)) or _DEFAULT_BUCKETS
            found = _Family(metric.kind, metric.help, bounds)
            if metric.kind == "histogram":
                found.histogram = Histogram(bounds)
            self._families[metric.name] = found
        # The first to use a name says what it is: a page with both could not be read.
        return found if found.kind == metric.kind else None

    def _has_room(self, found: _Family, labels: Labels) -> bool:
        if labels in found.values:
            return True
        self._series += 1 + (len(found.bounds) if found.histogram else 0)
        return self._series <= MOST_SERIES

    def lines(self) -> Iterator[str]:
        """Write them."""
        for name, found in self._families.items():
            whole = PREFIX + name
            text = found.help.replace("\\", "\\\\").replace("\n", "\\n")[:MOST_VALUE]
            yield f"# HELP {whole} {text}"
            if found.histogram is not None:
                yield from found.histogram.lines(whole)
            else:
                yield from family(found.kind, whole, found.values.items())
        yield from family("counter", "tiphys_workflow_metrics_dropped_total", [((), self.dropped)])


def _after(found: _Family, labels: Labels, metric: EmitMetric) -> float:
    """Give what a counter or gauge shows after a value."""
    known = found.values.get(labels, 0.0)
    if found.kind == "counter":
        return known + max(0.0, metric.value)
    if metric.operation == "Add":
        return known + metric.value
    if metric.operation == "Sub":
        return known - metric.value
    return metric.value
