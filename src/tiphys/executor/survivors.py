"""Processes that outlive the one that started them, and the certain way to end them.

The executor is a subreaper: whatever loses its parent becomes its child, so the roots of all
surviving trees are in one short list. Whose they are is told by the attempt's id in their
environment, their session, or their mount namespace. Signals go through a pidfd that is checked
after it was opened: a pid alone may be somebody else by now.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_TOLERANCE = 0.5


def boot_id() -> str:
    """Return the id of this boot of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def uptime() -> float:
    """Return the seconds since boot, as the start times of processes count them."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def started_after_boot(pid: int) -> float | None:
    """Return when a process started, in seconds after boot; None where it is gone."""
    fields = _stat(pid)
    return int(fields[19]) / _TICKS if fields else None


def session(pid: int) -> int | None:
    """Return the session of a process; None where it is gone."""
    fields = _stat(pid)
    return int(fields[3]) if fields else None


def _stat(pid: int) -> list[bytes] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name may hold spaces and parentheses: fields begin after the last one.
            return file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def children() -> list[int]:
    """Return the direct children of this process, adopted ones and zombies included."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
            return [int(pid) for pid in file.read().split()]
    except FileNotFoundError:
        me = str(os.getpid()).encode()
        return [pid for pid in every_pid() if (_stat(pid) or [b"", b""])[1] == me]


def every_pid() -> list[int]:
    """Return every process that can be seen."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def attempt_of(pid: int) -> str | None:
    """Return the attempt whose id stands in a process's environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            environ = file.read()
    except OSError:
        return None
    for pair in environ.split(b"\0"):
        if pair.startswith(b"TIPHYS_ATTEMPT_ID="):
            return os.fsdecode(pair.partition(b"=")[2])
    return None


def namespace(pid: int) -> int | None:
    """Return the number of a process's mount namespace."""
    try:
        return os.stat(f"/proc/{pid}/ns/mnt").st_ino
    except OSError:
        return None


def kill_if(pid: int, attempts: Collection[str]) -> bool:
    """SIGKILL a process if it is of one of ``attempts``; tell whether it was."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        # Asked again behind the open pidfd: now the answer and the signal mean the same process.
        if (attempt_of(pid) or "") not in attempts:
            return False
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(fd, signal.SIGKILL)
        return True
    finally:
        os.close(fd)


def kill_exact(pid: int, started: float) -> bool:
    """SIGKILL the process that had ``pid`` and started just before ``started``; tell whether it
    was there.

    To read the exact time at the start would cost as much as the start itself: the kernel makes
    the reader wait for the exec. No pid comes round again within the tolerance.
    """
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        found = started_after_boot(pid)
        if found is None or not -_TOLERANCE < started - found < _TOLERANCE:
            return False
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(fd, signal.SIGKILL)
        return True
    finally:
        os.close(fd)


def end_all_of(attempts: set[str]) -> int:
    """SIGKILL every process on the machine that carries one of these attempts' ids."""
    if not attempts:
        return 0
    total = 0
    for _ in range(100):
        found = [pid for pid in every_pid() if attempt_of(pid) in attempts]
        killed = sum(kill_if(pid, attempts) for pid in found)
        if not killed:
            break
        total += killed
        time.sleep(0.005)
    return total
