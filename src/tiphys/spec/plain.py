"""Plain JSON read quickly: the many texts that programs write, and that are only read once more.

JSON is YAML as well, but the way over YAML's events is ten times as long. What is read here is what
`spec.yaml` would give for the same text; whatever it might read otherwise, and whatever is wrong or
too large, is left to it (``NOT_PLAIN``).
"""

from __future__ import annotations

import re
from typing import Any

_LONGEST_INTEGER = 15
_ELSEWHERE = ("\t", "\x85", "\u2028", "\u2029")
"""Tabs between values, and breaks of lines that JSON does not know."""
_HALF = r"\\u[dD][89a-fA-F]"
"""Half of a character that stands as two escapes, if the other half is there."""


class _NotPlainError(ValueError):
    """It is for YAML to tell what this is."""


NOT_PLAIN = object()


def read(text: str, *, most: int, depth: int) -> Any:
    """Give the value of a JSON object with at most so many values and levels, else NOT_PLAIN."""
    if not text.lstrip().startswith("{") or _might_exceed(text, most) or _is_special(text):
        return NOT_PLAIN
    import json  # noqa: PLC0415 - most texts that people write are not JSON

    try:
        value = json.loads(
            text,
            object_pairs_hook=_mapping,
            parse_int=_integer,
            parse_float=_refused,
            parse_constant=_refused,
        )
    except (ValueError, RecursionError):
        return NOT_PLAIN
    return NOT_PLAIN if _is_deeper(value, depth) else value


def _might_exceed(text: str, most: int) -> bool:
    """Count what stands before each value and key; inside of texts it counts too much."""
    return sum(map(text.count, ",:{[")) >= most


def _is_special(text: str) -> bool:
    """Tell whether YAML might read it otherwise."""
    if any(each in text for each in _ELSEWHERE):
        return True
    # One character is found many times faster than two.
    return "\\" in text and "\\u" in text and re.search(_HALF, text) is not None


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _NotPlainError
    return found


def _integer(text: str) -> int:
    if len(text) > _LONGEST_INTEGER or text == "-0":
        raise _NotPlainError
    return int(text)


def _refused(text: str) -> Any:
    raise _NotPlainError(text)


def _is_deeper(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth + 1):
        inner: list[Any] = []
        for item in level:
            values = item.values() if isinstance(item, dict) else item
            if not {dict, list}.isdisjoint(map(type, values)):
                inner += [each for each in values if isinstance(each, dict | list)]
        level = inner
    return bool(level)
