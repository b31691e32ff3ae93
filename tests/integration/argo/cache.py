"""Real clients of the Argo Server, kept in a cache outside of the repository.

The Python ones get a virtual environment of their own, because they bring many dependencies that
are none of ours. The command is built by ``build_command.py``, which takes minutes: the tests use
it where it has been built, and say so where it has not.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERA, SDK, HTTPX = "7.1.0", "6.7.18", "0.28.1"
ARGO = "4.0.2"
_PATIENCE = 240


def cache() -> Path:
    """Give the folder of the cache."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "tiphys"


def command_path() -> Path:
    """Give where the ``argo`` command lies, once it is built."""
    return cache() / f"argo-{ARGO}" / "argo"


def clients_python() -> Path:
    """Give the interpreter that has Hera and the SDK; raise RuntimeError where it cannot be had."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    home = cache() / f"argo-clients-{HERA}-{SDK}-py{version}"
    home.parent.mkdir(parents=True, exist_ok=True)
    with _alone(home.with_suffix(".lock")):
        if not (home / "ready").exists():
            _run([sys.executable, "-m", "venv", "--clear", str(home)])
            wanted = [f"hera=={HERA}", f"argo-workflows=={SDK}", f"httpx=={HTTPX}"]
            _run([str(home / "bin/python"), "-m", "pip", "install", "--quiet", *wanted])
            (home / "ready").touch()
    return home / "bin/python"


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(str(error)) from error
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout).strip()[-300:])


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep several test processes from making the same thing at once."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
