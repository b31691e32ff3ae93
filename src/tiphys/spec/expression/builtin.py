"""expr-lang's builtin functions that need no predicate, as plain functions on values.

Each checks its arguments itself: the checker sees only what is known before running. Results are
bounded by the interpreter; what could be huge before that is bounded here.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable
from typing import Any

from tiphys.spec.expression import gojson, layout
from tiphys.spec.expression.fault import MAX_TEXT, Fault, LimitFault
from tiphys.spec.expression.goformat import text_of
from tiphys.spec.expression.gostring import (
    byte_index,
    last_byte_index,
    parse_float,
    parse_int,
    split_after,
    split_text,
    trim_set,
    trim_space,
)
from tiphys.spec.expression.moment import Instant, Zone, load_zone, parse_duration
from tiphys.spec.expression.value import (
    AnyMap,
    Value,
    compare,
    conversion_name,
    equal,
    is_int,
    is_number,
    to_int,
    truncate,
    type_name,
    wrap,
)

MAX_FLATTEN = 100


def string(value: Value) -> str:
    """Take a string argument."""
    if isinstance(value, str):
        return value
    raise Fault(f"interface conversion: interface {{}} is {conversion_name(value)}, not string")


def array(value: Value, doing: str) -> list[Value]:
    """Take a list argument."""
    if isinstance(value, list):
        return value
    raise Fault(f"cannot {doing} {kind_name(value)}")


def kind_name(value: Value) -> str:
    """Name the kind of a value as reflect does."""
    if value is None:
        return "invalid"
    if isinstance(value, list):
        return "slice"
    return "map" if isinstance(value, dict) else type_name(value)


def length(value: Value) -> int:
    """Count the characters of a string or the elements of a collection."""
    if isinstance(value, (str, list, dict)):
        return len(value)
    raise Fault(f"invalid argument for len (type {type_name(value)})")


def type_word(value: Value) -> str:
    """Name the type in expr-lang's words."""
    if value is None:
        return "nil"
    if isinstance(value, list):
        return "array"
    if isinstance(value, dict):
        return "map"
    name = type_name(value)
    return {"float64": "float", "int64": "int"}.get(name, name)


def _number(name: str, value: Value) -> Any:
    if is_number(value):
        return value
    raise Fault(f"invalid argument for {name} (type {type_name(value)})")


def absolute(value: Value) -> Value:
    """Give the size of a number."""
    number = _number("abs", value)
    if isinstance(number, float):
        return -number if number < 0 else number
    return wrap(abs(number))


def _rounding(name: str, round_one: Callable[[float], float]) -> Callable[[Value], float]:
    def apply(value: Value) -> float:
        number = float(_number(name, value))
        return round_one(number) if math.isfinite(number) else number

    return apply


def _half_away(number: float) -> float:
    whole = math.trunc(number)
    if abs(number - whole) >= 0.5:
        whole += 1 if number > 0 else -1
    return math.copysign(float(whole), number)


def integer(value: Value) -> int:
    """Convert to an integer."""
    if is_int(value):
        return int(value)
    if isinstance(value, float):
        return truncate(value)
    if isinstance(value, str):
        number = parse_int(value)
        if number is None:
            raise Fault(f"invalid operation: int({value})")
        return number
    nanoseconds = getattr(value, "nanoseconds", None)
    if nanoseconds is not None:
        return int(nanoseconds)
    raise Fault(f"invalid operation: int({type_name(value)})")


def floating(value: Value) -> float:
    """Convert to a float."""
    if is_number(value):
        return float(value)
    if isinstance(value, str):
        number = parse_float(value)
        if number is None:
            raise Fault(f"invalid operation: float({value})")
        return number
    raise Fault(f"invalid operation: float({type_name(value)})")


def trim(text: Value, characters: Value = None) -> str:
    """Cut white space, or the given characters, from both ends."""
    if characters is None:
        return trim_space(string(text))
    return trim_set(string(text), string(characters))


def split(text: Value, separator: Value, limit: Value = -1) -> list[str]:
    """Split a string."""
    return split_text(string(text), string(separator), to_int(limit))


def split_keeping(text: Value, separator: Value, limit: Value = -1) -> list[str]:
    """Split a string after each separator."""
    return split_after(string(text), string(separator), to_int(limit))


def replace(text: Value, old: Value, new: Value, limit: Value = -1) -> str:
    """Replace the first ``limit`` places, or all of them."""
    source, before, after = string(text), string(old), string(new)
    places = source.count(before) if before else len(source) + 1
    if len(source) + places * max(len(after) - len(before), 0) > MAX_TEXT:
        raise LimitFault(f"replace would make more than {MAX_TEXT} characters")
    return source.replace(before, after, to_int(limit))


def repeat(text: Value, count: Value) -> str:
    """Repeat a string."""
    times = to_int(count)
    if times < 0:
        raise Fault(f"invalid argument for repeat (expected positive integer, got {times})")
    if times > 1_000_000 or times * len(string(text)) > MAX_TEXT:
        raise LimitFault("memory budget exceeded")
    return string(text) * times


