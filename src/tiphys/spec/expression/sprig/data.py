"""sprig's functions on lists, maps and defaults, on JSON, and on the types of values.

Functions that change a map in Go give a changed copy here: an expression must not alter the data
of the workflow it was given.
"""

from __future__ import annotations

from collections.abc import Callable

from tiphys.spec.expression import gojson
from tiphys.spec.expression.builtin import kind_name
from tiphys.spec.expression.fault import Fault, LimitFault
from tiphys.spec.expression.moment import Instant
from tiphys.spec.expression.sprig.argument import flag, items, mapping, shown, text, to_int64, whole
from tiphys.spec.expression.value import Value, same, type_name

MAX_COMPARED = 1000
"""Different elements that uniq and without compare with each other."""


def empty(value: Value) -> bool:
    """Tell whether a value is nil, zero, false or without contents."""
    if isinstance(value, Instant):
        return False
    if isinstance(value, float):
        return value == 0
    return not value


def default(fallback: Value, *given: Value) -> Value:
    """Give the value, or the fallback where it is empty."""
    return fallback if not given or empty(given[0]) else given[0]


def coalesce(*values: Value) -> Value:
    """Give the first that is not empty."""
    return next((value for value in values if not empty(value)), None)


def _found(values: list[Value], needle: Value) -> bool:
    return any(same(needle, value) for value in values)


def uniq(values: Value) -> list[Value]:
    """Drop later equals."""
    kept: list[Value] = []
    for value in items(values, "Cannot find uniq on"):
        if len(kept) > MAX_COMPARED:
            raise LimitFault(f"uniq takes at most {MAX_COMPARED} different elements")
        if not _found(kept, value):
            kept.append(value)
    return kept


def without(values: Value, *omitted: Value) -> list[Value]:
    """Drop the given elements."""
    source = items(values, "Cannot find without on")
    return [value for value in source if not _found(list(omitted), value)]


def has(needle: Value, values: Value) -> bool:
    """Tell whether a list has an element."""
    return values is not None and _found(items(values, "Cannot find has on"), needle)


def chunk(size: Value, values: Value) -> list[Value]:
    """Cut a list into lists of ``size``."""
    source, width = items(values, "Cannot chunk"), whole(size)
    if width <= 0:
        raise Fault("runtime error: makeslice: len out of range")
    return [source[at : at + width] for at in range(0, len(source), width)]


def slice_of(values: Value, *bounds: Value) -> Value:
    """Cut a list."""
    source = items(values, "list should be type of slice or array but")
    if not source:
        return None
    start = to_int64(bounds[0]) if bounds else 0
    end = to_int64(bounds[1]) if len(bounds) > 1 else len(source)
    if not 0 <= start <= end <= len(source):
        raise Fault("reflect.Value.Slice: slice index out of bounds")
    return source[start:end]


def concat(*lists: Value) -> Value:
    """Join lists."""
    joined: list[Value] = []
    for one in lists:
        if not isinstance(one, list):
            raise Fault(f"Cannot concat type {kind_name(one)} as list")
        joined.extend(one)
    return joined or None


def _part(doing: str, cut: Callable[[list[Value]], Value]) -> Callable[[Value], Value]:
    def one(values: Value) -> Value:
        source = items(values, f"Cannot find {doing} on")
        return cut(source) if source else None

    return one


def dictionary(*values: Value) -> dict[str, Value]:
    """Make a map of keys and values in turn."""
    padded = [*values, ""] if len(values) % 2 else list(values)
    return {shown(key): value for key, value in zip(padded[::2], padded[1::2], strict=True)}


def dig(*given: Value) -> Value:
    """Follow keys into nested maps; the last two arguments are the default and the map."""
    if len(given) < 3:
        raise Fault("dig needs at least three arguments")
    *path, fallback, node = given
    for key in path:
        if type(node) is not dict:
            raise Fault(
                f"interface conversion: interface {{}} is {type_name(node)}, "
                "not map[string]interface {}"
            )
        if key not in node:
            return fallback
        node = node[key]
    return node


def merge(target: Value, *sources: Value) -> Value:
    """Fill what is empty in ``target`` from the others, deeply."""
    result = mapping(target)
    for source in sources:
        result = _merged(result, mapping(source), overwrite=False)
    return result


