"""Starts executors: loaded ahead where somebody knows that one will be needed.

To load one takes half as long as to load the engine, and both can go on at once. One that is loaded
ahead touches nothing until it is given the word, and goes away by itself if it never is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from tiphys.errors import RuntimeFailure
from tiphys.executor.birth import VARIABLE
from tiphys.executor.place import START, Place

_PASSED_ON = ("TIPHYS_SANDBOX", VARIABLE, "TIPHYS_ATTEMPT_ID")
"""What an executor is given of our own variables: what it reads, and that by which it is found when
a task has started it. Tokens and passwords are not for it: tasks run beside it."""

_ahead: dict[Path, subprocess.Popen[bytes]] = {}
"""Children of this process that wait for the word, by data directory."""


def load_ahead(data: Path) -> None:
    """Have an executor loaded, unless one seems to be there."""
    place = Place(data)
    try:
        found = os.path.exists(place.address())
    except OSError:
        found = False
    if not found and place.data not in _ahead:
        _ahead[place.data] = _load(place)


def give_word(data: Path, linger: float) -> None:
    """Have one that was loaded ahead begin; whoever needs it waits for it later (``start``)."""
    place = Place(data)
    process = _ahead.get(place.data)
    if process is not None:
        place.make_folder()
        _tell(process, options_of(linger))


def dismiss(place: Place) -> None:
    """Let one that was loaded ahead go away: it is not needed."""
    process = _ahead.pop(place.data, None)
    if process is not None:
        process.communicate()


def start(place: Place, options: list[str]) -> None:
    """Start an executor; it may find that another one is at work, and leave."""
    place.make_folder()
    process = _ahead.pop(place.data, None) or _load(place)
    _tell(process, options)
    _, words = process.communicate()
    if process.returncode:
        last = words.decode(errors="replace").strip().rpartition("\n")[2]
        raise RuntimeFailure(f"the executor cannot start: {last or process.returncode}")


def options_of(linger: float, *, sandboxes: bool = True) -> list[str]:
    """Give how an executor is to be."""
    return ["--linger", str(linger), *([] if sandboxes else ["--no-sandbox"])]


def _tell(process: subprocess.Popen[bytes], options: list[str]) -> None:
    """Give the word, unless it was given before."""
    if process.stdin is not None:
        with suppress(BrokenPipeError):  # It has ended already, and its last words say why.
            process.stdin.write(" ".join([START, *options]).encode())
            process.stdin.close()
        process.stdin = None


def _load(place: Place) -> subprocess.Popen[bytes]:
    package = str(Path(__file__).parents[2])
    library = str(Path(msgspec.__file__).parents[1])
    command = [sys.executable, "-S", "-m", "tiphys.executor", "--data", str(place.data), "--wait"]
    # Without site: half the time to start. The two paths are all that it imports from.
    return subprocess.Popen(
        command,
        env=_environment() | {"PYTHONPATH": f"{package}{os.pathsep}{library}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        cwd="/",
    )


def _environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("TIPHYS_") or name in _PASSED_ON
    }
