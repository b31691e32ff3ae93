"""Text of an expr-lang expression → tokens.

Positions count characters from 0, so that faults can point at the text. ``not in`` and its kin
stay two tokens; the parser joins them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from tiphys.spec.expression.fault import MAX_EXPRESSION, Fault, LimitFault
from tiphys.spec.expression.goformat import quote


class Kind(Enum):
    """What a token is; the values are the words of expr-lang's messages."""

    NAME = "Identifier"
    NUMBER = "Number"
    STRING = "String"
    OPERATOR = "Operator"
    BRACKET = "Bracket"
    END = "EOF"


@dataclass(frozen=True, slots=True)
class Token:
    """One word of the language."""

    kind: Kind
    value: str
    position: int

    def __str__(self) -> str:
        """Print as in expr-lang's messages: ``Operator("+")``."""
        return f"{self.kind.value}({quote(self.value)})" if self.value else self.kind.value


_WORD_OPERATORS = frozenset(
    ["not", "in", "or", "and", "matches", "contains", "startsWith", "endsWith", "let", "if", "else"]
)
_DOUBLE = re.compile(r"\|\|?|::?|\?[.?]?|[&!=*<>][&=*]?|[,;%+\-^/]|\.\.?|##?")
_NUMBERS = {
    "0x": re.compile(r"0[xX][0-9a-fA-F_]*(?:\.(?!\.)[0-9a-fA-F_]*)?"),
    "0o": re.compile(r"0[oO][0-7_]*(?:\.(?!\.)[0-7_]*)?(?:[eE][+-]?[0-7_]*)?"),
    "0b": re.compile(r"0[bB][01_]*(?:\.(?!\.)[01_]*)?(?:[eE][+-]?[01_]*)?"),
}
_DECIMAL = re.compile(r"\.?[0-9][0-9_]*(?:\.(?!\.)[0-9_]*)?(?:[eE][+-]?[0-9_]*)?")
_SIMPLE_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_CODED = re.compile(
    r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|U([0-9a-fA-F]{8})|([0-7]{3})"
)
_SEPARATORS_OF_ASCII = "\x1c\x1d\x1e\x1f"


def is_space(character: str) -> bool:
    """Tell whether Go's unicode.IsSpace holds; Python also counts four ASCII separators."""
    return character.isspace() and character not in _SEPARATORS_OF_ASCII


def is_word(character: str) -> bool:
    """Tell whether ``character`` may stand in a name."""
    return character.isalpha() or character.isdecimal() or character in "_$"


def tokenize(text: str) -> list[Token]:
    """Split ``text`` into tokens, the last one ``END``."""
    if len(text) > MAX_EXPRESSION:
        raise LimitFault(f"expression of {len(text)} characters exceeds {MAX_EXPRESSION}")
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        character = text[position]
        if is_space(character):
            position += 1
        elif text.startswith(("//", "/*"), position):
            position = _skip_comment(text, position)
        else:
            token, position = _read(text, position)
            tokens.append(token)
    tokens.append(Token(Kind.END, "", max(len(text) - 1, 0)))
    return tokens


def _read(text: str, start: int) -> tuple[Token, int]:
    character = text[start]
    if character in "'\"":
        return _quoted(text, start)
    if character == "`":
        return _raw(text, start)
    following = text[start + 1 : start + 2]
    if character in "0123456789" or (character == "." and following in set("0123456789")):
        return _number(text, start)
    if character in "([{)]}":
        return Token(Kind.BRACKET, character, start), start + 1
    if is_word(character):
        end = start + 1
        while end < len(text) and is_word(text[end]):
            end += 1
        word = text[start:end]
        kind = Kind.OPERATOR if word in _WORD_OPERATORS else Kind.NAME
        return Token(kind, word, start), end
    match = _DOUBLE.match(text, start)
    if match is None:
        raise Fault(f"unrecognized character: U+{ord(character):04X} '{character}'", start)
    return Token(Kind.OPERATOR, match[0], start), match.end()


def _skip_comment(text: str, start: int) -> int:
    if text[start + 1] == "/":
        end = text.find("\n", start)
        return len(text) if end < 0 else end + 1
    end = text.find("*/", start + 2)
    if end < 0:
        raise Fault("unclosed comment", len(text))
    return end + 2


def _number(text: str, start: int) -> tuple[Token, int]:
    pattern = _NUMBERS.get(text[start : start + 2].lower(), _DECIMAL)
    match = pattern.match(text, start)
    end = match.end() if match else start + 1
    if end < len(text) and is_word(text[end]):
        raise Fault(f"bad number syntax: {quote(text[start : end + 1])}", end)
    return Token(Kind.NUMBER, text[start:end], start), end


def _raw(text: str, start: int) -> tuple[Token, int]:
    end = start + 1
    while True:
        end = text.find("`", end)
        if end < 0:
            raise Fault("literal not terminated", len(text))
        if text[end + 1 : end + 2] != "`":
            break
        end += 2
    return Token(Kind.STRING, text[start + 1 : end].replace("``", "`"), start), end + 1


def _quoted(text: str, start: int) -> tuple[Token, int]:
    mark = text[start]
    parts: list[str] = []
    position = start + 1
    while True:
        character = text[position : position + 1]
        if character == mark:
            break
        if character in {"", "\n"}:
            raise Fault("literal not terminated", position)
        if character == "\\":
            piece, position = _escape(text, position + 1, mark)
            parts.append(piece)
        else:
            # A bare carriage return counts as a line feed, as in expr-lang.
            parts.append("\n" if character == "\r" else character)
            position += 1
    return Token(Kind.STRING, "".join(parts), start), position + 1


def _escape(text: str, position: int, mark: str) -> tuple[str, int]:
    character = text[position : position + 1]
    if character in _SIMPLE_ESCAPES and (character not in "'\"`?" or character == mark):
        return _SIMPLE_ESCAPES[character], position + 1
    match = _CODED.match(text, position)
    if match is None:
        raise Fault("invalid char escape", position)
    digits = next(group for group in match.groups() if group is not None)
    code = int(digits, 8 if match[5] else 16)
    if code > 0x10FFFF or (match[5] and code > 0xFF):
        raise Fault("unable to unescape string", position)
    if code >= 0x80 and (match[1] or match[5]):
        # A single byte of UTF-8; kept apart until a whole character is joined.
        return bytes([code]).decode("utf-8", "surrogateescape"), match.end()
    return chr(0xFFFD if 0xD800 <= code <= 0xDFFF else code), match.end()
