"""Semantic versions and their constraints, as the Go library behind sprig reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tiphys.spec.expression.fault import Fault

_IDENTIFIER = r"(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION = re.compile(
    r"v?(0|[1-9]\d*)(?:\.(0|[1-9]\d*))?(?:\.(0|[1-9]\d*))?"
    rf"(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?"
    r"(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?",
    re.ASCII,
)
_OPERATOR = r"!=|>=|=>|<=|=<|~>|[=><~^]|"
_LOOSE = (
    r"v?([0-9|xX*]+)(\.[0-9|xX*]+)?(\.[0-9|xX*]+)?"
    r"(-[0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*)?(\+[0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*)?"
)
_ONE = re.compile(rf"\s*({_OPERATOR})\s*({_LOOSE})\s*", re.ASCII)
_RANGE = re.compile(rf"({_LOOSE})\s+-\s+({_LOOSE})", re.ASCII)
MAX_CONSTRAINT = 1000


@dataclass(frozen=True, slots=True)
class Version:
    """A version; build metadata does not count in comparisons."""

    original: str
    numbers: tuple[int, int, int]
    prerelease: str = ""
    metadata: str = ""

    def __str__(self) -> str:
        """Write in full: ``1.2.3-rc.1+build``."""
        result = ".".join(map(str, self.numbers))
        result += f"-{self.prerelease}" if self.prerelease else ""
        return result + (f"+{self.metadata}" if self.metadata else "")

    @property
    def order(self) -> tuple[object, ...]:
        """What versions are compared by: a prerelease comes before its release."""
        return (self.numbers, not self.prerelease, _identifiers(self.prerelease))


def _identifiers(prerelease: str) -> tuple[tuple[int, int, str], ...]:
    return tuple(
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in prerelease.split(".")
        if part
    )


def parse(source: str) -> Version:
    """Read a version; minor and patch may be left out."""
    match = _VERSION.fullmatch(source) if len(source) <= 256 else None
    if match is None:
        raise Fault("Invalid Semantic Version")
    numbers = (int(match[1]), int(match[2] or 0), int(match[3] or 0))
    return Version(source, numbers, match[4] or "", match[5] or "")


@dataclass(frozen=True, slots=True)
class Constraint:
    """One condition; ``given`` counts the numbers that were written, 3 for a full version."""

    operator: str
    version: Version
    given: int

    def holds(self, version: Version) -> bool:
        """Tell whether ``version`` fits."""
        skips = version.prerelease and not self.version.prerelease
        if skips and not (self.operator == "!=" and self.given == 3):
            return False
        return _CHECKS[self.operator](version, self)


def _constraint(operator: str, match: re.Match[str]) -> Constraint:
    parts = [match[3], (match[4] or "")[1:], (match[5] or "")[1:]]
    numbers: list[int] = []
    for part in parts:
        if part in {"", "x", "X", "*"}:
            break
        if not re.fullmatch(r"0|[1-9]\d*", part, re.ASCII):
            raise Fault("constraint Parser Error")
        numbers.append(int(part))
    padded = (*numbers, 0, 0, 0)
    prerelease = (match[6] or "")[1:]
    version = Version(match[2], (padded[0], padded[1], padded[2]), prerelease)
    return Constraint(operator, version, len(numbers))


def parse_constraint(source: str) -> list[list[Constraint]]:
    """Read alternatives of conditions: ``>= 1.2, < 2 || ^3``."""
    if len(source) > MAX_CONSTRAINT:
        raise Fault(f"improper constraint: longer than {MAX_CONSTRAINT} characters")
    ranged = _RANGE.sub(lambda match: f">= {match[1]}, <= {match[7]} ", source)
    return [_conditions(part) for part in ranged.split("||")]


def _conditions(part: str) -> list[Constraint]:
    found: list[Constraint] = []
    position = 0
    while position < len(part) or not found:
        match = _ONE.match(part, position)
        if match is None:
            raise Fault(f"improper constraint: {part}")
        found.append(_constraint(match[1], match))
        position = match.end()
        if part[position : position + 1] == ",":
            position += 1
        elif position < len(part) and not part[position - 1].isspace():
            raise Fault(f"improper constraint: {part}")
    return found


def _not_equal(version: Version, wanted: Constraint) -> bool:
    return version.numbers[: wanted.given] != wanted.version.numbers[: wanted.given] or (
        (version.order != wanted.version.order)
        if wanted.given == 3
        else bool(version.prerelease or wanted.version.prerelease)
        and version.prerelease != wanted.version.prerelease
        and wanted.given == 2
    )


def _greater(version: Version, wanted: Constraint) -> bool:
    if wanted.given in {1, 2}:
        return version.numbers[: wanted.given] > wanted.version.numbers[: wanted.given]
    return _order(version) > _order(wanted.version)


def _order(version: Version) -> tuple[tuple[int, int, int], bool, tuple[tuple[int, int, str], ...]]:
    return (version.numbers, not version.prerelease, _identifiers(version.prerelease))


def _less(version: Version, wanted: Constraint) -> bool:
    return _order(version) < _order(wanted.version)


def _at_most(version: Version, wanted: Constraint) -> bool:
    if wanted.given == 3:
        return _order(version) <= _order(wanted.version)
    (major, minor, _), (top, middle, _) = version.numbers, wanted.version.numbers
    if major > top:
        return False
    return not (major == top and minor > middle and wanted.given != 1)


def _tilde(version: Version, wanted: Constraint) -> bool:
    if _less(version, wanted):
        return False
    if wanted.version.numbers == (0, 0, 0) and wanted.given in {0, 3}:
        return True
    count = 1 if wanted.given == 1 else 2
    return version.numbers[:count] == wanted.version.numbers[:count]


def _equal(version: Version, wanted: Constraint) -> bool:
    if wanted.given < 3:
        return _tilde(version, wanted)
    return version.order == wanted.version.order


def _caret(version: Version, wanted: Constraint) -> bool:
    if _less(version, wanted):
        return False
    major, minor, patch = wanted.version.numbers
    if major > 0 or wanted.given == 1:
        return version.numbers[0] == major
    if version.numbers[0] > 0:
        return False
    if minor > 0 or wanted.given == 2:
        return version.numbers[1] == minor
    return version.numbers[1] == 0 and version.numbers[2] == patch


_CHECKS: dict[str, Callable[[Version, Constraint], bool]] = {
    **dict.fromkeys(["", "="], _equal),
    "!=": _not_equal,
    ">": _greater,
    "<": _less,
    **dict.fromkeys([">=", "=>"], lambda version, wanted: not _less(version, wanted)),
    **dict.fromkeys(["<=", "=<"], _at_most),
    **dict.fromkeys(["~", "~>"], _tilde),
    "^": _caret,
}


def satisfies(constraint: str, version: str) -> bool:
    """Tell whether a version fits a constraint."""
    alternatives = parse_constraint(constraint)
    known = parse(version)
    return any(all(one.holds(known) for one in part) for part in alternatives)


VERSION_METHODS: dict[str, Callable[..., Any]] = {
    "Major": lambda version: version.numbers[0],
    "Minor": lambda version: version.numbers[1],
    "Patch": lambda version: version.numbers[2],
    "Prerelease": lambda version: version.prerelease,
    "Metadata": lambda version: version.metadata,
    "Original": lambda version: version.original,
    "String": str,
}
