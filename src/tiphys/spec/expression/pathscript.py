"""The little language of JSONPath filters and scripts: ``@.price < 10 && @.name =~ 'a.*'``.

Operators are found by searching for each in a fixed order, the loosest first, outside of quotes
and brackets; what is left is a path, JSON, a number or a bare string.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from tiphys.spec.expression import gojson, regex
from tiphys.spec.expression.fault import Fault
from tiphys.spec.expression.goformat import text_of
from tiphys.spec.expression.gostring import parse_float, parse_int
from tiphys.spec.expression.value import Value, go_power, is_int, same

_OPERATORS = (
    "||", "&&", "==", "!=", "<=", ">=", "<", ">", "=~", "!", "+", "-", "**", "*", "/", "%",
    "not in", "in", "@", "$",
)  # fmt: skip
_WORDS = {"nil": None, "null": None}
MAX_NESTING = 50
Follow = Callable[[str, Value, Value], Value]
"""Follows a path (its text) from a root and a current element."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator with what stands left and right of it; a path has its text on the right."""

    operator: str
    left: Operand
    right: Operand


Operand = Operation | str | list[Value] | dict[str, Value] | None


@dataclass(frozen=True, slots=True, eq=False)
class Script:
    """A compiled filter or script."""

    text: str
    operation: Operation | None

    def evaluate(self, root: Value, current: Value, follow: Follow) -> Value:
        """Run for one element; ``follow`` resolves the paths inside."""
        if not self.text:
            raise Fault("invalid expression. is empty")
        scope = _Scope(root, current, follow)
        if self.operation is not None:
            return scope.run(self.operation)
        if self.text in _WORDS:
            return None
        number = parse_float(self.text)
        if number is not None:
            return number
        flag = _BOOLEANS.get(self.text)
        return self.text if flag is None else flag


@lru_cache(maxsize=512)
def compile_script(text: str) -> Script:
    """Parse a filter or script."""
    return Script(text, _build(text, 0, 0))


def integer_of(value: Value) -> int | None:
    """Take a number without a fraction as an integer."""
    if is_int(value):
        return int(value)
    if isinstance(value, float) and math.isfinite(value) and value == math.trunc(value):
        return int(value)
    return None


def _build(source: str, level: int, nesting: int) -> Operation | None:
    """Find the loosest operator of ``source``, from ``level`` of the table on."""
    if nesting > MAX_NESTING:
        raise Fault("invalid expression. nested too deeply")
    text = source.strip()
    if not text:
        return None
    if text.startswith("(") and text.endswith(")"):
        return _build(text[1:-1], 0, nesting + 1)
    for place in range(level, len(_OPERATORS)):
        at = _find(text, _OPERATORS[place])
        operation = _operation(text, at, place, nesting) if at >= 0 else None
        if operation is not None:
            return operation
    return None


def _operation(text: str, at: int, place: int, nesting: int) -> Operation | None:
    """Split at an operator; None where its sides do not fit it."""
    operator = _OPERATORS[place]
    left, right = text[:at].strip(), text[at + len(operator) :].strip()
    if operator in {"@", "$"}:
        return None if left else Operation("path", None, text)
    if operator == "!":
        fits = bool(right) and not left
        return Operation("!", None, _argument(right, place, nesting)) if fits else None
    if not (left and right):
        return None
    return Operation(operator, _argument(left, place, nesting), _argument(right, place, nesting))


def _argument(text: str, level: int, nesting: int) -> Operand:
    operation = _build(text, level, nesting + 1)
    if operation is not None:
        return operation
    if (text.startswith("[") and text.endswith("]")) or (
        text.startswith("{") and text.endswith("}")
    ):
        try:
            value = gojson.load(text)
        except Fault:
            return text
        if isinstance(value, (list, dict)):
            return value
    return text or None


def _find(text: str, operator: str) -> int:
    """Find an operator outside of quotes and brackets."""
    single = double = False
    square = rounds = 0
    for position, character in enumerate(text):
        if character == "'" and not double:
            single = not single
        elif character == '"' and not single:
            double = not double
        elif not (single or double):
            square += (character == "[") - (character == "]")
            if square <= 0:
                rounds += (character == "(") - (character == ")")
        if single or double or square > 0 or rounds > 0:
            continue
        start = position + 1 - len(operator)
        if start >= 0 and text[start : position + 1] == operator:
            return start
    return -1


_BOOLEANS = {
    **dict.fromkeys(["1", "t", "T", "TRUE", "true", "True"], True),
    **dict.fromkeys(["0", "f", "F", "FALSE", "false", "False"], False),
}


