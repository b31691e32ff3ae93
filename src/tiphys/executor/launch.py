"""Starts executors: loaded ahead where somebody knows that one will be needed.

To load one takes half as long as to load the engine, and both can go on at once. One that is loaded
ahead touches nothing until it is given the word, and goes away by itself if it never is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from tiphys.errors import RuntimeFailure
from tiphys.executor.place import Place

_ahead: dict[Path, subprocess.Popen[bytes]] = {}
"""Children of this process that wait for the word, by data directory."""


def load_ahead(data: Path, linger: float) -> None:
    """Have an executor loaded, unless one seems to be there."""
    place = Place(data)
    try:
        found = os.path.exists(place.address())
    except OSError:
        found = False
    if not found and place.data not in _ahead:
        _ahead[place.data] = _load(place, ["--linger", str(linger)])


def dismiss(place: Place) -> None:
    """Let one that was loaded ahead go away: it is not needed."""
    process = _ahead.pop(place.data, None)
    if process is not None:
        process.communicate()


def start(place: Place, options: list[str]) -> None:
    """Start an executor; it may find that another one is at work, and leave."""
    place.make_folder()
    process = _ahead.pop(place.data, None) or _load(place, options)
    _, words = process.communicate(b"\n")
    if process.returncode:
        last = words.decode(errors="replace").strip().rpartition("\n")[2]
        raise RuntimeFailure(f"the executor cannot start: {last or process.returncode}")


def _load(place: Place, options: list[str]) -> subprocess.Popen[bytes]:
    package = str(Path(__file__).parents[2])
    library = str(Path(msgspec.__file__).parents[1])
    command = [sys.executable, "-S", "-m", "tiphys.executor", "--data", str(place.data), "--wait"]
    # Without site: half the time to start. The two paths are all that it imports from.
    return subprocess.Popen(
        [*command, *options],
        env=dict(os.environ) | {"PYTHONPATH": f"{package}{os.pathsep}{library}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        cwd="/",
    )
