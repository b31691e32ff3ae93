"""Kubernetes quantities: ``1500m``, ``2Gi``, ``1e3``, ``0.5``.

Exact: amounts are fractions, so that adding a thousand small requests never drifts. What cannot
be split further (a milli-CPU, a byte) is rounded up, as Kubernetes does.
"""

from __future__ import annotations

import re
from math import ceil
from typing import TYPE_CHECKING

from tiphys.errors import InvalidInputError

if TYPE_CHECKING:
    from fractions import Fraction

_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
# A text, not compiled: many workflows have no amounts, and `re` keeps what it has compiled.
_FORM = (
    r"(?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+))"
    r"(?:[eE](?P<exponent>[+-]?\d+)|(?P<suffix>[A-Za-z]*))"
)
# Longer texts and larger exponents only serve to make us multiply huge numbers.
_MAX_LENGTH = 64
_MAX_EXPONENT = 60


def parse_quantity(value: str | int | float) -> Fraction:
    """Give the exact amount that ``value`` stands for."""
    from fractions import Fraction  # noqa: PLC0415 - slow to load, and most amounts are whole

    text = str(value).strip()
    match = re.fullmatch(_FORM, text, re.ASCII) if len(text) <= _MAX_LENGTH else None
    if match is None:
        raise InvalidInputError(f"{text[:40]!r} is not a quantity such as 1500m, 2Gi or 0.5")
    base, power = _scale(text, match["exponent"], match["suffix"] or "")
    return Fraction(match["number"]) * Fraction(base) ** power


def _scale(text: str, exponent: str | None, suffix: str) -> tuple[int, int]:
    """Give what a number is multiplied with, as a base and a power of it."""
    if exponent is not None:
        power = int(exponent)
        if abs(power) > _MAX_EXPONENT:
            raise InvalidInputError(f"the exponent of {text!r} is out of range")
        return 10, power
    if suffix in _BINARY:
        return 1024, _BINARY[suffix]
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix]
    raise InvalidInputError(f"{suffix!r} in {text!r} is not a suffix of a quantity")


def cpu_millis(value: str | int | float) -> int:
    """Give thousandths of a CPU, rounded up."""
    whole = _whole(value)
    if whole is not None:
        return whole * 1000
    return ceil(parse_quantity(value) * 1000)


def bytes_of(value: str | int | float) -> int:
    """Give whole bytes (or pieces, for countable resources), rounded up."""
    whole = _whole(value)
    if whole is not None:
        return whole
    return ceil(parse_quantity(value))


def _whole(value: str | int | float) -> int | None:
    """Read a number without sign, point and suffix, the short way; None for all others."""
    text = str(value).strip()
    is_whole = len(text) <= _MAX_LENGTH and text.isascii() and text.isdecimal()
    return int(text) if is_whole else None


def format_cpu(millis: int) -> str:
    """Write milli-CPUs the short way: ``2``, ``1500m``."""
    return str(millis // 1000) if millis % 1000 == 0 else f"{millis}m"


def format_bytes(count: int) -> str:
    """Write bytes with the largest binary suffix that loses nothing: ``2Gi``, ``1500``."""
    for suffix, power in reversed(_BINARY.items()):
        unit = 1024**power
        if count and count % unit == 0:
            return f"{count // unit}{suffix}"
    return str(count)
