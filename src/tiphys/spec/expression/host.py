"""What an expression may ask of the world: the time and chance.

The core is pure, so the caller brings both. The default is fixed: the same expression gives the
same result wherever nobody said otherwise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


def fixed_bytes(count: int) -> bytes:
    """Give the same ``count`` bytes on every call."""
    blocks = (count + 31) // 32
    stream = b"".join(hashlib.sha256(b"tiphys:%d" % block).digest() for block in range(blocks))
    return stream[:count]


@dataclass(frozen=True, slots=True)
class Host:
    """The caller's clock and source of random bytes."""

    now: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    random: Callable[[int], bytes] = fixed_bytes
    """Give that many random bytes (``os.urandom`` fits)."""


DEFAULT_HOST = Host()
