"""JSON as Go's encoding/json writes and reads it.

Sorted keys, ``<>&`` and the two line separators escaped, floats in Go's short form; numbers read
as float64.
"""

from __future__ import annotations

import json
import math
import re
from json.encoder import encode_basestring

from tiphys.spec.expression.fault import Fault
from tiphys.spec.expression.goformat import digits_of, offset_text, plain, scientific
from tiphys.spec.expression.moment import Duration, Instant, Zone
from tiphys.spec.expression.semver import Version
from tiphys.spec.expression.value import AnyMap, type_name

MAX_NESTING = 200
"""Levels of nested data; deeper data in an expression is a mistake or an attack."""
_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_SPECIAL = re.compile("[<>&\u2028\u2029\x7f\ud800-\udfff]")


def dump(value: object, *, html: bool = True, indent: str = "") -> str:
    """Write ``value``; ``indent`` is the text of one level, empty for the compact form."""
    pieces: list[str] = []
    _write(value, pieces, html, indent, 0)
    return "".join(pieces)


def load(text: str) -> object:
    """Read ``text``; all numbers become floats, as in Go's untyped reading."""
    if len(text) > 10 and _too_deep(text):
        raise Fault("exceeded max depth")
    try:
        return json.loads(text, parse_int=_go_float, parse_float=_go_float, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise Fault(_complaint(text, error)) from None


def _too_deep(text: str) -> bool:
    return text.count("[") + text.count("{") > MAX_NESTING and _depth(text) > MAX_NESTING


def _depth(text: str) -> int:
    depth = deepest = 0
    for piece in re.findall(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text):
        if piece in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif piece in "]}":
            depth -= 1
    return deepest


def _go_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise Fault(f"json: cannot unmarshal number {text} into Go value of type float64")
    return number


def _refuse(word: str) -> object:
    raise Fault(f"invalid character '{word[0]}' looking for beginning of value")


def _complaint(text: str, error: json.JSONDecodeError) -> str:
    if error.pos >= len(text.rstrip()):
        return "unexpected end of JSON input"
    character = text[error.pos]
    if error.msg.startswith("Extra data"):
        return f"invalid character '{character}' after top-level value"
    if error.msg.startswith("Expecting value"):
        return f"invalid character '{character}' looking for beginning of value"
    if error.msg.startswith("Expecting property name"):
        return f"invalid character '{character}' looking for beginning of object key string"
    return f"invalid character '{character}' in JSON: {error.msg}"


def float_json(number: float) -> str:
    """Write a float as encoding/json: an exponent below 1e-6 and from 1e21 on."""
    if not math.isfinite(number):
        word = "NaN" if math.isnan(number) else "+Inf" if number > 0 else "-Inf"
        raise Fault(f"json: unsupported value: {word}")
    sign = "-" if math.copysign(1, number) < 0 else ""
    if number == 0:
        return sign + "0"
    digits, point = digits_of(abs(number))
    if 1e-6 <= abs(number) < 1e21:
        return sign + plain(digits, point)
    return sign + scientific(digits, point - 1, 1 if point < 1 else 2)


def string_json(text: str, *, html: bool = True) -> str:
    """Write a string."""
    quoted = encode_basestring(text)
    if not _SPECIAL.search(quoted):
        return quoted
    return _SPECIAL.sub(lambda match: _special(match[0], html=html), quoted)


def _special(character: str, *, html: bool) -> str:
    if "\ud800" <= character <= "\udfff":
        return "\\ufffd"
    if character in "<>&" and not html:
        return character
    return _HTML.get(character, character)


def _write(value: object, pieces: list[str], html: bool, indent: str, level: int) -> None:
    if level > MAX_NESTING:
        raise Fault("json: data is nested too deeply")
    if isinstance(value, list):
        parts = [("", item) for item in value]
        _write_all(parts, "[]", pieces, html, indent, level)
    elif isinstance(value, AnyMap):
        raise Fault(f"json: unsupported type: {type_name(value)}")
    elif isinstance(value, dict):
        pairs = sorted(value.items(), key=lambda pair: str(pair[0]))
        colon = ": " if indent else ":"
        parts = [(string_json(str(key), html=html) + colon, item) for key, item in pairs]
        _write_all(parts, "{}", pieces, html, indent, level)
    else:
        pieces.append(_scalar(value, html))


def _write_all(
    parts: list[tuple[str, object]],
    brackets: str,
    pieces: list[str],
    html: bool,
    indent: str,
    level: int,
) -> None:
    if not parts:
        pieces.append(brackets)
        return
    inner = "\n" + indent * (level + 1) if indent else ""
    pieces.append(brackets[0])
    for number, (label, item) in enumerate(parts):
        pieces.append(("," if number else "") + inner + label)
        _write(item, pieces, html, indent, level + 1)
    pieces.append(("\n" + indent * level if indent else "") + brackets[1])


def _scalar(value: object, html: bool) -> str:
    if isinstance(value, (str, Version)):
        return string_json(str(value), html=html)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return float_json(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, Duration):
        return str(value.nanoseconds)
    if isinstance(value, Instant):
        return f'"{rfc3339(value)}"'
    if isinstance(value, Zone):
        return "{}"
    raise Fault(f"json: unsupported type: {type_name(value)}")


def rfc3339(at: Instant) -> str:
    """Write an instant as RFC 3339 with the digits of a second it has."""
    wall = at.wall
    fraction = f".{at.nanosecond:09d}".rstrip("0") if at.nanosecond else ""
    zone = "Z" if at.offset == 0 else offset_text(at.offset, ":")
    return f"{at.year:04d}-{wall:%m-%dT%H:%M:%S}{fraction}{zone}"
