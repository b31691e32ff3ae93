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

from tiphys.core.duration import parse_duration_or_seconds
from tiphys.core.label import QUEUE
from tiphys.errors import InvalidInputError, SpecError
from tiphys.scheduling.queue import DEFAULT
from tiphys.scheduling.queue_file import resources
from tiphys.scheduling.resource import NOTHING, Resources
from tiphys.scheduling.work import Gang, Work, WorkId
from tiphys.spec import yaml

ANNOTATION = "tiphys.dev/admission"
MAX_RESOURCES = "kueue.k8s.io/max-resources"
HOLD = "tiphys.dev/hold-while-suspended"
HOLD_SECONDS = 3600.0
"""How long a paused workflow that asks to keeps what it holds, where it gives no time itself."""


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


def max_resources(annotations: Mapping[str, str]) -> Resources | None:
    """Read the declared maximum: ``cpu=4,memory=8Gi``, or the same as YAML or JSON."""
    text = annotations.get(MAX_RESOURCES, "").strip()
    if not text:
        return None
    where = f"annotation {MAX_RESOURCES}: "
    found = resources(_amounts(text, where), where).positive()
    if not found.items:
        raise InvalidInputError(f"{where}it names no resource")
    return found


def _amounts(text: str, where: str) -> Mapping[str, object]:
    if "=" in text and not text.startswith("{"):
        pairs = [part.partition("=") for part in text.replace("\n", ",").split(",") if part.strip()]
        return {name.strip(): amount.strip() for name, _, amount in pairs}
    try:
        documents = yaml.load(text.encode(), file="")
    except SpecError as error:
        raise InvalidInputError(f"{where}{text[:60]!r} cannot be read") from error
    value = documents[0].value if len(documents) == 1 else None
    # A whole pod's ``resources`` is what people have at hand to copy.
    for key in ("resources", "requests"):
        if isinstance(value, dict) and isinstance(value.get(key), dict):
            value = value[key]
    if not isinstance(value, dict):
        raise InvalidInputError(f"{where}expected amounts such as cpu=4,memory=8Gi")
    return value


def hold_seconds(annotations: Mapping[str, str]) -> float:
    """How long the workflow keeps its reservation while it pauses: ``true``, ``false``, ``30m``."""
    text = annotations.get(HOLD, "").strip()
    if text.lower() in ("", "false"):
        return 0.0
    if text.lower() == "true":
        return HOLD_SECONDS
    try:
        return max(0.0, parse_duration_or_seconds(text))
    except InvalidInputError as error:
        raise InvalidInputError(f"annotation {HOLD}: {error}") from error


QUEUE_KEYS = (
    QUEUE,
    "kueue.x-k8s.io/queue-name",
    "scheduling.volcano.sh/queue-name",
)


def queue_of(labels: Mapping[str, str], annotations: Mapping[str, str], option: str = "") -> str:
    """The queue of a workflow: the submit option, else what Tiphys, Kueue or Volcano would read."""
    if option:
        return option
    for key in QUEUE_KEYS:
        found = annotations.get(key) or labels.get(key)
        if found:
            return found
    return DEFAULT
