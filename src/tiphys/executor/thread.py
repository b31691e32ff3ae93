"""Threads beside the loop, which no signal wakes.

The kernel gives a signal to any thread that takes it. Each child's end would interrupt one that
waits, only to have it ask for the interpreter that the loop is using, find that signals are not its
business, and wait again.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from threading import Thread


def start_thread(name: str, work: Callable[[], None]) -> Thread:
    """Start ``work`` on a thread of its own that does not keep the process alive."""

    def run() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        work()

    thread = Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread
