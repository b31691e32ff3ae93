"""Quantities are exact and follow Kubernetes' rules."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.core.quantity import bytes_of, cpu_millis, format_bytes, format_cpu, parse_quantity
from tiphys.errors import InvalidInputError


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1500m", Fraction(3, 2)),
        ("2Gi", 2 * 1024**3),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E", 10**18),
        ("0.5", Fraction(1, 2)),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("100n", Fraction(1, 10**7)),
        ("-1Ki", -1024),
        (2, 2),
        (0.1, Fraction(1, 10)),
    ],
)
def test_every_form_of_a_quantity_is_read_exactly(
    text: str | int | float, amount: Fraction | int
) -> None:
    assert parse_quantity(text) == amount


@pytest.mark.parametrize(
    "text", ["", "Gi", "1gi", "1 Gi", "1.2.3", "0x10", "1e", "1e999999999", "9" * 100, "nan", "٣"]
)
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_quantity(text)


def test_parts_of_a_millicpu_and_of_a_byte_are_rounded_up() -> None:
    assert cpu_millis("0.0001") == 1
    assert bytes_of("100m") == 1


@given(st.integers(0, 2**60))
def test_what_is_formatted_reads_back_the_same(number: int) -> None:
    assert bytes_of(format_bytes(number)) == number
    assert cpu_millis(format_cpu(number)) == number
