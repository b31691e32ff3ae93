"""Why work waits, as data.

Each reason is a small tagged struct: encoders give it to the API as it is, ``text`` says it to a
person. Nothing here decides; the scheduler and the engine make these.
"""

from __future__ import annotations

import msgspec

from tiphys.scheduling.resource import amount_text


class NoCapacity(msgspec.Struct, frozen=True, tag=True):
    """The machine has too little of a resource free."""

    resource: str
    asked: int
    free: int


class QueueLimit(msgspec.Struct, frozen=True, tag=True):
    """The queue or one above it would exceed its cap."""

    queue: str
    resource: str
    asked: int
    used: int
    limit: int


class GuaranteeOfOthers(msgspec.Struct, frozen=True, tag=True):
    """What is free is kept for queues with a guarantee."""

    resource: str
    asked: int
    free: int
    kept: int


class GangShort(msgspec.Struct, frozen=True, tag=True):
    """The gang cannot start whole yet."""

    gang: str
    needed: int
    placeable: int
    role: str = ""


class GangIncomplete(msgspec.Struct, frozen=True, tag=True):
    """Fewer members have been submitted than must start together."""

    gang: str
    needed: int
    present: int


class QueueNotOpen(msgspec.Struct, frozen=True, tag=True):
    """The queue starts nothing new."""

    queue: str
    state: str


class WorkflowLimit(msgspec.Struct, frozen=True, tag=True):
    """The queue already runs as many workflows as it may."""

    queue: str
    limit: int


class ReservedForHead(msgspec.Struct, frozen=True, tag=True):
    """Starting now would delay work further ahead that waits for room."""

    head: str
    resource: str


class BehindOthers(msgspec.Struct, frozen=True, tag=True):
    """It would fit, and is next to be looked at; others go first."""

    ahead: int


class WaitingForVictims(msgspec.Struct, frozen=True, tag=True):
    """Room is being made: running work has been told to stop."""

    victims: tuple[str, ...]


class NoSuchQueueAnyMore(msgspec.Struct, frozen=True, tag=True):
    """Its queue was taken away while it waited."""

    queue: str


class WorkflowNotAdmitted(msgspec.Struct, frozen=True, tag=True):
    """Its workflow is admitted as a whole, and its declared maximum is not free yet."""

    workflow: str
    because: str = ""


class PoolFull(msgspec.Struct, frozen=True, tag=True):
    """Its workflow's declared maximum is in use."""

    workflow: str
    resource: str
    asked: int
    free: int


class LockHeld(msgspec.Struct, frozen=True, tag=True):
    """A mutex or semaphore is taken (said by the engine)."""

    lock: str
    holders: tuple[str, ...] = ()


class DependencyPending(msgspec.Struct, frozen=True, tag=True):
    """Something it depends on has not finished (said by the engine)."""

    on: tuple[str, ...]


class Paused(msgspec.Struct, frozen=True, tag=True):
    """A pause of the workflow's own: somebody resumes it, or its time comes (the engine's word)."""

    until: float | None = None
    workflow: str = ""


class WorkflowSuspended(msgspec.Struct, frozen=True, tag=True):
    """Somebody suspended the whole workflow: nothing new starts in it."""

    workflow: str


class ParallelismReached(msgspec.Struct, frozen=True, tag=True):
    """Its workflow or template runs as many nodes at once as it allows itself."""

    limit: int | None = None


class BackingOff(msgspec.Struct, frozen=True, tag=True):
    """It failed and is tried again at its time."""

    until: float | None = None


class Starting(msgspec.Struct, frozen=True, tag=True):
    """It was let in; its process has not reported yet."""


class NoServer(msgspec.Struct, frozen=True, tag=True):
    """Nobody runs the workflow at the moment."""


class ImagePulling(msgspec.Struct, frozen=True, tag=True):
    """Its image is not here yet (said by the runtime)."""

    image: str
    because: str = ""
    """What went wrong with the last try."""


class Gated(msgspec.Struct, frozen=True, tag=True):
    """Kueue has not admitted it on its cluster yet (said by the runtime)."""


class GangUnplaced(msgspec.Struct, frozen=True, tag=True):
    """Volcano has not placed its group yet (said by the runtime)."""

    gang: str
    queue: str
    size: int
    phase: str
    because: str = ""


TooLittle = NoCapacity | QueueLimit | GuaranteeOfOthers | PoolFull
"""Something is not free in the amount that is needed."""
NotItsTurn = (
    GangShort
    | GangIncomplete
    | QueueNotOpen
    | WorkflowLimit
    | ReservedForHead
    | BehindOthers
    | WaitingForVictims
    | NoSuchQueueAnyMore
    | WorkflowNotAdmitted
)
"""The scheduler's rules say later."""
NotReady = (
    LockHeld
    | DependencyPending
    | Paused
    | WorkflowSuspended
    | ParallelismReached
    | BackingOff
    | Starting
    | NoServer
    | ImagePulling
    | Gated
    | GangUnplaced
)
"""The scheduler was not asked, or has let it in."""
Reason = TooLittle | NotItsTurn | NotReady


class Unplaceable(msgspec.Struct, frozen=True, tag=True):
    """The request is larger than the whole machine: it could never start."""

    resource: str
    asked: int
    capacity: int