def join(items: Value, glue: Value = "") -> str:
    """Join strings."""
    if not isinstance(items, list):
        raise Fault(f"invalid argument for join (type {type_name(items)})")
    return string(glue).join([string(item) for item in items])


def _extreme(name: str, operator: str) -> Callable[..., Value]:
    def best_of(*items: Value) -> Value:
        best: Value = None
        for item in items:
            if isinstance(item, list):
                inner = [_plain_number(name, best_of(element)) for element in item]
                candidates = [element for element in inner if element is not None]
            elif is_number(item):
                candidates = [item]
            elif len(items) == 1:
                return item
            else:
                raise Fault(f"invalid argument for {name} (type {type_name(item)})")
            for candidate in candidates:
                if best is None or compare(operator, best, candidate):
                    best = candidate
        return best

    return best_of


def _plain_number(name: str, value: Value) -> Value:
    if is_number(value):
        return value
    raise Fault(f"invalid argument for {name} (type {type_name(value)})")


def _numbers(name: str, items: tuple[Value, ...] | list[Value], level: int = 0) -> list[float]:
    if level > MAX_FLATTEN:
        raise LimitFault("recursion depth exceeded")
    found: list[float] = []
    for item in items:
        if isinstance(item, list):
            found.extend(_numbers(name, item, level + 1))
        else:
            found.append(float(_number(name, item)))
    return found


def mean(*items: Value) -> float:
    """Give the mean of all numbers, nested ones too."""
    numbers = _numbers("mean", items)
    total = 0.0
    for number in numbers:
        total += number
    return total / len(numbers) if numbers else 0.0


def median(*items: Value) -> float:
    """Give the middle of all numbers, nested ones too."""
    numbers = sorted(_numbers("median", items))
    middle = len(numbers) // 2
    if not numbers:
        return 0.0
    return numbers[middle] if len(numbers) % 2 else (numbers[middle - 1] + numbers[middle]) / 2


def to_base64(text: Value) -> str:
    """Encode the bytes of a string."""
    return base64.b64encode(string(text).encode("utf-8", "surrogateescape")).decode()


def from_base64(text: Value) -> str:
    """Decode to a string."""
    source = string(text).replace("\n", "").replace("\r", "")
    try:
        raw = base64.b64decode(source, validate=True)
    except (binascii.Error, ValueError):
        raise Fault(f"illegal base64 data at input byte {_bad_base64(source)}") from None
    return raw.decode("utf-8", "surrogateescape")


def _bad_base64(source: str) -> int:
    body = source.rstrip("=")
    for index, character in enumerate(body):
        if not (character.isascii() and (character.isalnum() or character in "+/")):
            return index
    return len(source) // 4 * 4 if len(source) % 4 else len(body)


def date(*given: Value) -> Instant:
    """Read an instant: text, then a layout, then a zone's name; a zone may stand first."""
    items = list(given)
    zone = items.pop(0) if items and isinstance(items[0], Zone) else None
    if not items:
        raise Fault("invalid number of arguments (expected at least 1, got 0)")
    text = string(items[0])
    if len(items) == 1:
        return layout.guess(text, zone)
    if len(items) == 3:
        zone = load_zone(string(items[2]))
    return layout.parse(string(items[1]), text, zone)


def first(items: Value) -> Value:
    """Give the first element (of a string: byte), or nil."""
    return get(items, 0) if isinstance(items, (list, str)) else None


def last(items: Value) -> Value:
    """Give the last element (of a string: byte), or nil."""
    return get(items, -1) if isinstance(items, (list, str)) else None


def take(items: Value, count: Value) -> list[Value]:
    """Give the first ``count`` elements."""
    source = array(items, "take from")
    if not is_int(count):
        raise Fault(f"cannot take {kind_name(count)} elements")
    if count < 0:
        raise Fault("reflect.Value.Slice: slice index out of bounds")
    return source[:count]


def _map(value: Value, doing: str, after: str = "") -> dict[Value, Value]:
    if isinstance(value, dict):
        return value
    raise Fault(f"cannot {doing} {kind_name(value)}{after}")


def from_pairs(items: Value) -> AnyMap:
    """Make a map of ``[key, value]`` lists."""
    result = AnyMap()
    for pair in array(items, "transform"):
        if not isinstance(pair, list):
            raise Fault(f"invalid pair {text_of(pair)}")
        if len(pair) != 2:
            raise Fault(f"invalid pair length {text_of(pair)}")
        result[hashable(pair[0])] = pair[1]
    return result


def hashable(key: Value) -> Value:
    """Take a value as a key; lists and maps cannot be one."""
    if isinstance(key, (list, dict)):
        raise Fault(f"runtime error: hash of unhashable type {type_name(key)}")
    # 1, 1.0 and true are three keys in Go and one in Python; only strings are common in practice.
    return key


def uniq(items: Value) -> list[Value]:
    """Drop later equals."""
    found: list[Value] = []
    for item in array(items, "uniq"):
        if len(found) > 1000:
            raise LimitFault("uniq takes at most 1000 different elements")
        if not any(equal(item, known) for known in found):
            found.append(item)
    return found


