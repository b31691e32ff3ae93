"""The way in: ``tiphys`` and ``python -m tiphys``."""

from __future__ import annotations

import gc
import sys

from tiphys import __version__


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] == ["--version"]:
        # Asked for by scripts and completions all the time: not worth loading anything.
        sys.stdout.write(f"tiphys {__version__}\n")
        return
    # Python looks for rings of dead objects after every 700 new ones. We make few such rings, and
    # tens of thousands of objects that stay: modules first, then templates and nodes.
    gc.set_threshold(100_000, 20, 20)
    from tiphys.cli.app import run  # noqa: PLC0415

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
