"""The values of the expression languages, and what operators do with them.

Go's dynamic types are mapped on Python's: ``int`` is a 64-bit integer that wraps around, ``float``
a float64, ``list`` a slice, ``dict`` a map with string keys. Only what Python lacks has a class of
its own here. Python's own coercions (``True == 1``) must not leak, so operators go through this
module and never through bare ``==``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from tiphys.spec.expression.fault import MAX_VALUES, Fault, LimitFault, check_text
from tiphys.spec.expression.moment import Duration, Instant, Zone

Value: TypeAlias = Any
"""``None | bool | int | float | str | list | dict``, or one of the classes of this package."""

MIN_INT, MAX_INT = -(2**63), 2**63 - 1


class AnyMap(dict[Any, Any]):
    """Go's ``map[any]any``: what groupBy and fromPairs give. JSON cannot write it."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function as a value: one of sprig's, one of Argo's, or a bound method."""

    name: str
    call: Callable[..., Value]
    needs_host: bool = False
    """Whether the host's clock and chance come before the arguments."""


class Int64(int):
    """Go's int64, which a few functions of sprig tell from int; arithmetic makes it an int."""


class Groups(AnyMap):
    """Go's ``map[any][]any``: what groupBy gives."""


def weigh(value: Value) -> int:
    """Count all values inside a value; one that stands in two places counts twice.

    An expression can nest a list in itself many times (``[a, a]``), so that little memory unfolds
    to a huge tree; whoever walks a tree must know its unfolded size first.
    """
    total, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        total += 1
        if isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, dict):
            waiting.extend(one.values())
        if total + len(waiting) > MAX_VALUES:
            raise LimitFault(f"a value of more than {MAX_VALUES} parts is too large")
    return total


def wrap(number: int) -> int:
    """Bring a Python integer into 64 bits, as Go's arithmetic does."""
    if MIN_INT <= number <= MAX_INT:
        return number
    return (number + 2**63) % 2**64 - 2**63


def truncate(number: float) -> int:
    """Convert a float64 to int64; what does not fit becomes the smallest integer, as on amd64."""
    if math.isfinite(number) and -(2.0**63) <= number < 2.0**63:
        return int(number)
    return MIN_INT


_TYPE_NAMES: dict[type, str] = {
    type(None): "<nil>",
    bool: "bool",
    int: "int",
    float: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
    AnyMap: "map[interface {}]interface {}",
    Groups: "map[interface {}][]interface {}",
    Int64: "int64",
    Instant: "time.Time",
    Duration: "time.Duration",
    Zone: "*time.Location",
    Function: "func",
}


def type_name(value: Value) -> str:
    """Name the Go type of ``value``."""
    return _TYPE_NAMES.get(type(value)) or type(value).__name__


