"""Go's ways of writing values: ``%v``, ``%q`` and the shortest form of a float.

Used for messages, for ``string()`` and for what a tag leaves in a text.
"""

from __future__ import annotations

import math

from tiphys.spec.expression.moment import Instant, Named

_LARGE = 6
"""The power of ten from which ``%v`` shows an exponent."""
_QUOTED = {
    '"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f",
    "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
}  # fmt: skip


def quote(text: str) -> str:
    """Write ``text`` as strconv.Quote does."""
    return '"' + "".join(_quote_one(character) for character in text) + '"'


def _quote_one(character: str) -> str:
    known = _QUOTED.get(character)
    if known is not None:
        return known
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def digits_of(number: float) -> tuple[str, int]:
    """Give the shortest digits of a positive float and the place of its point."""
    mantissa, _, exponent = f"{number!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0)
    if whole.strip("0") == "":
        stripped = fraction.lstrip("0")
        point = int(exponent or 0) - (len(fraction) - len(stripped))
    return digits.rstrip("0") or "0", point


def float_text(number: float) -> str:
    """Write as ``%v``: with an exponent below 1e-4 and from 1e6 on."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    sign = "-" if math.copysign(1, number) < 0 else ""
    if number == 0:
        return sign + "0"
    digits, point = digits_of(abs(number))
    if -4 <= point - 1 < _LARGE:
        return sign + plain(digits, point)
    return sign + scientific(digits, point - 1, 2)


def plain(digits: str, point: int) -> str:
    """Write digits with their decimal point and no exponent."""
    if point <= 0:
        return "0." + "0" * -point + digits
    if point >= len(digits):
        return digits + "0" * (point - len(digits))
    return f"{digits[:point]}.{digits[point:]}"


def scientific(digits: str, exponent: int, width: int) -> str:
    """Write ``d.ddde±xx`` with at least ``width`` digits of exponent."""
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):0{width}d}"


def text_of(value: object) -> str:
    """Write any value as ``%v``."""
    if isinstance(value, str):
        return value
    if isinstance(value, Named):
        return value.label
    if isinstance(value, list):
        return "[" + " ".join(text_of(item) for item in value) + "]"
    if isinstance(value, dict):
        return _map_text(value)
    return _scalar_text(value)


def _scalar_text(value: object) -> str:
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value)
    return _instant_text(value) if isinstance(value, Instant) else str(value)


def _map_text(value: dict[object, object]) -> str:
    pairs = sorted(value.items(), key=lambda pair: order_key(pair[0]))
    return "map[" + " ".join(f"{text_of(key)}:{text_of(item)}" for key, item in pairs) + "]"


def order_key(key: object) -> tuple[int, float, str]:
    """Order the keys of a map as fmt does: nil, integers, floats, strings."""
    if key is None:
        return (0, 0, "")
    if isinstance(key, (bool, int, float)):
        return (1, float(key), "")
    return (2, 0, str(key))


def _instant_text(at: Instant) -> str:
    wall = at.wall
    fraction = f".{at.nanosecond:09d}".rstrip("0") if at.nanosecond else ""
    return f"{at.year:04d}-{wall:%m-%d %H:%M:%S}{fraction} {offset_text(at.offset)} {zone_text(at)}"


def zone_text(at: Instant) -> str:
    """Write the zone's short name; a bare offset is its own name."""
    return at.abbreviation or offset_text(at.offset)


def offset_text(seconds: int, colon: str = "") -> str:
    """Write an offset as ``+0200`` or ``+02:00``."""
    sign = "-" if seconds < 0 else "+"
    minutes = abs(seconds) // 60
    return f"{sign}{minutes // 60:02d}{colon}{minutes % 60:02d}"
