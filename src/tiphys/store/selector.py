"""Label selectors as kubectl takes them: ``a=b,c!=d,e in (x,y),f notin (z),g,!h``."""

from __future__ import annotations

import re

import msgspec

from tiphys.errors import InvalidInputError


class Requirement(msgspec.Struct, frozen=True):
    """One condition; all of a selector's must hold."""

    name: str
    wanted: bool
    """Whether the label must match, rather than must not."""
    values: tuple[str, ...] | None = None
    """Any of these; ``None``: whatever its value."""


_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?"
_VALUE = r"[A-Za-z0-9._-]*"
_PRESENCE = re.compile(rf"(!?)\s*({_NAME})")
_EQUALITY = re.compile(rf"({_NAME})\s*(==|=|!=)\s*({_VALUE})")
_MEMBERSHIP = re.compile(rf"({_NAME})\s+(in|notin)\s*\(([^()]*)\)")


def parse_selector(text: str) -> tuple[Requirement, ...]:
    """Read a selector; an empty one has no requirements."""
    return tuple(_requirement(part.strip()) for part in _split(text) if part.strip())


def _split(text: str) -> list[str]:
    """Cut at the commas outside of parentheses."""
    return re.split(r",(?![^(]*\))", text)


def _requirement(part: str) -> Requirement:
    if found := _MEMBERSHIP.fullmatch(part):
        values = tuple(value.strip() for value in found[3].split(","))
        if all(re.fullmatch(_VALUE, value) for value in values):
            return Requirement(found[1], found[2] == "in", values)
    elif found := _EQUALITY.fullmatch(part):
        return Requirement(found[1], found[2] != "!=", (found[3],))
    elif found := _PRESENCE.fullmatch(part):
        return Requirement(found[2], not found[1])
    raise InvalidInputError(f"label selector: cannot read {part[:200]!r}")
