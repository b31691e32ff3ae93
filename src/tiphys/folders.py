"""Folders on a machine: where things lie unless somebody says otherwise, and how they are made.

Loads next to nothing: it is asked for before anything else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path


def data_dir(environment: Mapping[str, str]) -> Path:
    """Give the folder of the store, logs and artifacts."""
    if given := environment.get("TIPHYS_DATA_DIR"):
        return Path(given).absolute()
    return xdg(environment, "XDG_DATA_HOME", ".local/share") / "tiphys"


def xdg(environment: Mapping[str, str], variable: str, fallback: str) -> Path:
    """Give one of the folders that the XDG rules name."""
    given = environment.get(variable, "")
    # The rules say that a relative path is to be ignored.
    return Path(given) if given.startswith("/") else home(environment) / fallback


def home(environment: Mapping[str, str]) -> Path:
    """Give the user's own folder."""
    return Path(environment.get("HOME") or "/")


def sync(folder: Path) -> None:
    """Make durable which files ``folder`` has; to sync a file does not promise its name."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_durable(folder: Path, sync: Callable[[Path], None] = sync) -> None:
    """Create ``folder``, for its owner only, so that it survives a power loss."""
    missing = [path for path in (folder, *folder.parents) if not path.is_dir()]
    if not missing:
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in missing:
        sync(path.parent)