def is_int(value: Value) -> bool:
    """Tell whether ``value`` is an integer (a bool is not)."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Value) -> bool:
    """Tell whether ``value`` is an integer or a float."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equal(a: Value, b: Value) -> bool:
    """Compare as expr-lang's ``==``: numbers by value, lists by element, the rest by type too."""
    if isinstance(a, str):
        return isinstance(b, str) and a == b
    if is_number(a) and is_number(b):
        return _equal_numbers(a, b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    return same(a, b)


def same(a: Value, b: Value) -> bool:
    """Compare as reflect.DeepEqual: the same type and the same contents."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(key in b and same(a[key], b[key]) for key in a)
    return bool(a == b)


def _equal_numbers(a: float, b: float) -> bool:
    # Go converts the integer to float64 first; Python compares exactly.
    if isinstance(a, float) or isinstance(b, float):
        return float(a) == float(b)
    return a == b


def compare(operator: str, a: Value, b: Value) -> bool:
    """Apply ``<``, ``<=``, ``>`` or ``>=``."""
    if is_number(a) and is_number(b):
        if isinstance(a, float) or isinstance(b, float):
            a, b = float(a), float(b)
    elif isinstance(a, str) and isinstance(b, str):
        # Go compares bytes; code points order the same way in UTF-8.
        pass
    elif not (type(a) is type(b) and isinstance(a, (Instant, Duration))):
        raise Fault(f"invalid operation: {type_name(a)} {operator} {type_name(b)}")
    return _COMPARISONS[operator](a, b)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
}


def add(a: Value, b: Value) -> Value:
    """Apply ``+``."""
    if isinstance(a, str) and isinstance(b, str):
        return check_text(a + b)
    if is_number(a) and is_number(b):
        return wrap(a + b) if is_int(a) and is_int(b) else float(a) + float(b)
    if isinstance(a, Instant) and isinstance(b, Duration):
        return a.plus(b)
    if isinstance(a, Duration) and isinstance(b, Instant):
        return b.plus(a)
    if isinstance(a, Duration) and isinstance(b, Duration):
        return Duration(wrap(a.nanoseconds + b.nanoseconds))
    raise _mismatch("+", a, b)


def subtract(a: Value, b: Value) -> Value:
    """Apply binary ``-``."""
    if is_number(a) and is_number(b):
        return wrap(a - b) if is_int(a) and is_int(b) else float(a) - float(b)
    if isinstance(a, Instant) and isinstance(b, Instant):
        return a.since(b)
    if isinstance(a, Instant) and isinstance(b, Duration):
        return a.plus(Duration(-b.nanoseconds))
    if isinstance(a, Duration) and isinstance(b, Duration):
        return Duration(wrap(a.nanoseconds - b.nanoseconds))
    raise _mismatch("-", a, b)


def multiply(a: Value, b: Value) -> Value:
    """Apply ``*``; a duration times an integer is a duration, times a float a float."""
    if is_number(a) and is_number(b):
        return wrap(a * b) if is_int(a) and is_int(b) else _float_product(a, b)
    scaled = isinstance(a, Duration) or isinstance(b, Duration)
    left = a.nanoseconds if isinstance(a, Duration) else a
    right = b.nanoseconds if isinstance(b, Duration) else b
    if not scaled or not is_number(left) or not is_number(right):
        raise _mismatch("*", a, b)
    if isinstance(left, float) or isinstance(right, float):
        return _float_product(left, right)
    return Duration(wrap(left * right))


def _float_product(a: float, b: float) -> float:
    return float(a) * float(b)


def divide(a: Value, b: Value) -> float:
    """Apply ``/``: always in float64, and without an error for zero."""
    if not (is_number(a) and is_number(b)):
        raise _mismatch("/", a, b)
    x, y = float(a), float(b)
    if y != 0:
        return x / y
    if x == 0 or math.isnan(x):
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1, y)


def modulo(a: Value, b: Value) -> int:
    """Apply ``%``: the sign follows the left side."""
    if not (is_int(a) and is_int(b)):
        raise _mismatch("%", a, b)
    if b == 0:
        raise Fault("integer divide by zero")
    return int(a - b * (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1))


def power(a: Value, b: Value) -> float:
    """Apply ``**``: always in float64."""
    x, y = to_float(a), to_float(b)
    return go_power(x, y)


def go_power(x: float, y: float) -> float:
    """Compute as math.Pow: by squaring, and with infinities and NaN where Python raises."""
    if y == 0.5 and x >= 0:
        return math.sqrt(x)
    if not (math.isfinite(x) and math.isfinite(y)) or x == 0 or abs(y) >= 2**53:
        return _edge_power(x, y)
    fraction, whole = math.modf(abs(y))
    if fraction and x < 0:
        return math.nan
    mantissa, exponent = 1.0, 0
    if fraction:
        if fraction > 0.5:
            fraction, whole = fraction - 1, whole + 1
        mantissa = math.exp(fraction * math.log(x))
    mantissa, exponent = _squared(mantissa, x, int(whole))
    if y < 0:
        mantissa, exponent = 1 / mantissa, -exponent
    return _scaled(mantissa, exponent)


def _squared(mantissa: float, x: float, times: int) -> tuple[float, int]:
    """Multiply by ``x`` to the power ``times``; the exponent is kept apart against overflow."""
    total = 0
    base, exponent = math.frexp(x)
    while times:
        if not -4096 <= exponent <= 4096:
            return mantissa, total + exponent
        if times & 1:
            mantissa, total = mantissa * base, total + exponent
        base, exponent = base * base, exponent * 2
        if base < 0.5:
            base, exponent = base + base, exponent - 1
        times >>= 1
    return mantissa, total


def _scaled(mantissa: float, exponent: int) -> float:
    try:
        return math.ldexp(mantissa, exponent)
    except OverflowError:
        return math.copysign(math.inf, mantissa)


def _edge_power(x: float, y: float) -> float:
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf
    except ValueError:
        if x == 0:
            return math.copysign(math.inf, x) if y % 2 == 1 else math.inf
        return math.nan


def negate(value: Value) -> Value:
    """Apply unary ``-``."""
    if is_int(value):
        return wrap(-value)
    if isinstance(value, float):
        return -value
    raise Fault(f"invalid operation: - {type_name(value)}")


def contains(array: Value, needle: Value) -> bool:
    """Apply ``in``."""
    if array is None:
        return False
    if isinstance(array, list):
        return any(equal(item, needle) for item in array)
    if isinstance(array, dict):
        if needle is not None and not isinstance(array, AnyMap) and not isinstance(needle, str):
            raise Fault(
                f"reflect.Value.MapIndex: value of type {type_name(needle)} is not assignable "
                "to type string"
            )
        if isinstance(needle, (list, dict)):
            raise Fault(f"runtime error: hash of unhashable type {type_name(needle)}")
        return ("" if needle is None and not isinstance(array, AnyMap) else needle) in array
    raise Fault(f'operator "in" not defined on {type_name(array)}')


def to_int(value: Value) -> int:
    """Convert a number for an index or a count."""
    if is_int(value):
        return int(value)
    if isinstance(value, float):
        return truncate(value)
    raise Fault(f"invalid operation: int({type_name(value)})")


def to_float(value: Value) -> float:
    """Convert a number for a power."""
    if is_number(value):
        return float(value)
    raise Fault(f"invalid operation: float({type_name(value)})")


def to_bool(value: Value) -> bool:
    """Take a bool where the language needs one."""
    if isinstance(value, bool):
        return value
    raise Fault(f"interface conversion: interface {{}} is {conversion_name(value)}, not bool")


def conversion_name(value: Value) -> str:
    """Name a type the way Go's failed conversions do."""
    return "nil" if value is None else type_name(value)


def _mismatch(operator: str, a: Value, b: Value) -> Fault:
    return Fault(f"invalid operation: {type_name(a)} {operator} {type_name(b)}")
