"""Environments of the peers: one each, in the user's cache, never in the repository.

A peer is installed by name from the registry, in the version that the code names, so that two runs
compare the same things. Whatever keeps it from being had is told as a reason.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

_PATIENCE = 1800
"""Seconds that an installation may take: some bring a hundred packages."""


class UnavailableError(Exception):
    """A peer cannot be had on this machine; the text says why."""


def cache() -> Path:
    """Give the folder of all environments."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "tiphys" / "peers"


def installed(name: str, *requirements: str) -> Path:
    """Give the interpreter of a peer's environment; make that first where there is none."""
    home = cache() / name
    home.parent.mkdir(parents=True, exist_ok=True)
    wanted = "\n".join(requirements)
    ready = home / "ready"
    with home.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists() or ready.read_text() != wanted:
            _make(home, requirements)
            ready.write_text(wanted)
    return home / "bin/python"


def _make(home: Path, requirements: tuple[str, ...]) -> None:
    say(f"installing {', '.join(requirements)}")
    _run([sys.executable, "-m", "venv", "--clear", str(home)])
    python = str(home / "bin/python")
    _run([python, "-m", "pip", "install", "--quiet", *requirements])
    # Else each start compiles anew where Python is told to write no bytecode, which is not fair.
    subprocess.run([python, "-m", "compileall", "-q", str(home / "lib")], check=False)


def _run(words: list[str]) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=_PATIENCE, env=environment
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(str(error)) from error
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no reason was given"]
        raise UnavailableError(lines[-1][:200])


def version_of(python: Path, package: str) -> str:
    """Give the version of a package in an environment."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    words = [str(python), "-c", code]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def say(text: str) -> None:
    """Tell the person at the terminal."""
    sys.stderr.write(f"{text}\n")
