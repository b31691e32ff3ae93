"""``python -m tiphys.executor --data DIR``: become the executor of a data directory.

Forks once at the start, so that whoever called is not its parent and can wait for the call to end:
that is when it listens. With ``--wait`` it is loaded and then waits for a word on its input, with
which more options may come; without one it goes away.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

USAGE = (
    "usage: python -m tiphys.executor --data DIR [--linger SECONDS] [--no-sandbox]"
    " [--wait] [--foreground]\n"
)
FLAGS = ("--foreground", "--no-sandbox", "--wait")
GARBAGE = (20_000, 20, 20)
"""Python looks for rings of dead objects after every 700 new ones. Modules are many objects and no
rings, and so are attempts."""


def main(argv: list[str]) -> int:
    """Run; the arguments are few and fixed, so that no parser has to be imported."""
    options = _read(argv)
    if not options.get("--data"):
        sys.stderr.write(USAGE)
        return 2
    gc.set_threshold(*GARBAGE)
    # msgspec looks for it and can do without; it takes longer to import than all of ours.
    sys.modules.setdefault("typing_extensions", None)  # type: ignore[arg-type]
    from tiphys.executor.place import START, Place  # noqa: PLC0415 - not for a wrong argument
    from tiphys.executor.server import serve  # noqa: PLC0415

    place = Place(Path(options["--data"]))
    if "--wait" in options:
        word, *more = sys.stdin.read().split() or [""]
        if word != START:
            return 0
        options |= _read(more)
    listens = -1
    if "--foreground" not in options:
        place.make_folder()
        _write_to(place.log)
        listens = _fork()
    linger = float(options.get("--linger") or 10)
    return serve(place, linger, sandboxes="--no-sandbox" not in options, listens=listens)


def _read(words: list[str]) -> dict[str, str]:
    """Read options; give none where one of them is wrong."""
    options: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if word in FLAGS:
            options[word] = ""
        elif word in ("--data", "--linger"):
            options[word] = next(rest, "")
        else:
            return {}
    return options


def _fork() -> int:
    """Go on as a child; whoever called waits until the descriptor returned is closed."""
    reader, writer = os.pipe2(os.O_CLOEXEC)
    if os.fork():
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    os.close(reader)
    return writer


def _write_to(log: Path) -> None:
    """Let go of what whoever called has opened; what is said from now on is in ``log``."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    for descriptor, target in ((nothing, 0), (file, 1), (file, 2)):
        os.dup2(descriptor, target)
    os.close(nothing)
    os.close(file)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
