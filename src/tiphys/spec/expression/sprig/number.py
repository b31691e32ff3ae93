"""sprig's arithmetic: on int64 after a lenient conversion, or on decimals for the ``…f`` kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext

from tiphys.spec.expression.fault import MAX_STEPS, Fault, LimitFault
from tiphys.spec.expression.goformat import text_of
from tiphys.spec.expression.sprig.argument import to_float64, to_int64, whole
from tiphys.spec.expression.value import Int64, Value, go_power, wrap


def _int64(number: int) -> Int64:
    return Int64(wrap(number))


def add(*values: Value) -> int:
    """Add all."""
    return _int64(sum(to_int64(value) for value in values))


def mul(first: Value, *values: Value) -> int:
    """Multiply all."""
    product = to_int64(first)
    for value in values:
        product = wrap(product * to_int64(value))
    return _int64(product)


def div(a: Value, b: Value) -> int:
    """Divide toward zero."""
    x, y = to_int64(a), to_int64(b)
    if y == 0:
        raise Fault("runtime error: integer divide by zero")
    quotient = abs(x) // abs(y)
    return _int64(quotient if (x < 0) == (y < 0) else -quotient)


def mod(a: Value, b: Value) -> int:
    """Give the rest of a division toward zero."""
    x, y = to_int64(a), to_int64(b)
    if y == 0:
        raise Fault("runtime error: integer divide by zero")
    return _int64(int(math.copysign(1, x)) * (abs(x) % abs(y)))


def _decimal(value: Value) -> Decimal:
    number = to_float64(value)
    if not math.isfinite(number):
        raise Fault(f"Cannot create a Decimal from {text_of(number)}")
    return Decimal(repr(number))


def _divided(a: Decimal, b: Decimal) -> Decimal:
    if b == 0:
        raise Fault("decimal division by 0")
    # The Go library keeps 16 places after the point, rounding half away from zero.
    return (a / b).quantize(Decimal(1).scaleb(-16), rounding=ROUND_HALF_UP)


def _with_decimals(
    first: Value, values: tuple[Value, ...], apply: Callable[[Decimal, Decimal], Decimal]
) -> float:
    with localcontext(Context(prec=700, Emax=99999, Emin=-99999)):
        total = _decimal(first)
        for value in values:
            total = apply(total, _decimal(value))
    return float(total)


def until_step(start: Value, stop: Value, step: Value) -> list[Value]:
    """List the numbers from ``start`` until before ``stop``."""
    low, high, by = whole(start), whole(stop), whole(step)
    if (high < low and by >= 0) or (high >= low and by <= 0):
        return []
    numbers = range(low, high, by)
    if len(numbers) > MAX_STEPS:
        raise LimitFault(f"a list of {len(numbers)} numbers exceeds {MAX_STEPS}")
    return list(numbers)


def until(count: Value) -> list[Value]:
    """List the numbers from 0 until before ``count``."""
    return until_step(0, count, -1 if whole(count) < 0 else 1)


def seq(*given: Value) -> str:
    """Write a sequence as the command ``seq`` does."""
    numbers = [whole(value) for value in given]
    if len(numbers) == 1:
        start, step, end = 1, 1 if numbers[0] >= 1 else -1, numbers[0]
    elif len(numbers) == 2:
        start, end = numbers
        step = 1 if end >= start else -1
    elif len(numbers) == 3:
        start, step, end = numbers
        if end < start and step > 0:
            return ""
    else:
        return ""
    last = end + (1 if end >= start else -1)
    return " ".join(str(number) for number in until_step(start, last, step))


def round_to(value: Value, places: Value, *threshold: Value) -> float:
    """Round to ``places``, upwards from a rest of ``threshold`` (one half) on."""
    limit = to_float64(threshold[0]) if threshold else 0.5
    power = go_power(10.0, float(whole(places)))
    digit = power * to_float64(value)
    if not math.isfinite(digit):
        return math.nan if math.isnan(digit) else digit
    rest = math.modf(digit)[0]
    rounded = math.ceil(digit) if rest >= limit else math.floor(digit)
    return rounded / power


def to_decimal(value: Value) -> int:
    """Read an octal number."""
    try:
        number = int(text_of(value), 8)
    except ValueError:
        return Int64(0)
    return Int64(number) if wrap(number) == number and "_" not in text_of(value) else Int64(0)


def _extreme(
    choose: Callable[..., float], convert: Callable[[Value], float]
) -> Callable[..., Value]:
    def best(first: Value, *others: Value) -> Value:
        found = choose(convert(value) for value in (first, *others))
        return Int64(found) if convert is to_int64 else found

    return best


def _rounded(apply: Callable[[float], int]) -> Callable[[Value], float]:
    def one(value: Value) -> float:
        number = to_float64(value)
        return float(apply(number)) if math.isfinite(number) else number

    return one


NUMBER: dict[str, Callable[..., Value]] = {
    "int": to_int64,
    "int64": lambda value: Int64(to_int64(value)),
    "float64": to_float64,
    "toDecimal": to_decimal,
    "seq": seq,
    "until": until,
    "untilStep": until_step,
    "add1": lambda value: _int64(to_int64(value) + 1),
    "add": add,
    "sub": lambda a, b: _int64(to_int64(a) - to_int64(b)),
    "div": div,
    "mod": mod,
    "mul": mul,
    "add1f": lambda value: _with_decimals(value, (1,), lambda a, b: a + b),
    "addf": lambda *values: _with_decimals(0.0, values, lambda a, b: a + b),
    "subf": lambda first, *values: _with_decimals(first, values, lambda a, b: a - b),
    "divf": lambda first, *values: _with_decimals(first, values, _divided),
    "mulf": lambda first, *values: _with_decimals(first, values, lambda a, b: a * b),
    "biggest": _extreme(max, to_int64),
    "max": _extreme(max, to_int64),
    "min": _extreme(min, to_int64),
    "maxf": _extreme(max, to_float64),
    "minf": _extreme(min, to_float64),
    "ceil": _rounded(math.ceil),
    "floor": _rounded(math.floor),
    "round": round_to,
}
