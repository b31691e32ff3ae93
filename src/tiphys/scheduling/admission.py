"""The unit of admission: what of a workflow is admitted at once.

Pure. ``pod``: each node alone. ``layer``: the leaves of a step group or DAG layer as one gang, so
that a fan-out starts whole; a failed leaf's retry joins alone, and the next layer reuses what this
one held, as its works give their room back one by one. ``workflow``: the declared maximum is
reserved from admission to the end, and the workflow's works run inside it; while the workflow is
suspended it holds nothing, unless it asks to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from tiphys.errors import InvalidInputError
from tiphys.scheduling.queue import DEFAULT
from tiphys.scheduling.resource import NOTHING, Resources
from tiphys.scheduling.work import Gang, Work, WorkId

ANNOTATION = "tiphys.io/admission"
MAX_RESOURCES = "kueue.k8s.io/max-resources"
HOLD = "tiphys.io/hold-while-suspended"


class Unit(StrEnum):
    """What is admitted at once."""

    POD = "pod"
    LAYER = "layer"
    WORKFLOW = "workflow"


def unit_of(annotations: Mapping[str, str], option: str = "") -> Unit:
    """Read the unit: the submit option wins over the annotation; ``pod`` is the default."""
    chosen = option or annotations.get(ANNOTATION, "")
    if not chosen:
        return Unit.WORKFLOW if MAX_RESOURCES in annotations else Unit.POD
    try:
        return Unit(chosen)
    except ValueError:
        known = ", ".join(unit.value for unit in Unit)
        raise InvalidInputError(f"admission unit {chosen!r} is none of {known}") from None


def layer(name: str, works: Sequence[Work]) -> tuple[Gang | None, tuple[Work, ...]]:
    """Make the works of one layer start together; a layer of one needs no gang."""
    if len(works) < 2:
        return None, tuple(works)
    gang = Gang(
        name=name,
        min_member=len(works),
        min_resources=sum((work.requests for work in works), NOTHING),
    )
    return gang, tuple(msgspec.structs.replace(work, group=name) for work in works)


def reservation(
    workflow: str, queue: str, most: Resources, *, created_at: float, priority: int = 10
) -> Work:
    """The work that stands for a whole workflow in line (``Scheduler.reserve``)."""
    return Work(
        id=WorkId(f"{workflow}/reservation"),
        workflow=workflow,
        queue=queue,
        requests=most,
        priority=priority,
        created_at=created_at,
    )


_QUEUE_KEYS = (
    "tiphys.io/queue",
    "kueue.x-k8s.io/queue-name",
    "scheduling.volcano.sh/queue-name",
)


def queue_of(labels: Mapping[str, str], annotations: Mapping[str, str], option: str = "") -> str:
    """The queue of a workflow: the submit option, else what Tiphys, Kueue or Volcano would read."""
    if option:
        return option
    for key in _QUEUE_KEYS:
        found = annotations.get(key) or labels.get(key)
        if found:
            return found
    return DEFAULT
