"""JSONPath as Argo's ``jsonpath()`` understands it.

A path is split into steps, and each step takes the rest of the path along: ``*``, ``..``, ranges,
unions and filters run the rest for each element and drop what finds nothing. Filters and scripts
in brackets are the business of ``pathscript``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from tiphys.errors import ExpressionError
from tiphys.spec.expression.fault import MAX_CONDITION, MAX_STEPS, Fault, LimitFault
from tiphys.spec.expression.gostring import byte_length
from tiphys.spec.expression.pathscript import Script, compile_script, integer_of
from tiphys.spec.expression.value import Int64, Value

Argument: TypeAlias = "int | str | Script | None"


@dataclass(frozen=True, slots=True)
class Step:
    """One part of a path."""

    kind: str
    name: str = ""
    number: int = 0
    script: Script | None = None
    arguments: tuple[Argument, ...] = ()


@dataclass(slots=True)
class _Walk:
    """One query: the root of the data, and the work done so far."""

    root: Value
    steps: int = field(default=0)

    def count(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise LimitFault(f"JSONPath takes more than {MAX_STEPS} steps")


def json_path(expression: str, data: object) -> object:
    """Query ``data``; ``ExpressionError`` where the path is wrong or leads nowhere."""
    try:
        return query(expression, data)
    except Fault as fault:
        raise fault.error(expression) from None
    except RecursionError:
        raise ExpressionError("JSONPath goes too deep") from None


def query(expression: str, data: Value) -> Value:
    """Query ``data``; a ``Fault`` where the path is wrong or leads nowhere."""
    return run(compile_path(expression), data, data)


def run(path: tuple[Step, ...], root: Value, current: Value) -> Value:
    """Follow ``path``; its first step chooses between root and current."""
    return _apply(path, _Walk(root), current)


def _follow(text: str, root: Value, current: Value) -> Value:
    return run(compile_path(text), root, current)


@lru_cache(maxsize=512)
def compile_path(text: str) -> tuple[Step, ...]:
    """Split and parse a path."""
    if len(text) > MAX_CONDITION:
        raise LimitFault(f"JSONPath of {len(text)} characters exceeds {MAX_CONDITION}")
    try:
        return tuple(_step(piece) for piece in _split(text))
    except LimitFault:
        raise
    except Fault as fault:
        message = f"invalid JSONPath selector '{text}' {fault.message}"
        raise Fault(message) from None


# --- splitting ---


def _split(text: str) -> list[str]:
    if not text or text[0] not in "$@":
        raise Fault(f"unexpected token '{text[:1]}' at index 0")
    if len(text) > 1 and text[1] not in ".[":
        raise Fault(f"unexpected token '{text[1]}' at index 1")
    pieces, position = [text[0]], 1
    while position < len(text):
        if text.startswith("..", position):
            pieces.append("..")
            position += 2
            continue
        position += text[position] == "."
        end = _end(text, position)
        pieces.append(text[position:end])
        position = end
    return pieces


def _end(text: str, start: int) -> int:
    if text.startswith("[", start):
        return _end_of_bracket(text, start)
    quotes = brackets = 0
    for position in range(start, len(text)):
        character = text[position]
        if character == "[" or (character == "." and quotes % 2 == 0 and brackets == 0):
            return position
        quotes += character == "'"
        brackets += (character == "(") - (character == ")")
    return len(text)


def _end_of_bracket(text: str, start: int) -> int:
    quotes = rounds = squares = 0
    for position in range(start, len(text)):
        character = text[position]
        quotes += character == "'"
        rounds += (character == "(") - (character == ")")
        squares += (character == "[") - (character == "]")
        if character == "]" and quotes % 2 == 0 and rounds == 0 and squares == 0:
            return position + 1
    return len(text)


# --- parsing ---

_WORDS = {
    "$": Step("root"),
    "@": Step("current"),
    "*": Step("wildcard"),
    "..": Step("recursive"),
    "length": Step("length"),
}


def _invalid(piece: str) -> Fault:
    return Fault(f"invalid token. '{piece}' does not match any token format")


def _step(raw: str) -> Step:
    piece = raw.strip()
    if not piece:
        raise Fault("invalid token. token string is empty")
    if not piece.startswith("["):
        return _WORDS.get(piece) or Step("key", piece)
    inside = piece[1:-1].strip()
    if not piece.endswith("]") or not inside:
        raise _invalid(piece)
    if inside == "*":
        return Step("wildcard")
    if inside.startswith("?"):
        if not (inside.startswith("?(") and inside.endswith(")")):
            raise _invalid(piece)
        return Step("filter", script=compile_script(inside[2:-1].strip()))
    return _subscript(piece, _words(piece, inside))


_WORD = re.compile(
    r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([+-]?\d+)(?![^\s,:])|([:,]))\s*""",
    re.ASCII | re.DOTALL,
)


