"""Time as something that is handed in: seconds since the epoch, UTC.

Instants are plain floats past this line: an engine that steps 100,000 nodes cannot afford a
datetime for each, and JSON has no other. They are called ``at`` or ``…_at``; durations are
seconds.
"""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> float:
        """Give the seconds since the epoch."""


class ManualClock:
    """A clock that stands still until it is moved; for tests and simulation."""

    def __init__(self, at: float = 0.0) -> None:
        self.at = at

    def now(self) -> float:
        """Give the time it was set to."""
        return self.at
