"""Spans of time as people write them (``A..B``), and what the numbers of one come down to. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tiphys.core.duration import parse_age
from tiphys.errors import InvalidInputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """From one instant up to another, which is not in it any more."""

    start: datetime
    end: datetime

    @classmethod
    def parse(cls, text: str, now: datetime) -> Span:
        """Read ``A..B``: dates, instants, ``now``, or how long ago (``2h``, ``7d``)."""
        first, dots, last = text.partition("..")
        if not dots:
            raise InvalidInputError(f"{text!r} is no span of time: write it as A..B")
        span = cls(start=_instant(first, now), end=_instant(last or "now", now))
        if span.start >= span.end:
            raise InvalidInputError(f"{text!r} ends before it begins")
        return span

    def __contains__(self, at: datetime) -> bool:
        """Tell whether an instant is in it."""
        return self.start <= at < self.end


def _instant(text: str, now: datetime) -> datetime:
    text = text.strip()
    if text == "now":
        return now
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return _ago(text, now)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _ago(text: str, now: datetime) -> datetime:
    try:
        return datetime.fromtimestamp(now.timestamp() - parse_age(text), UTC)
    except (InvalidInputError, ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"{text!r} is neither an instant (2026-11-15T08:00Z) nor an age (2h, 7d) nor now"
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How numbers are spread."""

    count: int = 0
    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    longest: float | None = None

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Sum up; of none at all there is nothing but the count."""
        if not values:
            return cls()
        ordered = sorted(values)
        return cls(
            count=len(ordered),
            mean=round(sum(ordered) / len(ordered), 3),
            p50=_part(ordered, 0.5),
            p95=_part(ordered, 0.95),
            longest=round(ordered[-1], 3),
        )


def _part(ordered: Sequence[float], share: float) -> float:
    """Give the least number that so great a part does not exceed."""
    place = max(0, -int(-len(ordered) * share // 1) - 1)
    return round(ordered[place], 3)