def merge_overwrite(target: Value, *sources: Value) -> Value:
    """Write the others over ``target``, deeply."""
    result = mapping(target)
    for source in sources:
        result = _merged(result, mapping(source), overwrite=True)
    return result


def _merged(
    target: dict[str, Value], source: dict[str, Value], *, overwrite: bool
) -> dict[str, Value]:
    result = dict(target)
    for key, value in source.items():
        present = result.get(key)
        if type(present) is dict and type(value) is dict:
            result[key] = _merged(present, value, overwrite=overwrite)
        elif overwrite or key not in result or empty(present):
            result[key] = value
    return result


def _quiet_json(write: Callable[[Value], str]) -> Callable[[Value], str]:
    def one(value: Value) -> str:
        try:
            return write(value)
        except Fault:
            return ""

    return one


def from_json(source: Value) -> Value:
    """Read JSON; nil where it cannot be read."""
    try:
        return gojson.load(text(source))
    except Fault:
        return None


def _pretty(value: Value) -> str:
    return gojson.dump(value, indent="  ")


def _raw(value: Value) -> str:
    return gojson.dump(value, html=False)


def kind_of(value: Value) -> str:
    """Name the kind of a value."""
    return "struct" if isinstance(value, Instant) else kind_name(value)


def _prepend(values: Value, value: Value) -> list[Value]:
    return [value, *items(values, "Cannot prepend on")]


def _append(values: Value, value: Value) -> list[Value]:
    return [*items(values, "Cannot push on"), value]


def _compact(values: Value) -> list[Value]:
    return [value for value in items(values, "Cannot compact on") if not empty(value)]


def _reverse(values: Value) -> list[Value]:
    return items(values, "Cannot find reverse on")[::-1]


_LISTS: dict[str, Callable[..., Value]] = {
    "append": _append,
    "push": _append,
    "prepend": _prepend,
    "first": _part("first", lambda source: source[0]),
    "last": _part("last", lambda source: source[-1]),
    "rest": _part("rest", lambda source: source[1:]),
    "initial": _part("initial", lambda source: source[:-1]),
    "reverse": _reverse,
    "uniq": uniq,
    "without": without,
    "has": has,
    "slice": slice_of,
    "chunk": chunk,
    "compact": _compact,
    "deepCopy": lambda value: value,
    "merge": merge,
    "mergeOverwrite": merge_overwrite,
}


def _must(name: str) -> str:
    return "must" + name[0].upper() + name[1:]


DATA: dict[str, Callable[..., Value]] = {
    **_LISTS,
    **{_must(name): call for name, call in _LISTS.items()},
    "default": default,
    "empty": empty,
    "coalesce": coalesce,
    "all": lambda *values: not any(map(empty, values)),
    "any": lambda *values: not all(map(empty, values)),
    "ternary": lambda yes, no, chosen: yes if flag(chosen) else no,
    "fromJson": from_json,
    "mustFromJson": lambda source: gojson.load(text(source)),
    "toJson": _quiet_json(gojson.dump),
    "mustToJson": gojson.dump,
    "toPrettyJson": _quiet_json(_pretty),
    "mustToPrettyJson": _pretty,
    "toRawJson": _raw,
    "mustToRawJson": _raw,
    "typeOf": type_name,
    "typeIs": lambda target, value: text(target) == type_name(value),
    "typeIsLike": lambda target, value: type_name(value) in {text(target), "*" + text(target)},
    "kindOf": kind_of,
    "kindIs": lambda target, value: text(target) == kind_of(value),
    "deepEqual": same,
    "list": lambda *values: list(values),
    "tuple": lambda *values: list(values),
    "concat": concat,
    "dict": dictionary,
    "get": lambda source, key: mapping(source).get(text(key), ""),
    "set": lambda source, key, value: {**mapping(source), text(key): value},
    "unset": lambda source, key: {k: v for k, v in mapping(source).items() if k != text(key)},
    "hasKey": lambda source, key: text(key) in mapping(source),
    "pluck": lambda key, *sources: [
        mapping(source)[text(key)] for source in sources if text(key) in mapping(source)
    ],
    "keys": lambda *sources: [key for source in sources for key in mapping(source)],
    "values": lambda source: list(mapping(source).values()),
    "pick": lambda source, *keys: {
        text(key): mapping(source)[text(key)] for key in keys if text(key) in mapping(source)
    },
    "omit": lambda source, *keys: {k: v for k, v in mapping(source).items() if k not in keys},
    "dig": dig,
}
