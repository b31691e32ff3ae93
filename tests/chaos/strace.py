"""Faults at exact system calls, by strace: of a server alone, or of its executor alone.

strace follows every child. Only the process it was told of is to be hit: a child that executes
another program is let go (``-b execve``), and the executor, which is started by executing, so too.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

SYNCS = "fsync,fdatasync"


def missing() -> str:
    """Say why strace cannot be used here; nothing where it can."""
    if shutil.which("strace") is None:
        return "there is no strace on this machine"
    tried = subprocess.run(
        ["strace", "-f", "-o", "/dev/null", "-e", "trace=fsync", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if tried.returncode == 0 else f"strace does not work here: {tried.stderr.strip()}"


def injecting(output: Path, fault: str, *, calls: str = SYNCS) -> list[str]:
    """Give the words to put before a command so that its ``calls`` meet ``fault``."""
    # -D: the tracer is the child, so that the pid and the signals are those of the command itself.
    words = ["strace", "-D", "-f", "-b", "execve", "-qq", "-o", str(output)]
    words += ["-e", f"trace={calls}"]
    return [*words, *(["-e", f"inject={calls}:{fault}"] if fault else [])]


def count(output: Path) -> int:
    """Count the calls of the thread that made the most: ``when`` counts each thread's own."""
    lines = output.read_text().splitlines() if output.exists() else []
    threads = Counter(line.split()[0] for line in lines if "sync(" in line)
    return max(threads.values(), default=0)
