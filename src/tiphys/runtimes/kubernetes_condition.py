"""``successCondition`` and ``failureCondition``: requirements over the fields of an object. Pure.

Written like label selectors (``status.phase == Succeeded, status.active > 0``), with paths in
place of labels: dots between names, a number picks from a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tiphys.errors import RuntimeFailure

_PATH = r"[A-Za-z0-9_](?:[A-Za-z0-9_./\\#-]*[A-Za-z0-9_#])?"
_COMPARE = re.compile(rf"({_PATH})\s*(==|=|!=|>|<)\s*(.*)")
_MEMBER = re.compile(rf"({_PATH})\s+(in|notin)\s*\(([^()]*)\)")
_PRESENT = re.compile(rf"(!?)\s*({_PATH})")


def holds(condition: str, thing: Any) -> bool:
    """Tell whether all requirements of a condition are met."""
    return all(requirement(part)(thing) for part in re.split(r",(?![^(]*\))", condition))


def requirement(text: str) -> Callable[[Any], bool]:
    """Read one requirement."""
    part = text.strip()
    if found := _MEMBER.fullmatch(part):
        path, wanted = found[1], found[2] == "in"
        values = {value.strip() for value in found[3].split(",")}
        return lambda thing: (_value(thing, path) in values) == wanted
    if found := _COMPARE.fullmatch(part):
        return _comparison(found[1], found[2], found[3].strip())
    if found := _PRESENT.fullmatch(part):
        path, absent = found[2], bool(found[1])
        return lambda thing: (_value(thing, path) is None) == absent
    raise RuntimeFailure(f"cannot read the condition {part[:200]!r}")


def _comparison(path: str, sign: str, value: str) -> Callable[[Any], bool]:
    if sign in ("==", "="):
        return lambda thing: _value(thing, path) == value
    if sign == "!=":
        return lambda thing: _value(thing, path) != value
    try:
        limit = int(value)
    except ValueError:
        raise RuntimeFailure(f"the condition on {path} compares with no number") from None
    more = sign == ">"

    def compare(thing: Any) -> bool:
        try:
            found = int(_value(thing, path) or "")
        except ValueError:
            return False
        return found > limit if more else found < limit

    return compare


def _value(thing: Any, path: str) -> str | None:
    """Give the text of what lies at a path, None where nothing does."""
    for part in re.split(r"(?<!\\)\.", path):
        name = part.replace("\\.", ".")
        if isinstance(thing, list) and name == "#":
            thing = len(thing)
        elif isinstance(thing, list) and name.isdigit() and int(name) < len(thing):
            thing = thing[int(name)]
        elif isinstance(thing, dict) and name in thing:
            thing = thing[name]
        else:
            return None
    if isinstance(thing, bool):
        return str(thing).lower()
    return None if thing is None else str(thing)
