"""The way in: ``tiphys`` and ``python -m tiphys``."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

from tiphys import __version__

GARBAGE = (100_000, 20, 20)
"""Python looks for rings of dead objects after every 700 new ones. We make few such rings, and tens
of thousands of objects that stay: modules first, then templates and nodes."""


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] == ["--version"]:
        # Asked for by scripts and completions all the time: not worth loading anything.
        sys.stdout.write(f"tiphys {__version__}\n")
        return
    gc.set_threshold(*GARBAGE)
    _load_msgspec()
    if sys.argv[1:2] == ["run"] and not any(word.startswith(_NOT_HERE) for word in sys.argv):
        _load_executor()
    from tiphys.cli.app import run  # noqa: PLC0415

    code = run(sys.argv[1:])
    if sys.argv[1:2] in (["run"], ["temporal"]):
        _leave(code)
    sys.exit(code)


def _load_msgspec() -> None:
    """Load msgspec without ``typing_extensions``, which it looks for and can do without.

    What it would take from there has been in ``typing`` since Python 3.11, and most commands need
    nothing else of it. Those that do (``tiphys server``) import it later as if nothing had been.
    """
    name = "typing_extensions"
    if name not in sys.modules:
        sys.modules[name] = None  # type: ignore[assignment]
        try:
            import msgspec  # noqa: F401, PLC0415
        finally:
            del sys.modules[name]


_NOT_HERE = ("--help", "--scheduler")
"""With these ``tiphys run`` runs nothing, or perhaps not on this machine."""


def _load_executor() -> None:
    """Begin to load the executor, which will be needed: both can load at once."""
    from tiphys.executor.launch import load_ahead  # noqa: PLC0415
    from tiphys.folders import data_dir  # noqa: PLC0415

    with suppress(OSError):  # Whoever needs it tries again, and says what is wrong.
        load_ahead(data_dir(os.environ))


def _leave(code: int) -> None:
    """End at once: all is closed and on record.

    To take apart what is left in memory, object by object, would take as long as a small workflow.
    Besides, the threads of Temporal's client may make Python abort over it (temporalio/sdk-python,
    issue 300).
    """
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # Python knows what to do about it.
    os._exit(code)


if __name__ == "__main__":
    main()
