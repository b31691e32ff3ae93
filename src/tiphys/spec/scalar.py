"""What a plain YAML scalar means to Argo.

Argo reads YAML through Go's yaml.v2, whose rules differ from PyYAML's: ``y``, ``n``, ``on`` and
``off`` are booleans, dates and ``1:30`` are text, a leading zero makes a number octal. Pure text
to value; `spec.yaml` calls it.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from functools import cache

Scalar = None | bool | int | float | str

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"})
_FALSE = frozenset({"n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"})
_NUMBER_START = frozenset("+-.0123456789")
_INFINITE = frozenset(f"{sign}.{word}" for sign in ("", "-", "+") for word in ("inf", "Inf", "INF"))
_SPECIAL = _INFINITE | {".nan", ".NaN", ".NAN"}
_INTEGER = (
    r"(?P<sign>[+-]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[oO]?(?P<octal>[0-7]+)"
    r"|0[bB](?P<binary>[01]+)|(?P<decimal>0|[1-9][0-9]*))"
)
_FLOAT = r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
_BASES = {"hex": 16, "octal": 8, "binary": 2, "decimal": 10}
# More digits than this cannot be a 64-bit number in any base.
_MAX_DIGITS = 70


def resolve(text: str) -> Scalar:
    """Give the value of an unquoted scalar without a tag."""
    if text in _NULLS:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    return _number(text) if text[0] in _NUMBER_START else text


def is_boolean(text: str) -> bool:
    """Tell whether the unquoted ``text`` is a boolean to Argo."""
    return text in _TRUE or text in _FALSE


def _number(text: str) -> Scalar:
    if len(text) < 19 and text.isdecimal() and text.isascii() and (text[0] != "0" or text == "0"):
        return int(text)  # As nearly all are: no need to look for the other forms.
    if text in _SPECIAL:
        return float(text.replace(".", ""))
    plain = text.replace("_", "")
    integer, floating = _forms()
    if len(plain) <= _MAX_DIGITS and (match := integer.fullmatch(plain)):
        base = next(name for name in _BASES if match[name] is not None)
        value = int(match["sign"] + match[base], _BASES[base])
        if -(2**63) <= value < 2**64:
            return value
        if base != "decimal":
            return text
    if floating.fullmatch(text if text.startswith(".") else plain):
        number = float(plain)
        return number if math.isfinite(number) else text
    return text


@cache
def _forms() -> tuple[re.Pattern[str], re.Pattern[str]]:
    # At first use: few files have other numbers than plain ones.
    return re.compile(_INTEGER, re.ASCII), re.compile(_FLOAT, re.ASCII)


def number_text(value: float) -> str:
    """Write a number as Argo does when it turns a parameter value into text.

    It passes through a 64-bit float there, so large whole numbers lose digits; no exponent
    is ever used.
    """
    number = float(value)
    if number.is_integer() and abs(number) < 2**53:
        return str(int(number))
    return format(Decimal(repr(number)), "f").removesuffix(".0")
