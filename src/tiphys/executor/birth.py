"""Processes that are born in their control groups, and not waited for.

``birth.c`` does it. It is built with the package where there is a compiler, and works on Linux from
5.7 on x86_64, unless a container's rules forbid the system call. Everywhere else ``spawn`` and
``Groups`` do the same by what Python has, at the pace that it has.
"""

from __future__ import annotations

import os
from functools import cache

import msgspec

from tiphys.executor import files

try:
    from tiphys.executor import _birth
except ImportError:  # There was no compiler.
    _birth = None  # type: ignore[assignment]

VARIABLE = "TIPHYS_SPAWN"
PLAIN = "plain"
"""The value of the variable that has processes started without any of this."""
FAILED = 127
"""How a process ends that could not become its program; others may end so, too."""


class Cradle(msgspec.Struct, frozen=True):
    """Where a process is to be born."""

    group: int = -1
    """The open folder of its control group; -1 for the one that we are in."""
    waits: bool = False
    """Whether to wait until it has become its program. Until then it uses our memory; and where a
    group's memory is short the kernel ends all who use the same, unless one waits for the other."""


@cache
def is_possible() -> bool:
    """Tell whether this machine can do it."""
    return why_not() == ""


def why_not() -> str:
    """Return why this machine cannot do it; empty where it can."""
    if os.environ.get(VARIABLE) == PLAIN:
        return f"{VARIABLE} is {PLAIN}"
    if _birth is None:
        return "it was installed without a C compiler, or without the headers of Python"
    if not _birth.is_known():
        return "the kernel does not know how, or does not let us: that takes Linux 5.7"
    return ""


def failure(pid: int) -> OSError | None:
    """Return why a process that has ended could not become its program; asked once."""
    found = _birth.failure(pid) if _birth is not None else None
    return found and OSError(found[0], os.strerror(found[0]), found[1])


def is_on_the_way(pid: int) -> bool:
    """Tell whether a process has yet to become its program, and looks like us until then."""
    return _birth is not None and _birth.is_on_the_way(pid)


def bear(
    path: str,
    argv: tuple[str, ...],
    env: dict[str, str],
    folder: str,
    standard: tuple[int, int, int],
    cradle: Cradle,
) -> int:
    """Start a program in a session of its own; return its pid, without waiting for it."""
    if "=" in "".join(env):
        raise ValueError("illegal environment variable name")
    words = [f"{name}={value}" for name, value in env.items()]
    limit = files.usual_limit()
    return _birth.bear(path, folder, argv, words, standard, limit, cradle.group, cradle.waits)
