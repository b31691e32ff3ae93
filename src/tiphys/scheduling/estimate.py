"""How long work takes, learnt from how long it took.

Pure and small: for each template the last durations are kept, and what is said of them is robust:
the median, and a spread from the median of the deviations, so that one hung run does not spoil
the rest. The store keeps ``History`` as it is.
"""

from __future__ import annotations

import msgspec

KEPT = 64
"""Durations kept for each template: enough for a median, few enough to follow a change."""
_SIGMA = 1.4826
"""Turns a median absolute deviation into a standard deviation, for bell-shaped durations."""


class Estimate(msgspec.Struct, frozen=True):
    """What is expected of the next run."""

    seconds: float
    low: float
    """About one run in ten is shorter."""
    high: float
    """About one run in ten is longer."""
    count: int


class History(msgspec.Struct):
    """The last durations of each template, oldest first."""

    durations: dict[str, list[float]] = {}

    def observe(self, template: str, seconds: float) -> None:
        """Remember one run that succeeded."""
        kept = self.durations.setdefault(template, [])
        kept.append(seconds)
        if len(kept) > KEPT:
            del kept[0]

    def expect(self, template: str) -> Estimate | None:
        """Say what the next run will take; None where nothing is known."""
        kept = self.durations.get(template)
        return estimate(kept) if kept else None


def estimate(durations: list[float]) -> Estimate:
    """Summarize durations by median and median deviation."""
    middle = median(durations)
    spread = _SIGMA * median([abs(seconds - middle) for seconds in durations])
    # 1.2816 standard deviations leave one tenth on either side.
    reach = 1.2816 * spread
    return Estimate(middle, max(0.0, middle - reach), middle + reach, len(durations))


def median(values: list[float]) -> float:
    """The middle value; between the two middle ones where their number is even."""
    ordered = sorted(values)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return (ordered[half - 1] + ordered[half]) / 2
