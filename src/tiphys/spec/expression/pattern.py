"""Go's regular expressions: text → a small program for ``regex``.

The syntax is RE2's: no back references, no look-around, so that matching can always take time
linear in the text. The program is a list of instructions over positions; a repetition ``{n,m}`` is
written out, bounded as in Go (1000, and a bound on the whole).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from tiphys.spec.expression.fault import Fault, LimitFault

MAX_REPEAT = 1000
MAX_PROGRAM = 20_000
MAX_GROUPS_DEPTH = 100

Range = tuple[int, int]
_LAST = 0x10FFFF


@dataclass(frozen=True, slots=True)
class Chars:
    """A set of characters."""

    ranges: tuple[Range, ...] = ()
    categories: tuple[tuple[str, bool], ...] = ()
    """Unicode categories by prefix, and whether each is meant negated."""
    negated: bool = False
    fold: bool = False

    def has(self, character: str) -> bool:
        """Tell whether ``character`` is in the set."""
        found = self._has(character)
        if not found and self.fold:
            found = any(self._has(other) for other in _cases(character))
        return found != self.negated

    def _has(self, character: str) -> bool:
        code = ord(character)
        if any(low <= code <= high for low, high in self.ranges):
            return True
        return any(_in_category(character, name) != inverse for name, inverse in self.categories)


def _cases(character: str) -> set[str]:
    folded = {character.lower(), character.upper(), character.swapcase()}
    if character in "kK\u212a":
        folded |= {"k", "K", "\u212a"}
    if character in "sS\u017f":
        folded |= {"s", "S", "\u017f"}
    return {other for other in folded if len(other) == 1}


_SCRIPTS = {
    "Latin": "LATIN", "Greek": "GREEK", "Cyrillic": "CYRILLIC", "Han": "CJK",
    "Hiragana": "HIRAGANA", "Katakana": "KATAKANA", "Arabic": "ARABIC", "Hebrew": "HEBREW",
    "Thai": "THAI", "Hangul": "HANGUL", "Armenian": "ARMENIAN", "Devanagari": "DEVANAGARI",
}  # fmt: skip
_CATEGORIES = frozenset(
    [
        "C",
        "Cc",
        "Cf",
        "Co",
        "Cs",
        "L",
        "Ll",
        "Lm",
        "Lo",
        "Lt",
        "Lu",
        "M",
        "Mc",
        "Me",
        "Mn",
        "N",
        "Nd",
        "Nl",
        "No",
        "P",
        "Pc",
        "Pd",
        "Pe",
        "Pf",
        "Pi",
        "Po",
        "Ps",
        "S",
        "Sc",
        "Sk",
        "Sm",
        "So",
        "Z",
        "Zl",
        "Zp",
        "Zs",
        "Any",
    ]
)


def _in_category(character: str, name: str) -> bool:
    if name == "Any":
        return True
    if name in _SCRIPTS:
        is_letter = unicodedata.category(character)[0] in "LM"
        return is_letter and unicodedata.name(character, "").startswith(_SCRIPTS[name])
    return unicodedata.category(character).startswith(name)


_DIGIT: tuple[Range, ...] = ((0x30, 0x39),)
_SPACE: tuple[Range, ...] = ((0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20))
_WORD: tuple[Range, ...] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_PERL = {"d": _DIGIT, "s": _SPACE, "w": _WORD}
_POSIX: dict[str, tuple[Range, ...]] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": ((0x00, 0x7F),),
    "blank": ((0x09, 0x09), (0x20, 0x20)),
    "cntrl": ((0x00, 0x1F), (0x7F, 0x7F)),
    "digit": _DIGIT,
    "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ((0x09, 0x0D), (0x20, 0x20)),
    "upper": ((0x41, 0x5A),),
    "word": _WORD,
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}
_CONTROL = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_ASSERTIONS = {"A": "start", "z": "end", "b": "word", "B": "not word"}
_COUNTS = re.compile(r"\{(\d+)(,(\d*))?\}", re.ASCII)
_BARE_REPETITION = re.compile(r"(?:[*+?]|\{\d+(?:,\d*)?\})\??", re.ASCII)
_GROUP_NAME = re.compile(r"\?P?<([A-Za-z0-9_]+)>", re.ASCII)
_FLAGS = re.compile(r"\?([imsU]*)(?:-([imsU]+))?([:)])")


def inverted(ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    """Give all characters outside ``ranges``."""
    result: list[Range] = []
    following = 0
    for low, high in sorted(ranges):
        if low > following:
            result.append((following, low - 1))
        following = max(following, high + 1)
    if following <= _LAST:
        result.append((following, _LAST))
    return tuple(result)


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags in force at a place of the pattern."""

    fold: bool = False
    lines: bool = False
    dot_all: bool = False
    swap: bool = False


