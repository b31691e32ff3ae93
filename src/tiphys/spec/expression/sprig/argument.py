"""Arguments of sprig's functions: Go checks their types at the call, and nil is a type's zero."""

from __future__ import annotations

import re

from tiphys.spec.expression.builtin import kind_name
from tiphys.spec.expression.fault import Fault
from tiphys.spec.expression.goformat import text_of
from tiphys.spec.expression.gostring import parse_float
from tiphys.spec.expression.moment import Duration, Instant
from tiphys.spec.expression.value import Value, is_int, is_number, truncate, type_name, wrap

_DECIMAL = re.compile(r"([+-]?)([0-9]*)\.[0-9]*")
_INTEGER = re.compile(
    r"[+-]?(?:0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO]?(?:_?[0-7])+|[0-9](?:_?[0-9])*)"
)


def _wrong(value: Value, wanted: str) -> Fault:
    return Fault(f"reflect: Call using {type_name(value)} as type {wanted}")


def text(value: Value) -> str:
    """Take a string."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise _wrong(value, "string")


def whole(value: Value) -> int:
    """Take an int."""
    if value is None:
        return 0
    if type(value) is int:
        return value
    raise _wrong(value, "int")


def flag(value: Value) -> bool:
    """Take a bool."""
    if value is None:
        return False
    if isinstance(value, bool):
        return value
    raise _wrong(value, "bool")


def mapping(value: Value) -> dict[str, Value]:
    """Take a map with string keys."""
    if value is None:
        return {}
    if type(value) is dict:
        return value
    raise _wrong(value, "map[string]interface {}")


def instant(value: Value) -> Instant:
    """Take a time."""
    if isinstance(value, Instant):
        return value
    raise _wrong(value, "time.Time")


def items(value: Value, doing: str) -> list[Value]:
    """Take a list; ``doing`` begins the complaint."""
    if isinstance(value, list):
        return value
    if value is None:
        raise Fault("runtime error: invalid memory address or nil pointer dereference")
    raise Fault(f"{doing} type {kind_name(value)}")


def shown(value: Value) -> str:
    """Write a value as sprig's strval."""
    return text_of(value)


def to_int64(value: Value) -> int:
    """Convert as cast.ToInt64: what cannot be converted is 0."""
    if isinstance(value, bool):
        return int(value)
    if is_int(value):
        return int(value)
    if isinstance(value, float):
        return truncate(value)
    if isinstance(value, Duration):
        return value.nanoseconds
    if isinstance(value, str):
        return _int_of_text(value)
    return 0


def _int_of_text(source: str) -> int:
    trimmed = _DECIMAL.fullmatch(source)
    source = f"{trimmed[1]}{trimmed[2] or 0}" if trimmed else source
    if not _INTEGER.fullmatch(source) or len(source) > 80:
        return 0
    digits = source.replace("_", "")
    octal = re.fullmatch(r"([+-]?)0([0-7]+)", digits)
    number = int(f"{octal[1]}0o{octal[2]}", 0) if octal else int(digits, 0)
    return number if wrap(number) == number else 0


def to_float64(value: Value) -> float:
    """Convert as cast.ToFloat64: what cannot be converted is 0."""
    if isinstance(value, bool):
        return float(value)
    if is_number(value):
        return float(value)
    if isinstance(value, str):
        return parse_float(value) or 0.0
    return 0.0
