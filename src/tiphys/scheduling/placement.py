"""From what the control loop knows of a node to the work that the scheduler weighs.

Pure: plain values in, plain values out. What a workflow chooses for all of its nodes (queue,
priority, unit of admission) is read once into a ``Choice``; ``work_of`` is then cheap enough for
every node of a large fan-out. ``gate`` puts both to use.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tiphys.core.priority import CLASS_LABELS, PRIORITY_CLASSES
from tiphys.errors import InvalidInputError
from tiphys.scheduling.admission import (
    MAX_RESOURCES,
    Unit,
    hold_seconds,
    max_resources,
    queue_of,
    unit_of,
)
from tiphys.scheduling.queue import DEFAULT
from tiphys.scheduling.resource import NOTHING, Resources, amount_text, clamp
from tiphys.scheduling.work import Gang, Work, WorkId

NORMAL = PRIORITY_CLASSES["normal"]
PREEMPTABLE = "volcano.sh/preemptable"


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What a workflow has chosen for all of its nodes."""

    queue: str = DEFAULT
    priority: int = NORMAL
    unit: Unit = Unit.POD
    most: Resources | None = None
    """The declared maximum, where the workflow is admitted as a whole."""
    hold_seconds: float = 0.0
    """How long a pause keeps that maximum."""
    preemptable: bool = True


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the control loop knows of one node that may start."""

    id: str
    """The attempt's."""
    workflow: str
    """The workflow's uid."""
    requests: Resources
    """What its containers ask for, as written."""
    queued_at: float
    """When it began to wait for the first time."""
    workflow_created_at: float
    layer: str = ""
    """Nodes of one workflow with the same key that arrive together are one layer."""
    role: str = ""
    """Its template, for people and for minimums by task."""
    expected_seconds: float | None = None
    rank: float = 0.0
    queue: str = ""
    """Its own, where its template names one; else its workflow's."""
    priority: int | None = None
    gang: Gang | None = None
    """Those that it starts together with, where its workflow says so."""
    together: Resources = NOTHING
    """What the least of its Job asks for, it among them: that runs at once, or nothing does."""
    number: int = 0
    """Which of its task's replicas it is."""


def choose(
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    *,
    queue: str = "",
    unit: str = "",
    priority: int | None = None,
    classes: Mapping[str, int] = PRIORITY_CLASSES,
) -> Choice:
    """Read a workflow's choice; ``queue`` and ``unit`` are options that win over its metadata.

    Raises InvalidInputError where the metadata makes no sense.
    """
    chosen = unit_of(annotations, unit)
    most = max_resources(annotations) if chosen is Unit.WORKFLOW else None
    if chosen is Unit.WORKFLOW and most is None:
        raise InvalidInputError(
            f"admission of a whole workflow needs its maximum: annotation {MAX_RESOURCES}"
        )
    named = next((labels[key] for key in CLASS_LABELS if key in labels), "")
    return Choice(
        queue=queue_of(labels, annotations, queue),
        priority=priority_of(priority, named, classes),
        unit=chosen,
        most=most,
        hold_seconds=hold_seconds(annotations),
        preemptable=annotations.get(PREEMPTABLE, labels.get(PREEMPTABLE, "")).lower() != "false",
    )


def priority_of(number: int | None, named: str, classes: Mapping[str, int]) -> int:
    """A number wins over a class; a class that nobody declared is a mistake."""
    if number is not None:
        return number
    if not named:
        return NORMAL
    found = classes.get(named, PRIORITY_CLASSES.get(named))
    if found is None:
        known = ", ".join(sorted({*classes, *PRIORITY_CLASSES}))
        raise InvalidInputError(f"priority class {named!r} is none of {known}")
    return found


def work_of(
    facts: Facts, choice: Choice, largest: Resources, machine: Resources | None = None
) -> tuple[Work, tuple[str, ...]]:
    """Make the work of a node; say also what had to be cut for it to fit ``largest``.

    ``largest`` is the most that one work could ever get: ``Scheduler.largest`` of its queue, or
    the declared maximum of its workflow. A gang is cut down to the whole ``machine`` only: where
    its queue has less, somebody has decided so, and it waits.
    """
    asked = facts.requests
    less: tuple[str, ...] = ()
    if machine is not None and not facts.together.fits(machine):
        asked, less = _cut_down(facts, machine)
    requests, cut = clamp(asked, largest)
    work = Work(
        id=WorkId(facts.id),
        requests=requests,
        queue=facts.queue or choice.queue,
        priority=choice.priority if facts.priority is None else facts.priority,
        workflow=facts.workflow,
        group="" if facts.gang is None else facts.gang.name,
        role=facts.role,
        created_at=facts.queued_at,
        workflow_created_at=facts.workflow_created_at,
        rank=facts.rank,
        expected_seconds=facts.expected_seconds,
        preemptable=choice.preemptable,
    )
    return work, (*less, *cut)


def _cut_down(facts: Facts, machine: Resources) -> tuple[Resources, tuple[str, ...]]:
    """Cut what a member of a gang asks for that could never start, each by the same part."""
    kept: dict[str, int] = {}
    words = []
    for name, amount in facts.requests.items:
        have, whole = machine.get(name), facts.together.get(name)
        part = min(amount, have)
        if whole > have:
            # Added up over the replicas it is no more than there is: of two gpus for four pods
            # every other one has one.
            n = facts.number
            part = (n + 1) * amount * have // whole - n * amount * have // whole
        if part < amount:
            asked, why = (whole, " with its gang") if whole > amount else (amount, "")
            words.append(f"asks for {amount_text(name, asked)}{why}, has {amount_text(name, have)}")
        if part:
            kept[name] = part
    return Resources(kept), tuple(words)


def held_whole(most: Resources, largest: Resources) -> tuple[Resources, tuple[str, ...]]:
    """What is held for a workflow as a whole: its declared maximum, cut down to fit.

    A resource that it does not declare is held in the proportion of what it does, so that its
    nodes find some of it: half of the cores come with half of the memory.
    """
    kept, cut = clamp(most, largest)
    part = max((amount / largest.get(name) for name, amount in kept.items), default=1.0)
    rest = {name: max(1, int(amount * part)) for name, amount in largest.items if name not in kept}
    return Resources({**rest, **kept.to_dict()}), cut
