"""What can happen to a run, in the past tense. Each event carries the time at which it did."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from tiphys.spec import model


class Shutdown(StrEnum):
    """How a run is told to end early; the words are Argo's."""

    NONE = ""
    STOP = "Stop"
    TERMINATE = "Terminate"


class _Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    at: float


class RunStarted(_Event, frozen=True, kw_only=True):
    """The run may begin."""


class NodeStarted(_Event, frozen=True, kw_only=True):
    """The process of a leaf exists."""

    node: str
    attempt: int
    host: str = ""
    ip: str = ""


class NodeReady(_Event, frozen=True, kw_only=True):
    """A daemon is ready to serve."""

    node: str
    attempt: int
    ip: str = ""


class NodeProgressed(_Event, frozen=True, kw_only=True):
    """A leaf told how far it is."""

    node: str
    attempt: int
    progress: str


class ContainerEnded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one container of a set ended; without ``started_at`` it never ran."""

    name: str
    phase: str
    message: str = ""
    started_at: float | None = None
    finished_at: float | None = None


class NodeEnded(_Event, frozen=True, kw_only=True):
    """A leaf is over, its outputs are there."""

    node: str
    attempt: int
    phase: str
    message: str = ""
    outputs: model.Outputs | None = None
    containers: tuple[ContainerEnded, ...] = ()
    cpu_seconds: float = 0.0
    memory_bytes: int = 0


class PodSeen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A pod of a Volcano Job, as its cluster tells of it."""

    task: str
    index: int
    round: int = 0
    """How many pods stood for the same replica before."""
    number: int
    """Its place among all pods of the Job, from 1: its logs are kept under it."""
    name: str
    phase: str
    message: str = ""
    host: str = ""
    ip: str = ""
    exit_code: str = ""
    began_at: float | None = None
    finished_at: float | None = None


class JobSeen(_Event, frozen=True, kw_only=True):
    """A Volcano Job that runs elsewhere looks like this now."""

    node: str
    attempt: int
    phase: str
    """Volcano's word."""
    retries: int = 0
    message: str = ""
    pods: tuple[PodSeen, ...] = ()
    history: tuple[tuple[str, float], ...] = ()
    """Its phases and since when, as far as they are known there."""


class NodePreempted(_Event, frozen=True, kw_only=True):
    """A leaf was stopped to make room; it queues again and no retry is spent."""

    node: str
    attempt: int
    message: str = ""


class LocksGranted(_Event, frozen=True, kw_only=True):
    """All locks that the holder asked for are its own now. Holder "" is the whole run."""

    holder: str = ""


class LocksAwaited(_Event, frozen=True, kw_only=True):
    """A lock is taken: the holder waits."""

    holder: str = ""
    lock: str
    message: str


class LocksRefused(_Event, frozen=True, kw_only=True):
    """The locks cannot be had at all (no such semaphore)."""

    holder: str = ""
    message: str


class MemoRead(_Event, frozen=True, kw_only=True):
    """The memory of earlier outputs answered."""

    node: str
    outputs: model.Outputs | None = None
    hit: bool = False


class Woken(_Event, frozen=True, kw_only=True):
    """A time that was asked for by ``WakeAt`` has come. Node "" is the whole run."""

    node: str = ""


class RunStopped(_Event, frozen=True, kw_only=True):
    """Somebody asked for an early end."""

    strategy: Shutdown
    message: str = ""


class RunSuspended(_Event, frozen=True, kw_only=True):
    """Nothing new may start for now."""


class RunResumed(_Event, frozen=True, kw_only=True):
    """The whole run, or the suspend nodes named, may go on."""

    nodes: tuple[str, ...] = ()
    """Ids of suspend nodes, or of nodes whose layer waits; none: the run and all of its pauses."""
    pauses: bool = True
    """Whether pauses of the run go on with it, where none is named."""
    outputs: Mapping[str, str] = {}
    """Values for supplied output parameters."""
    phase: str = "Succeeded"
    """How the nodes end; "" if they only get outputs and go on waiting."""
    message: str = ""


Event = (
    RunStarted
    | NodeStarted
    | NodeReady
    | NodeProgressed
    | NodeEnded
    | NodePreempted
    | JobSeen
    | LocksGranted
    | LocksAwaited
    | LocksRefused
    | MemoRead
    | Woken
    | RunStopped
    | RunSuspended
    | RunResumed
)
