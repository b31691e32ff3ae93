"""Names of priorities: what files, requests and clusters may say in place of numbers.

The one table of them. A cluster gets the same classes with numbers of its own range
(``scheduling.queue_manifest``).
"""

from __future__ import annotations

from collections.abc import Mapping

PRIORITY_CLASSES: Mapping[str, int] = {"critical": 1000, "high": 100, "normal": 10, "low": 1}
"""Highest first."""
DEFAULT_CLASS = "normal"
"""Of everything that names none."""
