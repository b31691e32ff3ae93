"""How many files the executor may have open: a few for each container that runs.

Its own limit is raised as far as it may; tasks get the limit that it was started with, since some
programs take a high one for a reason to close that many files one by one.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress

ENOUGH = 65536
_given: tuple[int, int] | None = None


def raise_limit() -> None:
    """Allow this process more open files than usual."""
    global _given  # noqa: PLW0603 - a property of the process, set once at its start
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        _given = (soft, hard)


def keep_to_ourselves() -> None:
    """Have whatever this process was given closed in its children; what it opens is so anyway."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            with suppress(OSError):
                os.set_inheritable(int(name), False)


def usual_limit() -> tuple[int, int] | None:
    """Return the limit that we were given, if ours is another one now."""
    return _given


def give_usual_limit(pid: int) -> None:
    """Let a child that was just started have the limit that we were given."""
    if _given is not None:
        # It may be over already, or another user's.
        with suppress(OSError):
            resource.prlimit(pid, resource.RLIMIT_NOFILE, _given)
