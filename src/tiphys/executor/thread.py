"""Threads beside the loop, which no signal wakes.

The kernel gives a signal to any thread that takes it. Each child's end would interrupt one that
waits, only to have it ask for the interpreter that the loop is using, find that signals are not its
business, and wait again.

Each thread makes the way into a control group longer, for the kernel stops by where it last ran: so
those that many runs can do without are started when there is something for them to do.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

from tiphys.executor import linux


def start_thread(name: str, work: Callable[[], None]) -> Thread:
    """Start ``work`` on a thread of its own that does not keep the process alive.

    Raises RuntimeError where there is no room for one.
    """

    def run() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        work()

    thread = Thread(target=run, name=name, daemon=True)
    thread.start()
    # Working directory and root are the caller's alone again: to enter a view asks for it. Where
    # this is not allowed there are no views.
    with suppress(OSError):
        linux.unshare(linux.CLONE_FS)
    return thread