@dataclass(slots=True)
class _Scope:
    root: Value
    current: Value
    follow: Follow

    def run(self, operation: Operation) -> Value:
        if operation.operator == "path":
            return self.path(str(operation.right))
        return _APPLY[operation.operator](self, operation.left, operation.right)

    def path(self, text: str) -> Value:
        found = self.follow(text, self.root, self.current)
        if not isinstance(found, str):
            return found
        # Strings of the data are quoted, so that they differ from bare words of the script.
        return found if _is_quoted(found, "'") else f"'{found}'"

    def value(self, operand: Operand) -> Value:
        if operand is None:
            raise Fault("invalid argument. is nil")
        found = self.run(operand) if isinstance(operand, Operation) else operand
        if isinstance(found, str) and found in _WORDS:
            return None
        return found

    def number(self, operand: Operand) -> float:
        number = parse_float(text_of(self.value(operand)))
        if number is None:
            raise Fault("invalid argument. expected number")
        return number

    def integer(self, operand: Operand) -> int:
        number = parse_int(text_of(self.value(operand)))
        if number is None:
            raise Fault("invalid argument. expected integer")
        return number

    def flag(self, operand: Operand) -> bool:
        found = None if operand is None else self.value(operand)
        if found is None:
            return False
        flag = _BOOLEANS.get(text_of(found))
        if flag is None:
            raise Fault("invalid argument. expected boolean")
        return flag

    def string(self, operand: Operand) -> str:
        found = self.value(operand)
        if isinstance(found, str) and _is_quoted(found, '"'):
            return f"'{found[1:-1]}'"
        return text_of(found)

    def elements(self, operand: Operand) -> list[Value]:
        found = self.value(operand)
        if isinstance(found, list):
            return found
        if isinstance(found, dict):
            return list(found.values())
        raise Fault("invalid argument. expected array, map, or slice")


def _is_quoted(text: str, mark: str) -> bool:
    return len(text) > 1 and text.startswith(mark) and text.endswith(mark)


def _bare(text: str) -> str:
    return text[1:-1] if _is_quoted(text, "'") else text


def _equal(scope: _Scope, left: Operand, right: Operand) -> bool:
    try:
        return scope.number(left) == scope.number(right)
    except Fault:
        return scope.string(left) == scope.string(right)


def _in(scope: _Scope, left: Operand, right: Operand) -> bool:
    item: Value
    try:
        item = scope.number(left)
    except Fault:
        item = scope.string(left)
    return any(same(element, item) for element in scope.elements(right))


def _pattern(scope: _Scope, left: Operand, right: Operand) -> bool:
    text, pattern = _bare(scope.string(left)), _bare(scope.string(right))
    return regex.matches(pattern, text)


def _numbers(apply: Callable[[float, float], Value]) -> Callable[..., Value]:
    return lambda scope, left, right: apply(scope.number(left), scope.number(right))


def _divide(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 else math.copysign(math.inf, a)
    return a / b


def _modulo(scope: _Scope, left: Operand, right: Operand) -> int:
    a, b = scope.integer(left), scope.integer(right)
    if b == 0:
        raise Fault("runtime error: integer divide by zero")
    return int(math.fmod(a, b)) if abs(a) < 2**53 and abs(b) < 2**53 else a - b * int(a / b)


def _both(scope: _Scope, left: Operand, right: Operand) -> bool:
    first, second = scope.flag(left), scope.flag(right)
    return first and second


def _either(scope: _Scope, left: Operand, right: Operand) -> bool:
    first, second = scope.flag(left), scope.flag(right)
    return first or second


_APPLY: dict[str, Callable[[_Scope, Operand, Operand], Value]] = {
    "||": _either,
    "&&": _both,
    "==": _equal,
    "!=": lambda scope, left, right: not _equal(scope, left, right),
    "<=": _numbers(lambda a, b: a <= b),
    ">=": _numbers(lambda a, b: a >= b),
    "<": _numbers(lambda a, b: a < b),
    ">": _numbers(lambda a, b: a > b),
    "=~": _pattern,
    "!": lambda scope, left, right: not scope.flag(right),
    "+": _numbers(lambda a, b: a + b),
    "-": _numbers(lambda a, b: a - b),
    "**": _numbers(go_power),
    "*": _numbers(lambda a, b: a * b),
    "/": _numbers(_divide),
    "%": _modulo,
    "not in": lambda scope, left, right: not _in(scope, left, right),
    "in": _in,
}
