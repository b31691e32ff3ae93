"""Comparing what was decided with what a vector expects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

UNORDERED = frozenset({"evict", "inqueue", "rejected", "enqueued", "parked", "requeued"})
"""Lists of which only the members count."""
PROSE = frozenset({"check", "note", "why", "source", "name"})


class UnreadableError(ValueError):
    """A vector says something that its reader does not understand."""


def agrees(expected: Any, actual: Any) -> bool:
    """Whether ``actual`` is what was expected: numbers nearly, lists as given, words loosely."""
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, int | float) and isinstance(actual, int | float):
        return bool(
            expected == actual or math.isclose(expected, actual, rel_tol=1e-4, abs_tol=1e-6)
        )
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return expected.keys() == actual.keys() and all(
            agrees(value, actual[key]) for key, value in expected.items()
        )
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(agrees, expected, actual))
    return _words(expected) == _words(actual)


def _words(value: Any) -> str:
    return str(value).strip().lower()


def compare(expected: Any, actual: Any) -> list[str]:
    """List the differences; empty where ``actual`` is as expected.

    Of a mapping each expected key is compared; a key that was not decided is not understood.
    """
    if not isinstance(expected, Mapping) or not isinstance(actual, Mapping):
        return [] if agrees(expected, actual) else [f"expected {expected}, got {actual}"]
    problems = []
    for key, value in expected.items():
        if key in PROSE:
            continue
        if key not in actual:
            raise UnreadableError(f"expectation {key!r} is not understood")
        wanted, got = value, actual[key]
        if key in UNORDERED and isinstance(wanted, list) and isinstance(got, list):
            wanted, got = sorted(wanted), sorted(got)
        if not agrees(wanted, got):
            problems.append(f"{key}: expected {value}, got {actual[key]}")
    return problems
