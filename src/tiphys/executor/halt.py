"""Ending containers whose processes belong to a container engine: a command that is run for it.

While it runs nobody waits; what it was for is told by its pid when it is reaped. It fails where the
engine has not made the container yet: then its client is told to end, and it is tried again.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable

from tiphys.executor.protocol import ContainerRun
from tiphys.executor.spawn import spawn_beside

LEFTOVER_PATIENCE = 30.0


def command(run: ContainerRun, grace: float) -> tuple[str, ...]:
    """Return the command that ends ``run``."""
    return _filled(run.halt, grace)


def begin(run: ContainerRun, grace: float) -> int:
    """Start to end ``run``; return the pid to wait for."""
    return spawn_beside(run, command(run, grace), 0, None)


def end_now(halts: Iterable[tuple[str, ...]]) -> None:
    """End what an executor that died had an engine run, one after another."""
    for halt in halts:
        try:
            subprocess.run(
                _filled(halt, 0),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=LEFTOVER_PATIENCE,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            # The engine is gone or hangs; the attempt is lost either way.
            continue


def _filled(halt: tuple[str, ...], grace: float) -> tuple[str, ...]:
    return tuple(word.replace("{grace}", str(int(-(-grace // 1)))) for word in halt)
