"""Words of a ``when`` → stages → a value, in govaluate's own order of operators.

Each level of operators is planned with itself on the right side, so a chain leans to the right;
afterwards ``_turn`` reverses each run of operators of one rank. The two tables of rank differ
(that of planning and that of turning), as they do in govaluate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from tiphys.spec.expression import regex
from tiphys.spec.expression.fault import Fault, check_text
from tiphys.spec.expression.goformat import text_of
from tiphys.spec.expression.moment import Instant
from tiphys.spec.expression.value import go_power, same, truncate, wrap
from tiphys.spec.expression.word import COMPARATORS, TERNARY, Word

Value = object
_LEVELS: tuple[tuple[str, frozenset[str]], ...] = (
    ("SEPARATOR", frozenset([","])),
    ("TERNARY", TERNARY),
    ("LOGICALOP", frozenset(["||"])),
    ("LOGICALOP", frozenset(["&&"])),
    ("COMPARATOR", COMPARATORS),
    ("MODIFIER", frozenset(["^", "&", "|"])),
    ("MODIFIER", frozenset([">>", "<<"])),
    ("MODIFIER", frozenset(["+", "-"])),
    ("MODIFIER", frozenset(["*", "/", "%"])),
    ("MODIFIER", frozenset(["**"])),
)
_RANKS = {
    **dict.fromkeys(["+", "-"], 5),
    **dict.fromkeys(["&", "|", "^"], 6),
    **dict.fromkeys([">>", "<<"], 7),
    **dict.fromkeys(["*", "/", "%"], 8),
    **dict.fromkeys(COMPARATORS, 9),
    **dict.fromkeys(TERNARY, 10),
    "**": 4, "&&": 11, "||": 12, ",": 13, "()": 0, "prefix": 3, "access": 2,
}  # fmt: skip


@dataclass(slots=True)
class Stage:
    """One operator, or a value where ``symbol`` is empty."""

    symbol: str = ""
    left: Stage | None = None
    right: Stage | None = None
    value: Value = None
    prefix: bool = False

    @property
    def rank(self) -> int:
        """How tightly it binds, for the turning."""
        return _RANKS["prefix"] if self.prefix else _RANKS.get(self.symbol, 1)


class _Stream:
    def __init__(self, words: list[Word]) -> None:
        self.words = words
        self.index = 0

    def more(self) -> bool:
        return self.index < len(self.words)

    def next(self) -> Word:
        if not self.more():
            raise Fault("Unexpected end of expression")
        self.index += 1
        return self.words[self.index - 1]


def plan(words: list[Word]) -> Stage | None:
    """Plan all words."""
    root = _level(_Stream(with_patterns(words)), 0)
    if root is not None:
        _turn(root)
    return root


@dataclass(frozen=True, slots=True)
class Pattern:
    """A string behind ``=~``: no string any more, so nothing else can be done with it."""

    text: str

    def __str__(self) -> str:
        """Give the pattern."""
        return self.text


def with_patterns(words: list[Word]) -> list[Word]:
    """Compile each string behind ``=~``, so that a bad pattern is found before running."""
    changed = list(words)
    for number, (before, word) in enumerate(pairwise(words), start=1):
        if before.kind == "COMPARATOR" and before.value in {"=~", "!~"} and word.kind == "STRING":
            regex.compile_pattern(str(word.value))
            changed[number] = Word("PATTERN", Pattern(str(word.value)))
    return changed


def _level(stream: _Stream, level: int) -> Stage | None:
    if level == len(_LEVELS):
        return _operand(stream)
    kind, symbols = _LEVELS[level]
    left = _level(stream, level + 1)
    if stream.more():
        word = stream.next()
        if word.kind == kind and word.value in symbols:
            return Stage(str(word.value), left, _level(stream, level))
        stream.index -= 1
    return left


def _operand(stream: _Stream) -> Stage | None:
    word = stream.next()
    if word.kind == "ACCESSOR":
        return _accessor(stream, word)
    if word.kind == "CLAUSE":
        inner = _level(stream, 0) if stream.more() else None
        stream.next()
        return Stage("()", None, inner)
    if word.kind == "CLAUSE_CLOSE":
        stream.index -= 1
        return None
    if word.kind == "PREFIX":
        return Stage(str(word.value), None, _operand(stream), prefix=True)
    if word.kind in {"NUMERIC", "STRING", "BOOLEAN", "PATTERN"}:
        return Stage(value=word.value)
    if word.kind == "TIME" and isinstance(word.value, Instant):
        return Stage(value=float(word.value.seconds))
    raise Fault(f"Unable to plan token kind: '{word.kind}', value: '{text_of(word.value)}'")


def _accessor(stream: _Stream, word: Word) -> Stage:
    right = None
    if stream.more():
        following = stream.next()
        stream.index -= 1
        if following.kind == "CLAUSE":
            right = _level(stream, 0)
    return Stage("access", None, right, word.value)


def _turn(root: Stage) -> None:
    """Reverse each run of operators of one rank along the right side."""
    run: list[Stage] = []
    rank, following = root.rank, root
    node: Stage | None = following
    while node is not None:
        current = node
        node = current.right
        if current.left is not None:
            _turn(current.left)
        if current.rank == rank:
            run.append(current)
            continue
        if len(run) > 1:
            _mirror(run)
        run, rank = [current], current.rank
    if len(run) > 1:
        _mirror(run)


def _mirror(run: list[Stage]) -> None:
    """Rebuild a right-leaning run as a left-leaning one, in place (others point at its root)."""
    operands = [stage.left for stage in run] + [run[-1].right]
    kinds = [(stage.symbol, stage.value, stage.prefix) for stage in run]
    left = operands[0]
    spare = list(reversed(run))
    for number, (symbol, value, prefix) in enumerate(kinds):
        stage = spare[number]
        stage.symbol, stage.value, stage.prefix = symbol, value, prefix
        stage.left, stage.right = left, operands[number + 1]
        left = stage


def evaluate(stage: Stage | None) -> Value:
    """Run a stage."""
    if stage is None:
        return None
    if stage.symbol == "":
        return stage.value
    if stage.symbol == "access":
        name = stage.value[0] if isinstance(stage.value, list) else ""
        raise Fault(f"No parameter '{name}' found.")
    left = evaluate(stage.left)
    if stage.symbol in _SHORT:
        done, result = _SHORT[stage.symbol](left)
        if done:
            return result
    right = evaluate(stage.right) if not _skips(stage.symbol, left) else -1
    return _PREFIXES[stage.symbol](right) if stage.prefix else _apply(stage.symbol, left, right)


_SHORT: dict[str, Callable[[Value], tuple[bool, Value]]] = {
    "&&": lambda left: (left is False, False),
    "||": lambda left: (left is True, True),
    "??": lambda left: (left is not None, left),
}


def _skips(symbol: str, left: Value) -> bool:
    return (symbol == "?" and left is False) or (symbol == ":" and left is not None)


def _apply(symbol: str, left: Value, right: Value) -> Value:
    if symbol == "()":
        return right
    if symbol in {"==", "!="}:
        return same(left, right) == (symbol == "==")
    if symbol == "?":
        return right if _bool("ternary operator", symbol, left, "a bool") else None
    if symbol in {":", "??"}:
        return right if left is None else left
    if symbol == ",":
        return [*left, right] if isinstance(left, list) else [left, right]
    return _OPERATORS[symbol](symbol, left, right)


def _bool(role: str, symbol: str, value: Value, wanted: str) -> bool:
    if isinstance(value, bool):
        return value
    raise _misfit(role, symbol, value, wanted)


def _misfit(role: str, symbol: str, value: Value, wanted: str) -> Fault:
    return Fault(
        f"Value '{text_of(value)}' cannot be used with the {role} '{symbol}', it is not {wanted}"
    )


def _number(symbol: str, value: Value) -> float:
    if isinstance(value, float):
        return value
    raise _misfit("modifier", symbol, value, "a number")


def _logical(symbol: str, left: Value, right: Value) -> bool:
    a = _bool("logical operator", symbol, left, "a bool")
    b = _bool("logical operator", symbol, right, "a bool")
    return (a and b) if symbol == "&&" else (a or b)


def _comparison(symbol: str, left: Value, right: Value) -> bool:
    numbers = isinstance(left, float) and isinstance(right, float)
    if not numbers and not (isinstance(left, str) and isinstance(right, str)):
        raise _misfit("comparator", symbol, left, "a number")
    a: float | str = left  # type: ignore[assignment]
    b: float | str = right  # type: ignore[assignment]
    results = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}  # type: ignore[operator]
    return results[symbol]


def _pattern(symbol: str, left: Value, right: Value) -> bool:
    if not isinstance(left, str):
        raise _misfit("comparator", symbol, left, "a number")
    if not isinstance(right, (str, Pattern)):
        raise _misfit("comparator", symbol, right, "a number")
    return regex.matches(str(right), left) == (symbol == "=~")


def _in(symbol: str, left: Value, right: Value) -> bool:
    if not isinstance(right, list):
        raise _misfit("comparator", symbol, right, "a number")
    return any(same(left, item) for item in right)


def _add(symbol: str, left: Value, right: Value) -> Value:
    if isinstance(left, float) and isinstance(right, float):
        return left + right
    if isinstance(left, str) or isinstance(right, str):
        return check_text(text_of(left) + text_of(right))
    raise _misfit("modifier", symbol, left, "a number")


def _arithmetic(apply: Callable[[float, float], float]) -> Callable[[str, Value, Value], Value]:
    def both(symbol: str, left: Value, right: Value) -> Value:
        return apply(_number(symbol, left), _number(symbol, right))

    return both


def _divide(a: float, b: float) -> float:
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1, b)


def _remainder(a: float, b: float) -> float:
    return math.nan if b == 0 or math.isinf(a) else math.fmod(a, b)


def _shift(a: float, b: float, *, left: bool) -> float:
    number, places = truncate(a) % 2**64, truncate(b) % 2**64
    if places > 63:
        return 0.0
    return float((number << places) % 2**64 if left else number >> places)


_OPERATORS: dict[str, Callable[[str, Value, Value], Value]] = {
    **dict.fromkeys(["&&", "||"], _logical),
    **dict.fromkeys(["<", "<=", ">", ">="], _comparison),
    **dict.fromkeys(["=~", "!~"], _pattern),
    "in": _in,
    "+": _add,
    "-": _arithmetic(lambda a, b: a - b),
    "*": _arithmetic(lambda a, b: a * b),
    "/": _arithmetic(_divide),
    "%": _arithmetic(_remainder),
    "**": _arithmetic(go_power),
    "&": _arithmetic(lambda a, b: float(truncate(a) & truncate(b))),
    "|": _arithmetic(lambda a, b: float(truncate(a) | truncate(b))),
    "^": _arithmetic(lambda a, b: float(wrap(truncate(a) ^ truncate(b)))),
    "<<": _arithmetic(lambda a, b: _shift(a, b, left=True)),
    ">>": _arithmetic(lambda a, b: _shift(a, b, left=False)),
}


def _prefix_misfit(symbol: str, value: Value) -> Fault:
    return Fault(f"Value '{text_of(value)}' cannot be used with the prefix '{symbol}'")


def _minus(value: Value) -> Value:
    if not isinstance(value, float):
        raise _prefix_misfit("-", value)
    return -value


def _invert(value: Value) -> Value:
    if not isinstance(value, bool):
        raise _prefix_misfit("!", value)
    return not value


def _bit_not(value: Value) -> Value:
    if not isinstance(value, float):
        raise _prefix_misfit("~", value)
    return float(~truncate(value))


_PREFIXES: dict[str, Callable[[Value], Value]] = {"-": _minus, "!": _invert, "~": _bit_not}
