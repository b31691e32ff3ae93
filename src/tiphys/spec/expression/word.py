"""Text of a ``when`` → words, and the check that each may follow the one before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tiphys.spec.expression import layout
from tiphys.spec.expression.fault import Fault
from tiphys.spec.expression.goformat import text_of
from tiphys.spec.expression.gostring import parse_float
from tiphys.spec.expression.lexer import is_space

PREFIXES: Final = frozenset("-!~")
MODIFIERS: Final = frozenset(["+", "-", "*", "/", "%", "**", "&", "|", "^", ">>", "<<"])
LOGICAL: Final = frozenset(["&&", "||"])
COMPARATORS: Final = frozenset(["==", "!=", ">", ">=", "<", "<=", "=~", "!~", "in"])
TERNARY: Final = frozenset(["?", ":", "??"])

_VALUES = frozenset(["NUMERIC", "BOOLEAN", "VARIABLE", "STRING", "TIME"])
_OPERANDS = _VALUES | {"PREFIX", "ACCESSOR", "CLAUSE"}
_AFTER_VALUE = frozenset(
    ["MODIFIER", "COMPARATOR", "LOGICALOP", "CLAUSE_CLOSE", "TERNARY", "SEPARATOR"]
)
_FOLLOWERS: Final[dict[str, frozenset[str]]] = {
    "UNKNOWN": _OPERANDS,
    "CLAUSE": _OPERANDS | {"CLAUSE_CLOSE"},
    "CLAUSE_CLOSE": (_VALUES | _AFTER_VALUE | {"CLAUSE"}),
    "NUMERIC": _AFTER_VALUE,
    "BOOLEAN": _AFTER_VALUE,
    "STRING": _AFTER_VALUE,
    "TIME": _AFTER_VALUE - {"TERNARY"},
    "PATTERN": _AFTER_VALUE - {"TERNARY"},
    "VARIABLE": _AFTER_VALUE,
    "MODIFIER": (_OPERANDS - {"TIME"}) | {"CLAUSE_CLOSE"},
    "COMPARATOR": _OPERANDS | {"CLAUSE_CLOSE", "PATTERN"},
    "LOGICALOP": _OPERANDS | {"CLAUSE_CLOSE"},
    "PREFIX": (_OPERANDS - {"PREFIX", "STRING", "TIME"}) | {"CLAUSE_CLOSE"},
    "TERNARY": _OPERANDS | {"SEPARATOR"},
    "ACCESSOR": _AFTER_VALUE | {"CLAUSE"},
    "SEPARATOR": _OPERANDS,
}
_MAY_END = frozenset(
    ["CLAUSE_CLOSE", "NUMERIC", "BOOLEAN", "STRING", "TIME", "PATTERN", "VARIABLE", "ACCESSOR"]
)
_TIME_LAYOUTS = (
    layout.NAMED["ANSIC"],
    layout.NAMED["UnixDate"],
    layout.NAMED["RubyDate"],
    layout.NAMED["Kitchen"],
    layout.NAMED["RFC3339"],
    layout.NAMED["RFC3339Nano"],
    "2006-01-02",
    "2006-01-02 15:04",
    "2006-01-02 15:04:05",
    "2006-01-02 15:04:05-07:00",
    "2006-01-02T15Z0700",
    "2006-01-02T15:04Z0700",
    "2006-01-02T15:04:05Z0700",
    "2006-01-02T15:04:05.999999999Z0700",
)


@dataclass(frozen=True, slots=True)
class Word:
    """One token of govaluate."""

    kind: str
    value: object


def read_words(text: str) -> list[Word]:
    """Split ``text``; a ``Fault`` carries govaluate's message."""
    reader = _Reader(text)
    words: list[Word] = []
    state = "UNKNOWN"
    while reader.position < len(text):
        word = reader.word(state)
        if word is None:
            break
        words.append(word)
        state = word.kind
    opened = sum(1 for word in words if word.kind == "CLAUSE")
    closed = sum(1 for word in words if word.kind == "CLAUSE_CLOSE")
    if opened != closed:
        raise Fault("Unbalanced parenthesis")
    return words


def check_order(words: list[Word]) -> None:
    """Refuse words that may not follow each other."""
    state, last = "UNKNOWN", Word("UNKNOWN", None)
    for word in words:
        if word.kind not in _FOLLOWERS[state]:
            if last.kind == "VARIABLE" and word.kind == "CLAUSE":
                raise Fault(f"Undefined function {last.value}")
            raise Fault(
                f"Cannot transition token types from {state} [{_shown(last)}] "
                f"to {word.kind} [{_shown(word)}]"
            )
        state, last = word.kind, word
    if state not in _MAY_END:
        raise Fault("Unexpected end of expression")


