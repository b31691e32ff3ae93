"""The wall clock of the executor: the one place that reads it."""

from __future__ import annotations

import time


def now() -> float:
    """Return seconds since 1970."""
    return time.time()  # noqa: TID251 - the executor reports real instants to the server's clock