def _words(piece: str, inside: str) -> list[tuple[str, Argument]]:
    """Split a subscript into keys, numbers, scripts and separators."""
    words: list[tuple[str, Argument]] = []
    position = 0
    while position < len(inside):
        if inside[position] == "(":
            end = _closing(inside, position)
            if end < 0:
                raise _invalid(piece)
            words.append(("script", compile_script(inside[position + 1 : end].strip())))
            position = end + 1
            continue
        match = _WORD.match(inside, position)
        if match is None:
            raise _invalid(piece)
        words.append(_word(match))
        position = match.end()
    return words


def _word(match: re.Match[str]) -> tuple[str, Argument]:
    if match[1] is not None:
        return "key", match[1].replace("\\'", "'")
    if match[2] is not None:
        return "key", match[2].replace('\\"', '"')
    if match[3] is not None:
        return "number", int(match[3])
    return match[4], None


def _closing(text: str, start: int) -> int:
    depth = 0
    for position in range(start, len(text)):
        depth += (text[position] == "(") - (text[position] == ")")
        if depth == 0:
            return position
    return -1


def _subscript(piece: str, words: list[tuple[str, Argument]]) -> Step:
    kinds = [kind for kind, _ in words]
    if len(words) == 1:
        kind, value = words[0]
        if kind == "key":
            return Step("key", str(value))
        if kind == "number" and isinstance(value, int):
            return Step("index", number=value)
        if kind == "script" and not isinstance(value, (int, str)):
            return Step("script", script=value)
        raise _invalid(piece)
    if ":" in kinds and "," in kinds:
        raise _invalid(piece)
    if "," in kinds:
        arguments = tuple(value for kind, value in words if kind != ",")
        if kinds.count(",") >= len(arguments):
            raise _invalid(piece)
        return Step("union", arguments=arguments)
    if ":" in kinds and "key" not in kinds:
        return Step("range", arguments=_bounds(piece, words))
    raise _invalid(piece)


def _bounds(piece: str, words: list[tuple[str, Argument]]) -> tuple[Argument, ...]:
    bounds: list[Argument] = [None]
    for kind, value in words:
        if kind == ":":
            bounds.append(None)
        else:
            bounds[-1] = value
    if len(bounds) > 3:
        raise _invalid(piece)
    return tuple((*bounds, None)[:3])


# --- following ---


def _apply(path: tuple[Step, ...], walk: _Walk, current: Value) -> Value:
    """Follow the whole of ``path`` from ``current``; the empty path is ``current`` itself."""
    if not path:
        return current
    walk.count()
    step, rest = path[0], path[1:]
    return _STEPS[step.kind](step, rest, walk, current)


def _kind(value: Value) -> str:
    names = {bool: "bool", int: "int64", Int64: "int64", float: "float64", str: "string"}
    if isinstance(value, dict):
        return "map"
    return "slice" if isinstance(value, list) else names.get(type(value), "nil")


def _misses(step: Step, value: Value, wanted: str) -> Fault:
    return Fault(f"{step.kind}: invalid token target. expected [{wanted}] got [{_kind(value)}]")


def _from_root(_: Step, rest: tuple[Step, ...], walk: _Walk, __: Value) -> Value:
    return _apply(rest, walk, walk.root)


def _from_current(_: Step, rest: tuple[Step, ...], walk: _Walk, current: Value) -> Value:
    return _apply(rest, walk, current)


def _key(step: Step, rest: tuple[Step, ...], walk: _Walk, current: Value) -> Value:
    if not isinstance(current, dict):
        raise _misses(step, current, "map")
    if step.name not in current:
        raise Fault(f"key: invalid token key '{step.name}' not found")
    return _apply(rest, walk, current[step.name])


def _index(step: Step, rest: tuple[Step, ...], walk: _Walk, current: Value) -> Value:
    if not isinstance(current, list):
        raise _misses(step, current, "array slice")
    place = step.number + len(current) if step.number < 0 else step.number
    if not 0 <= place < len(current):
        raise Fault("index: invalid token out of range")
    return _apply(rest, walk, current[place])


def _length(step: Step, rest: tuple[Step, ...], walk: _Walk, current: Value) -> Value:
    if isinstance(current, str):
        found: Value = Int64(byte_length(current))
    elif isinstance(current, dict):
        found = current.get("length", Int64(len(current)))
    elif isinstance(current, list):
        found = Int64(len(current))
    else:
        raise _misses(step, current, "array map slice string")
    return _apply(rest, walk, found)


def _elements(step: Step, current: Value) -> list[Value]:
    if isinstance(current, dict):
        return [current[key] for key in sorted(current)]
    if isinstance(current, list):
        return current
    raise _misses(step, current, "array map slice")


