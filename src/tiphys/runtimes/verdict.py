"""How an attempt ended, in Argo's words: phase and message. Pure.

The order in which containers are asked is Argo's: init containers, mains, sidecars; the first that
failed gives the message. Of several mains the one that ended first is the cause of the others' end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tiphys.executor.protocol import Attempt, ContainerExit, Ended
from tiphys.ports import ContainerEnd

DEADLINE = "Pod was active on the node longer than the specified deadline"
NEVER_BEGAN = "stopped before it began"
_ENDED_BY_US = (137, 143)
"""SIGKILL and SIGTERM: how sidecars end when the mains have."""


def judge(attempt: Attempt, ended: Ended) -> tuple[str, str]:
    """Return phase and message of the whole attempt."""
    if ended.reason in ("lost", "refused"):
        return "Error", ended.message
    if ended.reason == "deadline":
        return "Failed", DEADLINE
    if ended.containers and all(exit_.code == 0 for exit_ in ended.containers):
        return "Succeeded", ""  # Most by far.
    exits = {exit_.name: exit_ for exit_ in ended.containers}
    for role in ("init", "main", "sidecar"):
        failed = [
            exits[run.name]
            for run in attempt.containers
            if run.role == role and run.name in exits and is_failure(exits[run.name], role)
        ]
        if failed:
            first = min(failed, key=lambda exit_: exit_.finished_at or 0.0)
            return "Failed", describe(first)
    if _never_ran(attempt, exits.values()):
        return "Failed", NEVER_BEGAN
    return "Succeeded", ""


def is_failure(exit_: ContainerExit, role: str = "sidecar") -> bool:
    """Tell whether a container failed by itself."""
    if exit_.code is None or exit_.code == 0:
        return False
    return role != "sidecar" or exit_.code not in _ENDED_BY_US


def _never_ran(attempt: Attempt, exits: Iterable[ContainerExit]) -> bool:
    mains = {run.name for run in attempt.containers if run.role == "main"}
    return all(exit_.code is None for exit_ in exits if exit_.name in mains)


def describe(exit_: ContainerExit) -> str:
    """Return the message for a container that failed."""
    reason = "OOMKilled" if exit_.oom else "Error"
    text = f"{exit_.name}: {reason} (exit code {exit_.code})"
    return f"{text}: {exit_.error}" if exit_.error else text


def members(ended: Ended, names: Sequence[str]) -> tuple[ContainerEnd, ...]:
    """Return how each of these containers ended."""
    if not names:
        return ()
    exits = {exit_.name: exit_ for exit_ in ended.containers}
    return tuple(_member(exits.get(name) or ContainerExit(name)) for name in names)


def _member(exit_: ContainerExit) -> ContainerEnd:
    if exit_.code is None:
        return ContainerEnd(name=exit_.name, phase="Omitted")
    if exit_.code == 0:
        phase, message = "Succeeded", ""
    else:
        # 64 is the code of what could not be started, rather than of what has failed.
        phase, message = "Error" if exit_.code == 64 else "Failed", describe(exit_)
    return ContainerEnd(
        name=exit_.name,
        phase=phase,
        exit_code=exit_.code,
        message=message,
        started_at=exit_.started_at,
        finished_at=exit_.finished_at,
    )
