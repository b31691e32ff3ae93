"""What is wrong with a body or a query, in words for those who wrote it.

pydantic knows where a value is wrong and what was expected. Here its words become ours, with a hint
where the value itself shows what was meant: a number that must be text wants quotes, a field that
is almost one of ours is named. A value that could be one of several things is told of once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel

_WORDS = {
    "missing": "is needed",
    "extra_forbidden": "there is no such field",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "list_type": "must be a list",
    "literal_error": "must be {expected}",
    "string_too_long": "may have at most {max_length} characters",
    "too_long": "may have at most {max_length} entries",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
}
_SHORT = 40
_NOTHING = object()


def faults(
    errors: Iterable[Any], value: Any = _NOTHING, kind: type[BaseModel] | None = None
) -> list[tuple[str, str]]:
    """Give path and message of each value that is wrong; ``value`` is what was sent."""
    found: dict[str, list[str]] = {}
    for error in errors:
        place, given = _place(error, value)
        words = found.setdefault(".".join(str(part) for part in place), [])
        text = _text(error)
        hint = _hint(error, given, kind)
        words.append(f"{text} ({hint})" if hint else text)
    return [(path, _joined(words)) for path, words in found.items()]


def _place(error: Mapping[str, Any], value: Any) -> tuple[list[Any], Any]:
    """Give the path without pydantic's names for the choices of a union, and what stands there."""
    if value is _NOTHING:
        return list(error["loc"]), _NOTHING
    path: list[Any] = []
    for part in error["loc"]:
        below = _below(value, part)
        if below is _NOTHING and error["type"] != "missing":
            break
        value = below
        path.append(part)
    return path, value


def _below(value: Any, part: Any) -> Any:
    if isinstance(value, Mapping):
        return value.get(part, _NOTHING)
    inside = isinstance(value, list) and isinstance(part, int) and part < len(value)
    return value[part] if inside else _NOTHING


def _text(error: Mapping[str, Any]) -> str:
    context = error.get("ctx") or {}
    if error["type"] == "string_too_short" and context.get("min_length") == 1:
        return "must not be empty"
    words = _WORDS.get(error["type"])
    if words is None:
        plain: str = error["msg"].removeprefix("Value error, ")
        return plain.replace("Input should", "should", 1)
    return words.format(**context)


def _hint(error: Mapping[str, Any], given: Any, kind: type[BaseModel] | None) -> str:
    type_, name = error["type"], str(error["loc"][-1]) if error["loc"] else ""
    if type_ == "extra_forbidden" and kind is not None and len(error["loc"]) == 1:
        return _meant(name, kind)
    if type_ == "string_type":
        if isinstance(given, bool | int | float):
            shown = json.dumps(given)
            return f'put it in quotes: "{shown}"' if len(shown) < _SHORT else "put it in quotes"
        if isinstance(given, Mapping | list) and name.endswith("_yaml"):
            return "the text of the file, not what it holds"
    if type_ in ("int_type", "float_type", "bool_type") and _is_quoted(given):
        return "without quotes"
    if type_ == "dict_type" and isinstance(given, list):
        return 'such as {"name": "value"}'
    return ""


def _meant(name: str, kind: type[BaseModel]) -> str:
    known = [field.alias or key for key, field in kind.model_fields.items()]
    plain = {each.replace("_", "").lower(): each for each in known}
    near = get_close_matches(name.replace("_", "").replace("-", "").lower(), plain, n=1)
    if near:
        return f"did you mean {plain[near[0]]}?"
    return f"there are {', '.join(known)}" if known else "it takes none"


def _is_quoted(given: Any) -> bool:
    if not isinstance(given, str):
        return False
    try:
        return isinstance(json.loads(given), bool | int | float)
    except ValueError:
        return False


def _joined(words: list[str]) -> str:
    """Tell what a value may be once: ``must be a whole number, or 'high' or 'low'``."""
    first, *rest = dict.fromkeys(words)
    return ", or ".join([first, *(each.removeprefix("must be ") for each in rest)])
