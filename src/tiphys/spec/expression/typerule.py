"""The rules of types: what operators and builtins give for the types they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tiphys.spec.expression.fault import Fault
from tiphys.spec.expression.nature import (
    ANY,
    ANY_MAP,
    ARRAY,
    BOOL,
    DURATION,
    FLOAT,
    GROUPS,
    INT,
    INTS,
    STRING,
    TIME,
    UNKNOWN,
    Nature,
    array_of,
    assignable,
    comparable,
)

# --- operators: the result for two types, or None where they do not fit ---


def _maybe(left: Nature, right: Nature, kinds: frozenset[str]) -> bool:
    """At least one is unknown, and the other would fit."""
    if left.unknown:
        return right.unknown or right.kind in kinds
    return right.unknown and left.kind in kinds


_NUMBERS = frozenset(["int", "float"])
_ORDERED = _NUMBERS | {"string", "time", "duration"}


def _equality(left: Nature, right: Nature) -> Nature | None:
    return BOOL if comparable(left, right) else None


def _both(kind: str, result: Nature) -> Callable[[Nature, Nature], Nature | None]:
    kinds = frozenset([kind])

    def rule(left: Nature, right: Nature) -> Nature | None:
        fits = left.kind == right.kind == kind or _maybe(left, right, kinds)
        return result if fits else None

    return rule


def _ordering(left: Nature, right: Nature) -> Nature | None:
    same = left.kind == right.kind and left.kind in {"string", "time", "duration"}
    fits = (left.number and right.number) or same or _maybe(left, right, _ORDERED)
    return BOOL if fits else None


def _promoted(left: Nature, right: Nature) -> Nature:
    return FLOAT if "float" in {left.kind, right.kind} else INT


def _arithmetic(
    table: Mapping[tuple[str, str], Nature], kinds: frozenset[str]
) -> Callable[[Nature, Nature], Nature | None]:
    def rule(left: Nature, right: Nature) -> Nature | None:
        if left.number and right.number:
            return _promoted(left, right)
        found = table.get((left.kind, right.kind))
        if found is not None:
            return found
        return UNKNOWN if _maybe(left, right, kinds) else None

    return rule


def _real(left: Nature, right: Nature) -> Nature | None:
    fits = (left.number and right.number) or _maybe(left, right, _NUMBERS)
    return FLOAT if fits else None


def _coalesced(left: Nature, right: Nature) -> Nature:
    if left.kind == "nil":
        return right
    if right.kind == "nil" or assignable(right, left):
        return left
    return UNKNOWN


_TEXTS = _both("string", BOOL)
_TIMES = {
    ("time", "duration"): TIME,
    ("duration", "time"): TIME,
    ("duration", "duration"): DURATION,
}
OPERATIONS: dict[str, Callable[[Nature, Nature], Nature | None]] = {
    **dict.fromkeys(["==", "!="], _equality),
    **dict.fromkeys(["&&", "and", "||", "or"], _both("bool", BOOL)),
    **dict.fromkeys(["<", "<=", ">", ">="], _ordering),
    **dict.fromkeys(["matches", "contains", "startsWith", "endsWith"], _TEXTS),
    "+": _arithmetic({**_TIMES, ("string", "string"): STRING}, _ORDERED),
    "-": _arithmetic(
        {
            ("time", "time"): DURATION,
            ("time", "duration"): TIME,
            ("duration", "duration"): DURATION,
        },
        _NUMBERS | {"time", "duration"},
    ),
    "*": _arithmetic(
        {
            (one, other): DURATION
            for one in ("int", "float", "duration")
            for other in ("int", "float", "duration")
        },
        _NUMBERS | {"duration"},
    ),
    "/": _real,
    "**": _real,
    "^": _real,
    "%": _both("int", INT),
    "..": _both("int", INTS),
    "??": _coalesced,
}

# --- builtins with a predicate ---

BOOLEAN_LOOPS = frozenset(
    [
        "all",
        "none",
        "any",
        "one",
        "filter",
        "count",
        "find",
        "findIndex",
        "findLast",
        "findLastIndex",
    ]
)


def _element(collection: Nature, _: Nature) -> Nature:
    return UNKNOWN if collection.unknown else collection.of_elements()


def _filtered(collection: Nature, _: Nature) -> Nature:
    return ARRAY if collection.unknown else array_of(collection.of_elements())


LOOP_RULES: dict[str, Callable[[Nature, Nature], Nature]] = {
    **dict.fromkeys(["all", "none", "any", "one"], lambda collection, result: BOOL),
    **dict.fromkeys(["count", "findIndex", "findLastIndex"], lambda collection, result: INT),
    "filter": _filtered,
    "map": lambda collection, result: array_of(result),
    "sum": lambda collection, result: result,
    "find": _element,
    "findLast": _element,
    "groupBy": lambda collection, result: GROUPS,
    "sortBy": lambda collection, result: collection,
    "reduce": lambda collection, result: result,
}

# --- builtins whose rule is more than a signature ---


def _count(given: list[Nature], expected: int) -> None:
    if len(given) != expected:
        raise Fault(f"invalid number of arguments (expected {expected}, got {len(given)})")


def _unary_rule(
    kinds: frozenset[str], result: Callable[[Nature], Nature], complaint: str
) -> Callable[[str, list[Nature]], Nature]:
    def rule(name: str, given: list[Nature]) -> Nature:
        _count(given, 1)
        if not given[0].unknown and given[0].kind not in kinds:
            raise Fault(complaint.format(name=name, type=_shown(given[0])))
        return result(given[0])

    return rule


def _shown(nature: Nature) -> str:
    return "%!s(<nil>)" if nature.kind == "nil" else nature.name


def _aggregate(name: str, given: list[Nature]) -> Nature:
    if not given:
        raise Fault(f"not enough arguments to call {name}")
    for nature in given:
        if nature.unknown or nature.kind == "array":
            return ANY
        if not nature.number:
            raise Fault(f"invalid argument for {name} (type {_shown(nature)})")
    return given[0]


def _take(_: str, given: list[Nature]) -> Nature:
    _count(given, 2)
    if not given[0].unknown and given[0].kind != "array":
        raise Fault(f"cannot take from {_shown(given[0])}")
    if not given[1].unknown and given[1].kind != "int":
        raise Fault(f"cannot take {_shown(given[1])} elements")
    return given[0]


def _concat(_: str, given: list[Nature]) -> Nature:
    if not given:
        raise Fault("invalid number of arguments (expected at least 1, got 0)")
    for nature in given:
        if not nature.unknown and nature.kind != "array":
            raise Fault(f"cannot concat {_shown(nature)}")
    return ARRAY


def _now(_: str, given: list[Nature]) -> Nature:
    if not given or (len(given) == 1 and given[0].kind == "zone"):
        return TIME
    raise Fault(f"invalid number of arguments (expected 0, got {len(given)})")


def _date(_: str, given: list[Nature]) -> Nature:
    if not given:
        raise Fault("invalid number of arguments (expected at least 1, got 0)")
    rest = given[1:] if given[0].kind == "zone" else given
    if len(rest) > 3:
        raise Fault(f"invalid number of arguments (expected at most 3, got {len(rest)})")
    return TIME


_INVALID = "invalid argument for {name} (type {type})"
_ARRAYS = frozenset(["array"])
_MAPS = frozenset(["map"])
RULES: dict[str, Callable[[str, list[Nature]], Nature]] = {
    "len": _unary_rule(frozenset(["array", "map", "string"]), lambda _: INT, _INVALID),
    "abs": _unary_rule(_NUMBERS, lambda nature: nature, _INVALID),
    **dict.fromkeys(["ceil", "floor", "round"], _unary_rule(_NUMBERS, lambda _: FLOAT, _INVALID)),
    "int": _unary_rule(_NUMBERS | {"string", "duration", "named"}, lambda _: INT, _INVALID),
    "float": _unary_rule(_NUMBERS | {"string"}, lambda _: FLOAT, _INVALID),
    **dict.fromkeys(["max", "min", "mean", "median"], _aggregate),
    "now": _now,
    "date": _date,
    "first": _unary_rule(_ARRAYS, Nature.of_elements, "cannot get first element from {type}"),
    "last": _unary_rule(_ARRAYS, Nature.of_elements, "cannot get last element from {type}"),
    "take": _take,
    "keys": _unary_rule(_MAPS, lambda _: ARRAY, "cannot get keys from {type}"),
    "values": _unary_rule(_MAPS, lambda _: ARRAY, "cannot get values from {type}"),
    "toPairs": _unary_rule(_MAPS, lambda _: ARRAY, "cannot transform {type} to pairs"),
    "fromPairs": _unary_rule(_ARRAYS, lambda _: ANY_MAP, "cannot transform {type} from pairs"),
    "reverse": _unary_rule(_ARRAYS, lambda _: ARRAY, "cannot reverse {type}"),
    "uniq": _unary_rule(_ARRAYS, lambda _: ARRAY, "cannot uniq {type}"),
    "concat": _concat,
    "flatten": _unary_rule(_ARRAYS, lambda _: ARRAY, "cannot flatten {type}"),
}