def concat(*lists: Value) -> list[Value]:
    """Join lists."""
    return [item for items in lists for item in array(items, "concat")]


def flatten(items: Value, level: int = 0) -> list[Value]:
    """Unpack nested lists."""
    if level > MAX_FLATTEN:
        raise LimitFault("recursion depth exceeded")
    flat: list[Value] = []
    for item in array(items, "flatten"):
        flat.extend(flatten(item, level + 1) if isinstance(item, list) else [item])
    return flat


def sort(items: Value, order: Value = "asc") -> list[Value] | None:
    """Sort numbers or strings."""
    if order not in {"asc", "desc"}:
        raise Fault(f"invalid order {text_of(order)}, expected asc or desc")
    if not isinstance(items, list):
        return None
    return sort_by(items, items, descending=order == "desc")


class _Ordered:
    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __lt__(self, other: _Ordered) -> bool:
        return compare("<", self.value, other.value)


def sort_by(items: list[Value], keys: list[Value], *, descending: bool) -> list[Value]:
    """Sort ``items`` by ``keys``; equals keep their order (expr-lang promises none)."""
    ordered = sorted(range(len(items)), key=lambda index: _Ordered(keys[index]), reverse=descending)
    return [items[index] for index in ordered]


def _bits(name: str, apply: Callable[[int, int], int]) -> Callable[[Value, Value], int]:
    def run(a: Value, b: Value) -> int:
        for value in (a, b):
            if not is_int(value):
                raise Fault(f"cannot use {type_name(value)} as argument (type int) to call {name}")
        if name in {"bitshl", "bitshr", "bitushr"} and b < 0:
            raise Fault(f"invalid operation: negative shift count {b} (type int)")
        return apply(a, b)

    return run


def _bitnot(value: Value) -> int:
    if not is_int(value):
        raise Fault(f"cannot use {type_name(value)} as argument (type int) to call bitnot")
    return ~int(value)


def get(source: Value, key: Value) -> Value:
    """Fetch without failing: nil where there is nothing."""
    if isinstance(source, dict):
        return source.get(hashable(key))
    if isinstance(source, (list, str)):
        index = to_int(key)
        data = source if isinstance(source, list) else source.encode("utf-8", "surrogateescape")
        index = index + len(data) if index < 0 else index
        return data[index] if 0 <= index < len(data) else None
    return None


BUILTINS: dict[str, Callable[..., Value]] = {
    "len": length,
    "type": type_word,
    "abs": absolute,
    "ceil": _rounding("ceil", lambda number: float(math.ceil(number)) + 0.0),
    "floor": _rounding("floor", lambda number: float(math.floor(number))),
    "round": _rounding("round", _half_away),
    "int": integer,
    "float": floating,
    "string": text_of,
    "trim": trim,
    "trimPrefix": lambda text, prefix=" ": string(text).removeprefix(string(prefix)),
    "trimSuffix": lambda text, suffix=" ": string(text).removesuffix(string(suffix)),
    "upper": lambda text: string(text).upper(),
    "lower": lambda text: string(text).lower(),
    "split": split,
    "splitAfter": split_keeping,
    "replace": replace,
    "repeat": repeat,
    "join": join,
    "indexOf": lambda text, part: byte_index(string(text), string(part)),
    "lastIndexOf": lambda text, part: last_byte_index(string(text), string(part)),
    "hasPrefix": lambda text, part: string(text).startswith(string(part)),
    "hasSuffix": lambda text, part: string(text).endswith(string(part)),
    "max": _extreme("max", "<"),
    "min": _extreme("min", ">"),
    "mean": mean,
    "median": median,
    "toJSON": lambda value: gojson.dump(value, indent="  "),
    "fromJSON": lambda text: gojson.load(string(text)),
    "toBase64": to_base64,
    "fromBase64": from_base64,
    "duration": lambda text: parse_duration(string(text)),
    "date": date,
    "timezone": lambda name: load_zone(string(name)),
    "first": first,
    "last": last,
    "get": get,
    "take": take,
    "keys": lambda value: list(_map(value, "get keys from")),
    "values": lambda value: list(_map(value, "get values from").values()),
    "toPairs": lambda value: [list(pair) for pair in _map(value, "transform", " to pairs").items()],
    "fromPairs": from_pairs,
    "reverse": lambda items: array(items, "reverse")[::-1],
    "uniq": uniq,
    "concat": concat,
    "flatten": flatten,
    "sort": sort,
    "bitand": _bits("bitand", lambda a, b: a & b),
    "bitor": _bits("bitor", lambda a, b: a | b),
    "bitxor": _bits("bitxor", lambda a, b: a ^ b),
    "bitnand": _bits("bitnand", lambda a, b: a & ~b),
    "bitshl": _bits("bitshl", lambda a, b: wrap(a << b) if b < 64 else 0),
    "bitshr": _bits("bitshr", lambda a, b: a >> min(b, 63)),
    "bitushr": _bits("bitushr", lambda a, b: wrap((a % 2**64) >> b) if b < 64 else 0),
    "bitnot": _bitnot,
}
