"""What can be known of a value before running: its type, as expr-lang's checker sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tiphys.spec.expression.moment import Duration, Instant, Zone
from tiphys.spec.expression.value import AnyMap, Function, Groups, Value


@dataclass(frozen=True, slots=True)
class Nature:
    """A type. ``kind`` decides what may be done with it, ``name`` is its name in Go."""

    kind: str
    name: str
    element: Nature | None = None

    @property
    def unknown(self) -> bool:
        """Nothing is known: everything is allowed until it runs."""
        return self.kind in {"unknown", "any"}

    @property
    def number(self) -> bool:
        """An integer or a float."""
        return self.kind in {"int", "float"}

    def of_elements(self) -> Nature:
        """Give the type of the elements of an array or a map."""
        return self.element or ANY


UNKNOWN: Final = Nature("unknown", "unknown")
"""Not even a type, as the member of something unknown."""
ANY: Final = Nature("any", "interface {}")
NIL: Final = Nature("nil", "unknown")
BOOL: Final = Nature("bool", "bool")
INT: Final = Nature("int", "int")
FLOAT: Final = Nature("float", "float64")
STRING: Final = Nature("string", "string")
TIME: Final = Nature("time", "time.Time")
DURATION: Final = Nature("duration", "time.Duration")
MONTH: Final = Nature("named", "time.Month")
WEEKDAY: Final = Nature("named", "time.Weekday")
ZONE: Final = Nature("zone", "*time.Location")
ARRAY: Final = Nature("array", "[]interface {}")
STRINGS: Final = Nature("array", "[]string", STRING)
INTS: Final = Nature("array", "[]int", INT)
FLOATS: Final = Nature("array", "[]float64", FLOAT)
MAP: Final = Nature("map", "map[string]interface {}")
ANY_MAP: Final = Nature("map", "map[interface {}]interface {}")
GROUPS: Final = Nature("map", "map[interface {}][]interface {}", ARRAY)
FUNCTION: Final = Nature("func", "func")
ABSENT: Final = Nature("absent", "absent")
"""No such name; only for the memory of checks."""

_BY_TYPE: Final[dict[type, Nature]] = {
    type(None): NIL,
    bool: BOOL,
    int: INT,
    float: FLOAT,
    str: STRING,
    list: ARRAY,
    dict: MAP,
    AnyMap: ANY_MAP,
    Groups: GROUPS,
    Instant: TIME,
    Duration: DURATION,
    Zone: ZONE,
    Function: FUNCTION,
}


def nature_of(value: Value) -> Nature:
    """Give the type of a value of the environment."""
    return _BY_TYPE.get(type(value), UNKNOWN)


def array_of(element: Nature) -> Nature:
    """Give the type of a list made by the language: Go's ``[]any`` with known elements."""
    return Nature("array", "[]interface {}", element)


def assignable(value: Nature, target: Nature) -> bool:
    """Tell whether Go would assign one to the other."""
    if value.kind == "nil":
        return target.kind in {"any", "map", "array", "func", "zone"}
    if value.kind == "unknown" or target.kind == "unknown":
        return False
    return target.kind == "any" or value.name == target.name


def comparable(a: Nature, b: Nature) -> bool:
    """Tell whether ``==`` makes sense."""
    if a.unknown or b.unknown or "nil" in {a.kind, b.kind}:
        return True
    if (a.number and b.number) or (a.kind == "array" and b.kind == "array"):
        return True
    return assignable(a, b)
