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
CLASS_LABELS = ("tiphys.dev/priority-class", "kueue.x-k8s.io/priority-class")
"""With which a workflow names its class, the first that it has."""


def effective_priority(
    number: int | None,
    labels: Mapping[str, str],
    named: str = "",
    classes: Mapping[str, int] = PRIORITY_CLASSES,
) -> int:
    """Give the priority of a workflow: its number, else that of its class, else the usual one.

    The class is that of its pods (``named``) or of its labels.
    """
    if number is not None:
        return number
    named = named or next((labels[key] for key in CLASS_LABELS if key in labels), "")
    return classes.get(named, PRIORITY_CLASSES.get(named, PRIORITY_CLASSES[DEFAULT_CLASS]))
