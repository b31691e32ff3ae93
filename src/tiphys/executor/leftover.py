"""Ending what an executor that died has left running.

Done before anything else, and before an ordinary user's executor becomes root of its own namespace:
from there it could no longer look at the processes of the namespace before. Three ways, since each
alone has a gap: the attempt's control group, the recorded pids (with start time and boot, as a pid
alone may be anybody's), and every process that carries the attempt's id in its environment.
"""

from __future__ import annotations

from tiphys.executor import halt, survivors
from tiphys.executor.group import Groups
from tiphys.executor.journal import Journal


def end_leftovers(journal: Journal, groups: Groups) -> None:
    """End every process of attempts that were begun and never ended."""
    lost = set(journal.begun)
    if not lost:
        groups.end_all()  # Empty ones, which nobody could remove.
        return
    boot = survivors.boot_id()
    for pids in journal.pids.values():
        for pid in pids:
            if pid.boot == boot and pid.id in lost:
                survivors.kill_exact(pid.pid, pid.started)
    groups.end_all()
    survivors.end_all_of(lost)
    groups.end_all()
    for begun in journal.begun.values():
        halt.end_now(begun.halts)
