"""A plain scalar means what it means to Argo."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.spec.scalar import number_text, resolve


@pytest.mark.parametrize("text", ["y", "Y", "yes", "YES", "on", "On", "true", "TRUE"])
def test_words_for_true_are_booleans(text: str) -> None:
    assert resolve(text) is True


@pytest.mark.parametrize("text", ["n", "N", "no", "off", "OFF", "false"])
def test_words_for_false_are_booleans(text: str) -> None:
    assert resolve(text) is False


@pytest.mark.parametrize("text", ["", "~", "null", "NULL"])
def test_words_for_nothing_are_null(text: str) -> None:
    assert resolve(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-5", -5),
        ("+5", 5),
        ("010", 8),
        ("0o10", 8),
        ("0x1F", 31),
        ("0b11", 3),
        ("1_000", 1000),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("08", 8.0),
        (".5", 0.5),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 2.0**64),
    ],
)
def test_numbers_are_read_as_go_reads_them(text: str, value: float) -> None:
    found = resolve(text)

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-01",
        "1:30",
        "12:30:45",
        "nO",
        "yEs",
        "1.2.3",
        "0x",
        "-",
        "e3",
        "v1",
        "0xffffffffffffffffff",
    ],
)
def test_dates_times_and_everything_else_are_text(text: str) -> None:
    assert resolve(text) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (1.0, "1"),
        (0.1, "0.1"),
        (1e3, "1000"),
        (1e22, "10000000000000000000000"),
        (1e-7, "0.0000001"),
        (2**53 + 1, "9007199254740992"),
    ],
)
def test_a_number_becomes_text_as_in_argo(value: float, text: str) -> None:
    assert number_text(value) == text


@given(st.text(alphabet="0123456789+-._xobeEinfaNyYtrul~", max_size=30))
def test_no_text_makes_the_resolver_fail(text: str) -> None:
    resolve(text)
