"""The types of expr-lang's builtins, of Argo's functions and of the methods of times.

A signature is its parameters and its result; a builtin may have several. Those whose result
depends on more than that have a rule of their own in ``checker``.
"""

from __future__ import annotations

from typing import Final

from tiphys.spec.expression.nature import (
    ANY,
    ARRAY,
    BOOL,
    DURATION,
    FLOAT,
    FLOATS,
    INT,
    INTS,
    MONTH,
    STRING,
    STRINGS,
    TIME,
    WEEKDAY,
    ZONE,
    Nature,
)

Signature = tuple[tuple[Nature, ...], Nature]

_TEXT: Final[Signature] = ((STRING,), STRING)
_TEXTS_TEXT: Final[Signature] = ((STRING, STRING), STRING)
_BITS: Final[tuple[Signature, ...]] = (((INT, INT), INT),)
_SPLIT: Final[tuple[Signature, ...]] = (
    ((STRING, STRING), STRINGS),
    ((STRING, STRING, INT), STRINGS),
)

BUILTIN_SIGNATURES: Final[dict[str, tuple[Signature, ...]]] = {
    "type": (((ANY,), STRING),),
    "string": (((ANY,), STRING),),
    "trim": (_TEXT, _TEXTS_TEXT),
    "trimPrefix": (_TEXTS_TEXT, _TEXT),
    "trimSuffix": (_TEXTS_TEXT, _TEXT),
    "upper": (_TEXT,),
    "lower": (_TEXT,),
    "split": _SPLIT,
    "splitAfter": _SPLIT,
    "replace": (((STRING, STRING, STRING, INT), STRING), ((STRING, STRING, STRING), STRING)),
    "repeat": (((STRING, INT), STRING),),
    "join": (
        ((ARRAY, STRING), STRING),
        ((ARRAY,), STRING),
        ((STRINGS, STRING), STRING),
        ((STRINGS,), STRING),
    ),
    "indexOf": (((STRING, STRING), INT),),
    "lastIndexOf": (((STRING, STRING), INT),),
    "hasPrefix": (((STRING, STRING), BOOL),),
    "hasSuffix": (((STRING, STRING), BOOL),),
    "toJSON": (((ANY,), STRING),),
    "fromJSON": (((STRING,), ANY),),
    "toBase64": (_TEXT,),
    "fromBase64": (_TEXT,),
    "duration": (((STRING,), DURATION),),
    "timezone": (((STRING,), ZONE),),
    "sort": (
        ((ARRAY, STRING), ARRAY),
        ((INTS, STRING), ARRAY),
        ((FLOATS, STRING), ARRAY),
        ((STRINGS, STRING), ARRAY),
        ((ARRAY,), ARRAY),
        ((FLOATS,), ARRAY),
        ((STRINGS,), ARRAY),
        ((INTS,), ARRAY),
    ),
    **dict.fromkeys(["bitand", "bitor", "bitxor", "bitnand", "bitshl", "bitshr", "bitushr"], _BITS),
    "bitnot": (((INT,), INT),),
}

FUNCTION_SIGNATURES: Final[dict[str, Signature]] = {
    "asInt": ((ANY,), ANY),
    "asFloat": ((ANY,), ANY),
    "jsonpath": ((STRING, STRING), ANY),
    "toJson": ((ANY,), STRING),
}

METHOD_SIGNATURES: Final[dict[str, dict[str, Signature]]] = {
    "time": {
        **dict.fromkeys(
            [
                "Year",
                "Day",
                "Hour",
                "Minute",
                "Second",
                "Nanosecond",
                "YearDay",
                "Unix",
                "UnixMilli",
                "UnixMicro",
                "UnixNano",
            ],
            ((), INT),
        ),
        "Month": ((), MONTH),
        "Weekday": ((), WEEKDAY),
        "Format": ((STRING,), STRING),
        "String": ((), STRING),
        "Add": ((DURATION,), TIME),
        "Sub": ((TIME,), DURATION),
        "AddDate": ((INT, INT, INT), TIME),
        **dict.fromkeys(["Before", "After", "Equal"], ((TIME,), BOOL)),
        "Compare": ((TIME,), INT),
        "IsZero": ((), BOOL),
        "UTC": ((), TIME),
        "Local": ((), TIME),
        "In": ((ZONE,), TIME),
        "Location": ((), ZONE),
        "Truncate": ((DURATION,), TIME),
    },
    "duration": {
        **dict.fromkeys(["Hours", "Minutes", "Seconds"], ((), FLOAT)),
        **dict.fromkeys(["Milliseconds", "Microseconds", "Nanoseconds"], ((), INT)),
        "String": ((), STRING),
        "Abs": ((), DURATION),
        "Round": ((DURATION,), DURATION),
        "Truncate": ((DURATION,), DURATION),
    },
    "zone": {"String": ((), STRING)},
    "named": {"String": ((), STRING)},
}

BUILTIN_NAMES: Final = frozenset(
    [
        "all",
        "none",
        "any",
        "one",
        "filter",
        "map",
        "find",
        "findIndex",
        "findLast",
        "findLastIndex",
        "count",
        "sum",
        "groupBy",
        "sortBy",
        "reduce",
        "len",
        "abs",
        "ceil",
        "floor",
        "round",
        "int",
        "float",
        "max",
        "min",
        "mean",
        "median",
        "now",
        "date",
        "first",
        "last",
        "get",
        "take",
        "keys",
        "values",
        "toPairs",
        "fromPairs",
        "reverse",
        "uniq",
        "concat",
        "flatten",
    ]
) | frozenset(BUILTIN_SIGNATURES)
