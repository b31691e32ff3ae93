"""Processes that are born in their control groups, and not waited for.

``birth.c`` does it. It is built with the package where there is a compiler, and works on Linux from
5.7 on x86_64, unless a container's rules forbid the system call. Everywhere else ``spawn`` and
``Groups`` do the same by what Python has, at the pace that it has.
"""

from __future__ import annotations

import errno
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


class NeverLivedError(OSError):
    """A process was killed before it did anything."""


class Cradle(msgspec.Struct, frozen=True):
    """Where a process is to be born."""

    group: int = -1
    """The open folder of its control group; -1 for the one that we are in."""
    waits: bool = False
    """Whether to wait until it has become its program, and to hear at once if it could not. Until
    then it uses our memory; and where a group's memory is short the kernel ends all who use the
    same, unless one waits for the other."""


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


def holds(group: int) -> bool:
    """Try it: tell whether a process can be born in a group, and lives.

    The kernel ends it there and then if processes of that group and of ours were ended by
    ``cgroup.kill`` a different number of times: it looks at the wrong one of the two.
    """
    nothing = _birth.bear("", "/", ("",), (), (2, 2, 2), None, group, True)
    _code_of(nothing)
    return isinstance(failure(nothing), FileNotFoundError)


def failure(pid: int) -> OSError | None:
    """Return why a process that has ended could not become its program; asked once."""
    found = _birth.failure(pid) if _birth is not None else None
    if found is None:
        return None
    number, path = found
    if number < 0:
        return NeverLivedError(errno.ESRCH, "killed at its birth", path)
    return OSError(number, os.strerror(number), path)


def has_begun(pid: int) -> bool:
    """Tell whether a process has become its program; it looks like us until then."""
    return _birth is None or _birth.has_begun(pid)


def bear(
    path: str,
    argv: tuple[str, ...],
    env: dict[str, str],
    folder: str,
    standard: tuple[int, int, int],
    cradle: Cradle,
) -> int:
    """Start a program in a session of its own; return its pid, as a rule before it has begun.

    What it reads and writes are descriptors above 2, or each the one that it becomes.
    """
    words = [f"{name}={value}" for name, value in env.items()]
    limit = files.usual_limit()
    pid = _birth.bear(path, folder, argv, words, standard, limit, cradle.group, cradle.waits)
    if cradle.waits and (error := failure(pid)):
        _code_of(pid)
        raise error
    return pid


def _code_of(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
