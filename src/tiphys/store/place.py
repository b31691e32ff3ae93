"""The name of a data directory, which it keeps for its life.

What runs, runs beside one data directory. A store that was led from another one (a second machine
over one PostgreSQL, or a backup restored elsewhere) says so by this name.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from tiphys.errors import StoreError
from tiphys.store.lock import sync_folder

NAME = "place"


def place_of(folder: Path) -> str:
    """Give the name of ``folder``; a new one is durable before it is given."""
    path = folder / NAME
    try:
        known = path.read_text("ascii").strip()
    except FileNotFoundError:
        known = ""
    return known or _name(path)


def _name(path: Path) -> str:
    name = str(uuid.uuid4())
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, f"{name}\n".encode())
        os.fsync(descriptor)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: disk I/O error ({error})") from error
    finally:
        os.close(descriptor)
    sync_folder(path.parent)
    return name
