"""Durations are Go's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.core.duration import (
    format_duration,
    parse_age,
    parse_duration,
    parse_duration_or_seconds,
)
from tiphys.errors import InvalidInputError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("250ms", 0.25),
        ("1us", 1e-6),
        ("1µs", 1e-6),
        ("-2m", -120),
        ("+2m", 120),
        ("0", 0),
        (".5s", 0.5),
    ],
)
def test_a_go_duration_is_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "1d", "1 s", "s", "1h 30m", "1e3s", "9999999h" * 20])
def test_what_go_refuses_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_duration(text)


def test_a_duration_past_64_bits_of_nanoseconds_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        parse_duration("9999999h")


def test_a_bare_number_means_seconds_where_argo_says_so() -> None:
    assert parse_duration_or_seconds("90") == 90
    assert parse_duration_or_seconds("90m") == 5400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (5400, "1h30m0s"),
        (1.5, "1.5s"),
        (0.25, "250ms"),
        (1.5e-6, "1.5µs"),
        (-61, "-1m1s"),
    ],
)
def test_a_duration_is_written_as_go_writes_it(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.integers(-(10**9), 10**9))
def test_what_is_written_reads_back_the_same(milliseconds: int) -> None:
    assert parse_duration(format_duration(milliseconds / 1000)) == milliseconds / 1000


@pytest.mark.parametrize(
    ("text", "seconds"), [("7d", 604800.0), ("1d12h", 129600.0), ("90m", 5400.0), ("0d", 0.0)]
)
def test_an_age_may_begin_with_days(text: str, seconds: float) -> None:
    assert parse_age(text) == seconds


@pytest.mark.parametrize("text", ["d", "1.5d", "-1d", "1d2", "1h1d", "9999999d", ""])
def test_what_is_no_age_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_age(text)