def _found(rest: tuple[Step, ...], walk: _Walk, current: Value) -> Value:
    """Follow ``rest``; nil where it leads nowhere."""
    try:
        return _apply(rest, walk, current)
    except LimitFault:
        raise
    except Fault:
        return None


def _each(rest: tuple[Step, ...], walk: _Walk, elements: list[Value]) -> Value:
    """Follow ``rest`` for each element; an index right behind counts in the list instead."""
    if not rest:
        return list(elements)
    if rest[0].kind == "index":
        return _apply(rest, walk, elements)
    return _follow_each(rest, walk, elements)


def _follow_each(rest: tuple[Step, ...], walk: _Walk, elements: list[Value]) -> list[Value]:
    results = (_found(rest, walk, element) for element in elements)
    return [result for result in results if result is not None]


def _wildcard(step: Step, rest: tuple[Step, ...], walk: _Walk, current: Value) -> Value:
    elements = _elements(step, current)
    return _follow_each(rest, walk, elements) if rest else list(elements)


def _recursive(step: Step, rest: tuple[Step, ...], walk: _Walk, current: Value) -> Value:
    if current is None:
        return []
    walk.count()
    results: list[Value] = []
    here = _found(rest, walk, current)
    if rest and isinstance(here, list):
        results.extend(here)
    elif here is not None:
        results.append(here)
    if isinstance(current, (dict, list)):
        for element in _elements(step, current):
            results.extend(_recursive(step, rest, walk, element))
    return results


def _filter(step: Step, rest: tuple[Step, ...], walk: _Walk, current: Value) -> Value:
    if step.script is None or not step.script.text:
        raise Fault("invalid expression. is empty")
    kept = [one for one in _elements(step, current) if _included(step, walk, one)]
    return _each(rest, walk, kept)


def _included(step: Step, walk: _Walk, element: Value) -> bool:
    walk.count()
    try:
        result = step.script.evaluate(walk.root, element, _follow) if step.script else None
    except LimitFault:
        raise
    except Fault:
        return False
    if (
        isinstance(result, str)
        and len(result) > 1
        and result[0] == result[-1]
        and result[0] in "'\""
    ):
        result = result[1:-1]
    return bool(result)


def _script(step: Step, rest: tuple[Step, ...], walk: _Walk, current: Value) -> Value:
    result = step.script.evaluate(walk.root, current, _follow) if step.script else None
    if isinstance(result, str):
        return _key(Step("key", result), rest, walk, current)
    number = integer_of(result)
    if number is None:
        raise Fault(f"unexpected expression result. expected [int string] got [{_kind(result)}]")
    return _index(Step("index", number=number), rest, walk, current)


def _argument(walk: _Walk, current: Value, argument: Argument) -> Value:
    if argument is None or isinstance(argument, (int, str)):
        return argument
    return argument.evaluate(walk.root, current, _follow)


def _union(step: Step, rest: tuple[Step, ...], walk: _Walk, current: Value) -> Value:
    wanted = [_argument(walk, current, argument) for argument in step.arguments]
    if all(isinstance(one, str) for one in wanted):
        if not isinstance(current, dict):
            raise _misses(step, current, "map")
        return _each(rest, walk, [current[key] for key in wanted if key in current])
    numbers = [integer_of(one) for one in wanted]
    if not isinstance(current, list):
        raise _misses(step, current, "array slice")
    if None in numbers:
        raise Fault("union: invalid token argument. expected [int string]")
    places = [n + len(current) if n < 0 else n for n in numbers if n is not None]
    return _each(rest, walk, [current[n] for n in places if 0 <= n < len(current)])


def _range(step: Step, rest: tuple[Step, ...], walk: _Walk, current: Value) -> Value:
    if not isinstance(current, list):
        raise _misses(step, current, "array slice")
    bounds: list[int | None] = []
    for argument in step.arguments:
        value = _argument(walk, current, argument)
        number = integer_of(value)
        if argument is not None and number is None:
            raise Fault("range: invalid token unexpected expression result. expected [int]")
        bounds.append(number)
    start, stop, stride = bounds
    low = _clamped(0 if start is None else start, len(current))
    high = _clamped(len(current) if stop is None else stop, len(current))
    stride = 1 if stride is None else stride
    if stride == 0:
        raise Fault("range: invalid token out of range")
    # A negative stride walks the same range backwards.
    places = range(low, high, stride) if stride > 0 else range(high - 1, low - 1, stride)
    return _each(rest, walk, [current[place] for place in places])


def _clamped(place: int, length: int) -> int:
    return max(0, min(place + length if place < 0 else place, length))


_STEPS: dict[str, Callable[[Step, tuple[Step, ...], _Walk, Value], Value]] = {
    "root": _from_root,
    "current": _from_current,
    "key": _key,
    "index": _index,
    "length": _length,
    "wildcard": _wildcard,
    "recursive": _recursive,
    "filter": _filter,
    "script": _script,
    "union": _union,
    "range": _range,
}
