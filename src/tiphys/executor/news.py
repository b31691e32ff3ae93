"""What has happened and the server has not been told yet.

Most news go out at once. Two kinds may wait for a moment for others, which spares both sides most
of their turns: that of a beginning, which of a short task travels with its end; and that of an end
where ends come in flocks and other tasks run meanwhile. A beginning is no news before it is one:
what was started may still fail to become its program.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from tiphys.executor.protocol import Ended, Event, Started

BEGINNING_WAITS = 0.01
"""Seconds."""
END_WAITS = 0.0015
CLOSE = 0.004
"""Ends that are no further apart, in seconds, come in a flock."""
FLOCK = 4
"""So many ends are enough to go."""


class News:
    """Events in the order in which they happened."""

    def __init__(self) -> None:
        self.has_begun: Callable[[str], bool] = lambda _: True
        """Asked of each attempt whose beginning would be told."""
        self._events: list[Event] = []
        self._ends = 0
        self._is_urgent = False
        self._last_end = 0.0
        self._in_flock = False
        self._first_at = 0.0
        self._first_end_at = 0.0

    def add(self, event: Event) -> None:
        """Take one in."""
        now = monotonic()
        if not self._events:
            self._first_at = now
        self._events.append(event)
        if isinstance(event, Ended):
            self._in_flock = now - self._last_end < CLOSE
            self._last_end = now
            if not self._ends:
                self._first_end_at = now
            self._ends += 1
        elif not isinstance(event, Started):
            self._is_urgent = True

    @property
    def is_flock(self) -> bool:
        """Whether there are enough ends to go."""
        return self._ends >= FLOCK

    def patience(self, running: int) -> float | None:
        """Return for how many seconds they may wait while so many run; None without any."""
        if not self._events:
            return None
        if self._is_urgent:
            return 0.0
        if not self._ends:
            return max(0.0, self._first_at + BEGINNING_WAITS - monotonic())
        if not running or not self._in_flock or self.is_flock:
            return 0.0
        return max(0.0, self._first_end_at + END_WAITS - monotonic())

    def withdraw(self, attempt: str) -> None:
        """Forget a beginning: it was none, or is told anew."""
        self._events = [
            event
            for event in self._events
            if not (isinstance(event, Started) and event.id == attempt)
        ]

    def take(self) -> tuple[Event, ...]:
        """Give those that can be told."""
        told: list[Event] = []
        kept: list[Event] = []
        for event in self._events:
            is_early = isinstance(event, Started) and not self.has_begun(event.id)
            (kept if is_early else told).append(event)
        self._events, self._first_at = kept, monotonic()
        self._ends = 0
        self._is_urgent = False
        return tuple(told)