@dataclass(frozen=True, slots=True)
class Op:
    """One instruction: take a character, choose, assert, note a position, or accept."""

    kind: str
    chars: Chars | None = None
    first: int = 0
    second: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program, with the names of its groups (the whole match is group 0)."""

    text: str
    ops: tuple[Op, ...]
    groups: tuple[str, ...]


Piece = tuple[Op, ...]
"""A fragment of a program; its jumps are relative to each instruction's own place."""


def _take(chars: Chars) -> Piece:
    return (Op("take", chars),)


def _either(left: Piece, right: Piece) -> Piece:
    return (
        Op("split", first=1, second=len(left) + 2),
        *left,
        Op("jump", first=len(right) + 1),
        *right,
    )


def _optional(body: Piece, *, lazy: bool) -> Piece:
    inside, after = 1, len(body) + 1
    return (Op("split", first=after if lazy else inside, second=inside if lazy else after), *body)


def _star(body: Piece, *, lazy: bool) -> Piece:
    inside, after = 1, len(body) + 2
    first, second = (after, inside) if lazy else (inside, after)
    return (Op("split", first=first, second=second), *body, Op("jump", first=-len(body) - 1))


def _plus(body: Piece, *, lazy: bool) -> Piece:
    back, after = -len(body), 1
    first, second = (after, back) if lazy else (back, after)
    return (*body, Op("split", first=first, second=second))


@lru_cache(maxsize=512)
def compile_pattern(text: str) -> Compiled:
    """Compile ``text``; a ``Fault`` carries Go's complaint."""
    parser = _Parser(text)
    body = parser.alternatives(Flags())
    if parser.position < len(text):
        raise _complaint("unexpected )", text)
    ops = (Op("save", first=0), *body, Op("save", first=1), Op("accept"))
    return Compiled(text, ops, tuple(parser.groups))