def _shown(word: Word) -> str:
    if word.kind in {"CLAUSE", "CLAUSE_CLOSE"}:
        # govaluate keeps a bracket as a number, and prints it so.
        return str(ord(str(word.value)))
    return text_of(word.value)


def words_as_strings(words: list[Word]) -> list[Word]:
    """Turn barewords into strings, as Argo does before evaluating."""
    return [Word("STRING", word.value) if word.kind == "VARIABLE" else word for word in words]


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def word(self, state: str) -> Word | None:
        while self.position < len(self.text) and is_space(self.text[self.position]):
            self.position += 1
        if self.position >= len(self.text):
            return None
        character = self.text[self.position]
        if _is_numeric(character):
            return self.number()
        if character == ",":
            self.position += 1
            return Word("SEPARATOR", ",")
        if character == "[":
            return self.bracketed()
        if character.isalpha():
            return self.bareword()
        if character in "'\"":
            return self.quoted()
        if character in "()":
            self.position += 1
            return Word("CLAUSE" if character == "(" else "CLAUSE_CLOSE", character)
        return self.symbol(state)

    def number(self) -> Word:
        if self.text.startswith("0x", self.position) and self.position + 2 < len(self.text):
            self.position += 2
            digits = self.read(lambda c: c.isdecimal() or c in "abcdefABCDEF")[0]
            try:
                return Word("NUMERIC", float(_hexadecimal(digits)))
            except ValueError:
                message = f"Unable to parse hex value '{digits}' to uint64\n"
                raise Fault(message) from None
        digits = self.read(_is_numeric)[0]
        number = parse_float(digits)
        if number is None:
            raise Fault(f"Unable to parse numeric value '{digits}' to float64\n")
        return Word("NUMERIC", number)

    def bracketed(self) -> Word:
        self.position += 1
        name, closed = self.read(lambda c: c != "]", spaces=True)
        if not closed:
            raise Fault("Unclosed parameter bracket")
        self.position += 1
        return Word("VARIABLE", name)

    def bareword(self) -> Word:
        name = self.read(lambda c: c.isalpha() or c.isdecimal() or c in "_.")[0]
        if name in {"true", "false"}:
            return Word("BOOLEAN", name == "true")
        if name in {"in", "IN"}:
            return Word("COMPARATOR", "in")
        if "." not in name[1:]:
            return Word("VARIABLE", name)
        if name.endswith("."):
            raise Fault(f"Hanging accessor on token '{name}'")
        parts = name.split(".")
        for part in parts[1:]:
            if part and part[0].upper() != part[0]:
                raise Fault(f"Unable to access unexported field '{part}' in token '{name}'")
        return Word("ACCESSOR", parts)

    def quoted(self) -> Word:
        self.position += 1
        text, closed = self.read(lambda c: c not in "'\"", spaces=True)
        if not closed:
            raise Fault("Unclosed string literal")
        self.position += 1
        for shape in _TIME_LAYOUTS:
            try:
                return Word("TIME", layout.parse(shape, text))
            except Fault:
                continue
        return Word("STRING", text)

    def symbol(self, state: str) -> Word:
        symbol = self.read(_is_symbol)[0]
        if "PREFIX" in _FOLLOWERS[state] and symbol in PREFIXES:
            return Word("PREFIX", symbol)
        kinds = (
            ("MODIFIER", MODIFIERS),
            ("LOGICALOP", LOGICAL),
            ("COMPARATOR", COMPARATORS),
            ("TERNARY", TERNARY),
        )
        for kind, symbols in kinds:
            if symbol in symbols:
                return Word(kind, symbol)
        raise Fault(f"Invalid token: '{symbol}'")

    def read(self, fits: Callable[[str], bool], *, spaces: bool = False) -> tuple[str, bool]:
        """Read while ``fits``; a backslash takes any character. Tell whether an end was seen."""
        taken: list[str] = []
        while self.position < len(self.text):
            character = self.text[self.position]
            self.position += 1
            if character == "\\":
                if self.position >= len(self.text):
                    raise Fault("Unexpected end after a backslash")
                taken.append(self.text[self.position])
                self.position += 1
            elif is_space(character) and not spaces:
                if taken:
                    return "".join(taken), True
            elif fits(character):
                taken.append(character)
            else:
                self.position -= 1
                return "".join(taken), True
        return "".join(taken), False


def _is_numeric(character: str) -> bool:
    return character.isdecimal() or character == "."


def _is_symbol(character: str) -> bool:
    return not (character.isdecimal() or character.isalpha() or character in "()[]'\"")


def _hexadecimal(digits: str) -> int:
    number = int(digits, 16)
    if number >= 2**64:
        raise ValueError(digits)
    return number
