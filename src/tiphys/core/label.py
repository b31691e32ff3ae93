"""Labels and annotations of our own that several parts read."""

from __future__ import annotations

QUEUE = "tiphys.dev/queue"
"""Names the queue in which work waits."""