def _complaint(problem: str, where: str) -> Fault:
    return Fault(f"error parsing regexp: {problem}: `{where}`")


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.groups: list[str] = [""]
        self.depth = 0

    def rest(self, word: str) -> bool:
        return self.text.startswith(word, self.position)

    def alternatives(self, flags: Flags) -> Piece:
        branches: list[Piece] = []
        while True:
            branch, flags = self.branch(flags)
            branches.append(branch)
            if not self.rest("|"):
                break
            self.position += 1
        result = branches.pop()
        while branches:
            result = self.bounded(_either(branches.pop(), result))
        return result

    def bounded(self, piece: Piece) -> Piece:
        if len(piece) > MAX_PROGRAM:
            raise LimitFault("error parsing regexp: expression too large")
        return piece

    def branch(self, flags: Flags) -> tuple[Piece, Flags]:
        pieces: list[Op] = []
        while self.position < len(self.text) and self.text[self.position] not in "|)":
            if self.rest("(?"):
                changed = self.flag_change(flags)
                if changed is not None:
                    flags = changed
                    continue
            if self.rest(r"\Q"):
                *before, atom = self.quoted(flags) or [()]
                pieces.extend(op for piece in before for op in piece)
            else:
                atom = self.atom(flags)
            pieces.extend(self.repeated(atom, flags))
            if len(pieces) > MAX_PROGRAM:
                raise LimitFault("error parsing regexp: expression too large")
        return tuple(pieces), flags

    def quoted(self, flags: Flags) -> list[Piece]:
        end = self.text.find(r"\E", self.position)
        end = len(self.text) if end < 0 else end
        inside = self.text[self.position + 2 : end]
        self.position = min(end + 2, len(self.text))
        return [_take(_one(character, flags)) for character in inside]

    def flag_change(self, flags: Flags) -> Flags | None:
        """Read ``(?i)``; leave groups and ``(?i:`` alone."""
        match = _FLAGS.match(self.text, self.position + 1)
        if match is None or match[3] != ")":
            return None
        self.position = match.end()
        return _flagged(flags, match)

    def atom(self, flags: Flags) -> Piece:
        character = self.text[self.position]
        if character == "(":
            return self.group(flags)
        if character == "[":
            return _take(self.bracket(flags))
        if character == "\\":
            return self.escape(flags)
        bare = _BARE_REPETITION.match(self.text, self.position)
        if bare:
            raise _complaint("missing argument to repetition operator", bare[0])
        self.position += 1
        if character == ".":
            ranges = ((0, _LAST),) if flags.dot_all else inverted(((10, 10),))
            return _take(Chars(ranges))
        if character == "^":
            return (Op("assert", name="line start" if flags.lines else "start"),)
        if character == "$":
            return (Op("assert", name="line end" if flags.lines else "end"),)
        return _take(_one(character, flags))

    def group(self, flags: Flags) -> Piece:
        self.depth += 1
        if self.depth > MAX_GROUPS_DEPTH:
            raise LimitFault("error parsing regexp: expression nests too deeply")
        self.position += 1
        number = None
        if self.rest("?"):
            number, flags = self.group_head(flags)
        else:
            self.groups.append("")
            number = len(self.groups) - 1
        body = self.alternatives(flags)
        if not self.rest(")"):
            raise _complaint("missing closing )", self.text)
        self.position += 1
        self.depth -= 1
        if number is None:
            return body
        return (Op("save", first=2 * number), *body, Op("save", first=2 * number + 1))

    def group_head(self, flags: Flags) -> tuple[int | None, Flags]:
        named = _GROUP_NAME.match(self.text, self.position)
        if named:
            self.groups.append(named[1])
            self.position = named.end()
            return len(self.groups) - 1, flags
        match = _FLAGS.match(self.text, self.position)
        if match is None:
            where = self.text[self.position - 1 : self.position + 2]
            raise _complaint("invalid or unsupported Perl syntax", where)
        self.position = match.end()
        return None, _flagged(flags, match)

    def repeated(self, atom: Piece, flags: Flags) -> Piece:
        start, times = self.position, 0
        while self.position < len(self.text):
            counts = self.counts()
            if counts is None:
                return atom
            lazy = self.rest("?")
            self.position += lazy
            times += 1
            if times > 1:
                where = self.text[start : self.position]
                raise _complaint("invalid nested repetition operator", where)
            atom = self.bounded(_repeat(atom, counts, lazy=lazy != flags.swap))
        return atom

    def counts(self) -> tuple[int, int | None] | None:
        """Read a repetition as its least and most; None where there is none."""
        simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self.text[self.position])
        if simple is not None:
            self.position += 1
            return simple
        match = _COUNTS.match(self.text, self.position)
        if match is None:
            return None
        low = int(match[1])
        high = low if match[2] is None else int(match[3]) if match[3] else None
        if low > MAX_REPEAT or (high or 0) > MAX_REPEAT or (high is not None and high < low):
            raise _complaint("invalid repeat count", match[0])
        self.position = match.end()
        return low, high

    def escape(self, flags: Flags) -> Piece:
        following = self.text[self.position + 1 : self.position + 2]
        if following in _ASSERTIONS and following:
            self.position += 2
            return (Op("assert", name=_ASSERTIONS[following]),)
        found = self.class_escape()
        if found is not None:
            return _take(replace(found, fold=flags.fold))
        return _take(_one(chr(self.character_escape()), flags))

    def class_escape(self) -> Chars | None:
        r"""Read ``\d`` or ``\pL``; None where the escape is a single character."""
        following = self.text[self.position + 1 : self.position + 2]
        if following.lower() in _PERL and following:
            self.position += 2
            ranges = _PERL[following.lower()]
            return Chars(inverted(ranges) if following.isupper() else ranges)
        if following not in {"p", "P"}:
            return None
        match = re.compile(r"\{(\^?)(\w+)\}|(\w)").match(self.text, self.position + 2)
        name = (match[2] or match[3]) if match else ""
        if match is None or name not in _CATEGORIES | set(_SCRIPTS):
            where = match[0] if match else ""
            raise _complaint("invalid character class range", f"\\{following}{where}")
        self.position = match.end()
        return Chars(categories=((name, (following == "P") != bool(match[1])),))

    def character_escape(self) -> int:
        following = self.text[self.position + 1 : self.position + 2]
        if not following:
            raise Fault("error parsing regexp: trailing backslash at end of expression: ``")
        shapes: tuple[tuple[str, int], ...] = (
            (r"x\{([0-9a-fA-F]+)\}", 16),
            (r"x([0-9a-fA-F]{2})", 16),
            (r"(0[0-7]{0,2}|[1-7][0-7]{1,2})", 8),
        )
        for shape, base in shapes:
            match = re.compile(shape).match(self.text, self.position + 1)
            if match and int(match[1], base) <= _LAST:
                self.position = match.end()
                return int(match[1], base)
        if following in _CONTROL:
            self.position += 2
            return _CONTROL[following]
        if following.isascii() and not following.isalnum() and following != "_":
            self.position += 2
            return ord(following)
        if following == "_":
            self.position += 2
            return ord("_")
        raise _complaint("invalid escape sequence", f"\\{following}")

    def bracket(self, flags: Flags) -> Chars:
        start = self.position
        self.position += 1
        negated = self.rest("^")
        self.position += negated
        ranges: list[Range] = []
        categories: list[tuple[str, bool]] = []
        first = True
        while first or not self.rest("]"):
            if self.position >= len(self.text):
                raise _complaint("missing closing ]", self.text[start:])
            self.member(ranges, categories, first=first)
            first = False
        self.position += 1
        return Chars(tuple(ranges), tuple(categories), bool(negated), flags.fold)

    def member(
        self, ranges: list[Range], categories: list[tuple[str, bool]], *, first: bool
    ) -> None:
        posix = re.compile(r"\[:(\^?)(\w+):\]").match(self.text, self.position)
        if posix:
            if posix[2] not in _POSIX:
                raise _complaint("invalid character class range", posix[0])
            known = _POSIX[posix[2]]
            ranges.extend(inverted(known) if posix[1] else known)
            self.position = posix.end()
            return
        if self.rest("\\"):
            found = self.class_escape()
            if found is not None:
                ranges.extend(found.ranges)
                categories.extend(found.categories)
                return
        start = self.position
        if self.rest("-") and not first and self.text[start + 1 : start + 2] not in {"]", ""}:
            raise _complaint("invalid character class range", self.text[start : start + 2])
        low = high = self.single()
        if self.rest("-") and self.text[self.position + 1 : self.position + 2] not in {"]", ""}:
            self.position += 1
            high = self.single()
            if high < low:
                where = self.text[start : self.position]
                raise _complaint("invalid character class range", where)
        ranges.append((low, high))

    def single(self) -> int:
        if self.rest("\\"):
            return self.character_escape()
        self.position += 1
        return ord(self.text[self.position - 1])


def _one(character: str, flags: Flags) -> Chars:
    return Chars(((ord(character), ord(character)),), fold=flags.fold)


def _flagged(flags: Flags, match: re.Match[str]) -> Flags:
    names = {"i": "fold", "m": "lines", "s": "dot_all", "U": "swap"}
    set_flags = {names[letter]: True for letter in match[1]}
    cleared = {names[letter]: False for letter in match[2] or ""}
    change: Callable[..., Flags] = replace
    return change(flags, **set_flags, **cleared)


def _repeat(body: Piece, counts: tuple[int, int | None], *, lazy: bool) -> Piece:
    low, high = counts
    if high is None:
        if low == 0:
            return _star(body, lazy=lazy)
        return _sized(body, low - 1) + _plus(body, lazy=lazy)
    tail: Piece = ()
    if (high - low) * (len(body) + 1) > MAX_PROGRAM:
        raise LimitFault("error parsing regexp: expression too large")
    for _ in range(high - low):
        tail = _optional((*body, *tail), lazy=lazy)
    return _sized(body, low) + tail


def _sized(body: Piece, times: int) -> Piece:
    if len(body) * times > MAX_PROGRAM:
        raise LimitFault("error parsing regexp: expression too large")
    return body * times
