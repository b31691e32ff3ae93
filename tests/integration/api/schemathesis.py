"""Schemathesis in a virtual environment of its own, kept in a cache outside of the repository.

It brings a plugin for pytest and dozens of packages that are none of ours.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

VERSION = "4.32.5"
_PATIENCE = 240


def command() -> Path:
    """Give the command; raise RuntimeError where it cannot be had."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tiphys"
    base.mkdir(parents=True, exist_ok=True)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    home = base / f"schemathesis-{VERSION}-py{version}"
    with home.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "ready").exists():
            _run([sys.executable, "-m", "venv", "--clear", str(home)])
            wanted = f"schemathesis=={VERSION}"
            _run([str(home / "bin/python"), "-m", "pip", "install", "--quiet", wanted])
            (home / "ready").touch()
    return home / "bin/schemathesis"


def _run(words: list[str]) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(str(error)) from error
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout).strip()[-300:])
