"""One sign and one colour for each phase, those of ``argo get`` where it has one."""

from __future__ import annotations

from collections.abc import Mapping

_SIGNS: Mapping[str, tuple[str, str]] = {
    "": ("◷", "yellow"),
    "Pending": ("◷", "yellow"),
    "Running": ("●", "cyan"),
    "Succeeded": ("✔", "green"),
    "Skipped": ("○", "grey"),
    "Omitted": ("○", "grey"),
    "Failed": ("✖", "red"),
    "Error": ("⚠", "red"),
}


def symbol(phase: str) -> str:
    """Give the sign of a phase."""
    return _SIGNS.get(phase, ("?", "grey"))[0]


def phase_colour(phase: str) -> str:
    """Give the colour of a phase."""
    return _SIGNS.get(phase, ("?", "grey"))[1]
