"""Prometheus' text form: names, labels, counters and histograms. Pure: numbers in, lines out."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

Labels = tuple[tuple[str, str], ...]


class Histogram:
    """How often values fell below each bound."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def observe(self, value: float, **labels: str) -> None:
        """Count a value."""
        self.add(tuple(labels.items()), value)

    def add(self, key: Labels, value: float) -> None:
        """Count a value under labels."""
        counts = self._counts.setdefault(key, [0] * (len(self._bounds) + 1))
        counts[bisect_left(self._bounds, value)] += 1
        self._sums[key] = self._sums.get(key, 0.0) + value

    def lines(self, name: str) -> Iterator[str]:
        """Write it."""
        yield f"# TYPE {name} histogram"
        yield from self.samples(name)

    def samples(self, name: str) -> Iterator[str]:
        """Write its values."""
        for key, counts in self._counts.items():
            total = 0
            for bound, count in zip((*self._bounds, None), counts, strict=True):
                total += count
                edge = "+Inf" if bound is None else f"{bound:g}"
                yield f"{name}_bucket{labels_text((*key, ('le', edge)))} {total}"
            yield f"{name}_sum{labels_text(key)} {self._sums[key]:.6f}"
            yield f"{name}_count{labels_text(key)} {total}"


def family(kind: str, name: str, values: Iterable[tuple[Labels, float]]) -> Iterator[str]:
    """Write all values of a counter or a gauge."""
    yield f"# TYPE {name} {kind}"
    for key, value in values:
        yield f"{name}{labels_text(key)} {number_text(value)}"


def gauge(name: str, value: float) -> Iterable[str]:
    """Write a gauge that has no labels."""
    return family("gauge", name, [((), value)])


def number_text(value: float) -> str:
    """Write a number: whole ones as such."""
    if value in {float("inf"), float("-inf")}:
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.9g}"


def labels_text(pairs: Labels) -> str:
    """Write labels."""
    if not pairs:
        return ""
    return "{" + ",".join(f'{name}="{escaped(value)}"' for name, value in pairs) + "}"


def escaped(text: str) -> str:
    """Write a label's value."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