class NoSuchQueue(msgspec.Struct, frozen=True, tag=True):
    """There is no such queue, or it has children and takes no work itself."""

    queue: str


Refusal = Unplaceable | NoSuchQueue


class Wait(msgspec.Struct, frozen=True):
    """Why a work waits and when it may start."""

    reason: Reason
    expected_start: float | None = None

    @property
    def text(self) -> str:
        """The reason in words."""
        return text(self.reason)


def text(reason: Reason | Refusal) -> str:
    """Say ``reason`` to a person."""
    if isinstance(reason, TooLittle | Unplaceable):
        return _too_little(reason)
    if isinstance(reason, NotItsTurn | NoSuchQueue):
        return _not_its_turn(reason)
    return _not_ready(reason)


def _too_little(reason: TooLittle | Unplaceable) -> str:
    """Say how much is there, and how much is needed."""
    match reason:
        case NoCapacity(resource, asked, free):
            return (
                f"needs {amount_text(resource, asked)}, "
                f"the machine has {amount_text(resource, free)} free"
            )
        case QueueLimit(queue, resource, asked, used, limit):
            return (
                f"queue {queue} may use {amount_text(resource, limit)}, uses "
                f"{amount_text(resource, used)}, needs {amount_text(resource, asked)} more"
            )
        case GuaranteeOfOthers(resource, asked, free, kept):
            return (
                f"needs {amount_text(resource, asked)}; of {amount_text(resource, free)} free, "
                f"{amount_text(resource, kept)} is guaranteed to other queues"
            )
        case PoolFull(workflow, resource, asked, free):
            return (
                f"needs {amount_text(resource, asked)}, workflow {workflow} has "
                f"{amount_text(resource, free)} of its maximum free"
            )
        case Unplaceable(resource, asked, capacity):
            return (
                f"needs {amount_text(resource, asked)}, "
                f"the whole machine has {amount_text(resource, capacity)}"
            )


def _not_its_turn(reason: NotItsTurn | NoSuchQueue) -> str:  # noqa: C901, PLR0911 - one row each
    """Say what the scheduler waits for."""
    match reason:
        case GangShort(gang, needed, placeable, role):
            which = f" of task {role}" if role else ""
            short = needed - placeable
            room = f"{placeable} of {needed}{which} have room"
            return f"gang {_gang_name(gang)} is short by {short}: {room}"
        case GangIncomplete(gang, needed, present):
            here = f"{present} of {needed} members are here"
            return f"gang {_gang_name(gang)} is incomplete: {here}"
        case QueueNotOpen(queue, state):
            return f"queue {queue} is {state.lower()}"
        case WorkflowLimit(queue, limit):
            return f"queue {queue} already runs {limit} workflows, its maximum"
        case ReservedForHead(head, resource):
            return f"{resource} is reserved for {head}, which waits longer"
        case BehindOthers(ahead):
            return f"waits behind {ahead} others in its queue"
        case WaitingForVictims(victims):
            return f"waits for {', '.join(victims)} to stop"
        case NoSuchQueueAnyMore(queue):
            return f"queue {queue} is gone"
        case WorkflowNotAdmitted(workflow, because):
            whole = f"workflow {workflow} waits to be admitted as a whole"
            return f"{whole}: {because}" if because else whole
        case NoSuchQueue(queue):
            return f"there is no queue {queue} that takes work"


def _not_ready(reason: NotReady) -> str:  # noqa: C901, PLR0911 - one row each
    """Say what others wait for."""
    match reason:
        case LockHeld(lock, holders):
            return f"lock {lock} is held" + (f" by {', '.join(holders)}" if holders else "")
        case DependencyPending(on):
            return f"depends on {', '.join(on)}"
        case Paused(until, workflow):
            waits = "waits to be resumed" if until is None else "pauses until its time"
            how = f": `tiphys resume {workflow}` lets it go on" if workflow else ""
            return waits + how
        case WorkflowSuspended(workflow):
            return f"workflow {workflow} is suspended: `tiphys resume {workflow}` lets it go on"
        case ParallelismReached(limit):
            most = "" if limit is None else f" ({limit})"
            return f"as many nodes run as parallelism allows{most}"
        case BackingOff():
            return "failed, and is tried again after its backoff"
        case Starting():
            return "was let in and is starting"
        case NoServer():
            return "no server is running: `tiphys server` or `tiphys wait` would run it"
        case ImagePulling(image, because):
            failed = f" and cannot be had: {because}" if because else ""
            return f"image {image} is being pulled{failed}"
        case Gated():
            return "waits for Kueue to admit it: `kubectl describe workloads` tells why"
        case GangUnplaced(_, queue, size, phase, because):
            return _unplaced(queue, size, phase, because)


def _unplaced(queue: str, size: int, phase: str, because: str) -> str:
    """Give Volcano's reason; it has none as long as a queue's quota keeps a group out."""
    who = f"its gang of {size}" if size > 1 else "it"
    if because:
        return f"{who} waits in Volcano's queue {queue}: {because}"
    if phase == "Pending":
        return f"{who} waits to be let into Volcano's queue {queue}: no room, or not open"
    return f"{who} was let into Volcano's queue {queue} and waits to be placed"


def _gang_name(gang: str) -> str:
    """Give what people know a gang by: its node, without the run's id and the round."""
    return gang.rpartition("/")[2].partition("#")[0]
