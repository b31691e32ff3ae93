"""Spans of time and spreads of numbers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tiphys.errors import InvalidInputError
from tiphys.temporal.span import Span, Spread

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        (
            "2026-11-14..2026-11-15",
            datetime(2026, 11, 14, tzinfo=UTC),
            datetime(2026, 11, 15, tzinfo=UTC),
        ),
        ("2026-11-15T08:00Z..now", datetime(2026, 11, 15, 8, tzinfo=UTC), NOON),
        ("2h..30m", NOON - timedelta(hours=2), NOON - timedelta(minutes=30)),
        ("7d..", NOON - timedelta(days=7), NOON),
    ],
)
def test_a_span_is_written_with_dates_instants_or_ages(
    text: str, start: datetime, end: datetime
) -> None:
    assert Span.parse(text, NOON) == Span(start=start, end=end)


@pytest.mark.parametrize("text", ["", "now", "now..2h", "yesterday..now", "..now", "1h..1h"])
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        Span.parse(text, NOON)


def test_the_end_of_a_span_is_not_in_it() -> None:
    span = Span.parse("2h..1h", NOON)

    assert span.start in span
    assert span.end not in span


def test_a_spread_sums_numbers_up() -> None:
    spread = Spread.of([float(each) for each in range(1, 101)])

    assert (spread.count, spread.mean, spread.longest) == (100, 50.5, 100)
    assert (spread.p50, spread.p95) == (50, 95)


def test_of_nothing_there_is_no_spread() -> None:
    assert Spread.of([]) == Spread(count=0)
