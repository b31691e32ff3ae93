"""How often a token may ask: a bucket of requests that fills up again as time passes."""

from __future__ import annotations

from collections.abc import Callable

_MOST = 10_000
BURST = 2.0
"""So many seconds' worth may come at once."""


class RateLimit:
    """A bucket for each bearer; 0 a second stands for no limit."""

    def __init__(self, per_second: float, clock: Callable[[], float]) -> None:
        self._rate, self._clock = per_second, clock
        self._size = max(1.0, per_second * BURST)
        self._buckets: dict[str, tuple[float, float]] = {}

    def allows(self, key: str) -> bool:
        """Take one request from a bucket, if there is one left."""
        if self._rate <= 0:
            return True
        now = self._clock()
        left, at = self._buckets.get(key, (self._size, now))
        left = min(self._size, left + (now - at) * self._rate)
        if len(self._buckets) >= _MOST:
            self._buckets.clear()
        self._buckets[key] = (left - 1.0 if left >= 1.0 else left, now)
        return left >= 1.0
