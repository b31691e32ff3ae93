"""``python -m tiphys.executor --data DIR``: become the executor of a data directory.

Forks once at the start, so that whoever called is not its parent and can wait for the call to end.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

USAGE = (
    "usage: python -m tiphys.executor --data DIR [--linger SECONDS] [--no-sandbox] [--foreground]\n"
)


def main(argv: list[str]) -> int:
    """Run; the arguments are few and fixed, so that no parser has to be imported."""
    options: dict[str, str] = {}
    rest = iter(argv)
    for word in rest:
        if word in ("--foreground", "--no-sandbox"):
            options[word] = ""
        elif word in ("--data", "--linger"):
            options[word] = next(rest, "")
        else:
            sys.stderr.write(USAGE)
            return 2
    if not options.get("--data"):
        sys.stderr.write(USAGE)
        return 2
    if "--foreground" not in options and os.fork():
        os._exit(0)
    # msgspec looks for it and can do without; it takes longer to import than all of ours.
    sys.modules.setdefault("typing_extensions", None)  # type: ignore[arg-type]
    from tiphys.executor.server import serve  # noqa: PLC0415 - after the fork: less to copy

    linger = float(options.get("--linger") or 10)
    return serve(Path(options["--data"]), linger, sandboxes="--no-sandbox" not in options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
