"""What the engine wants done, in the imperative. Each is safe to perform more than once."""

from __future__ import annotations

import msgspec

from tiphys.spec import model


class _Command(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    pass


class Gang(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Leaves that start together or not at all."""

    name: str
    least: int
    """So many of them."""
    roles: tuple[tuple[str, int], ...] = ()
    """And so many of each role."""
    role: str = ""
    """Of this leaf."""


class StartNode(_Command, frozen=True, kw_only=True):
    """Queue a leaf, and run it once the scheduler lets it."""

    node: str
    attempt: int
    template: model.Template
    capture_result: bool = False
    deadline_at: float | None = None
    """The instant by which it must have ended."""
    on_exit: bool = False
    again: bool = False
    """It may have been started before the engine was restored: attach, do not assume."""
    gang: Gang | None = None


class StopNode(_Command, frozen=True, kw_only=True):
    """End a leaf's attempt, or take it from the queue."""

    node: str
    attempt: int


class WakeAt(_Command, frozen=True, kw_only=True):
    """Send ``Woken`` at this time."""

    at: float
    node: str = ""


class LockName(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One lock: a mutex, or a semaphore with its limit."""

    key: str
    """``namespace/Mutex/name`` and kin: unique, readable."""
    limit: int = 1


class AcquireLocks(_Command, frozen=True, kw_only=True):
    """Take all of these locks for the holder, or queue for them."""

    holder: str = ""
    locks: tuple[LockName, ...]
    priority: int = 0
    held: bool = False
    """They were granted before a restart: whoever waits comes after."""


class ReleaseLocks(_Command, frozen=True, kw_only=True):
    """Give up everything the holder has or waits for. Holder "*" is the run with all its nodes."""

    holder: str = ""


class ReadMemo(_Command, frozen=True, kw_only=True):
    """Ask for remembered outputs no older than ``max_age`` seconds; ``MemoRead`` answers."""

    node: str
    cache: str
    key: str
    max_age: float | None = None


class SaveMemo(_Command, frozen=True, kw_only=True):
    """Remember a node's outputs."""

    node: str
    cache: str
    key: str
    outputs: model.Outputs | None = None


class EmitMetric(_Command, frozen=True, kw_only=True):
    """Publish a value of a user's metric."""

    name: str
    kind: str
    """counter, gauge or histogram."""
    help: str
    value: float
    labels: tuple[tuple[str, str], ...] = ()
    buckets: tuple[float, ...] = ()
    operation: str = ""


Command = (
    StartNode | StopNode | WakeAt | AcquireLocks | ReleaseLocks | ReadMemo | SaveMemo | EmitMetric
)
