"""``python -m tiphys.simulate.vectors FILE``: check each vector, one line each."""

from __future__ import annotations

import sys
from pathlib import Path

from tiphys.errors import InvalidInputError
from tiphys.simulate.vectors.check import check_file


def main(arguments: list[str]) -> int:
    """Print a line for each vector; 0 only if all hold."""
    if not arguments:
        sys.stderr.write("usage: python -m tiphys.simulate.vectors FILE...\n")
        return 2
    held = total = 0
    try:
        for file in arguments:
            for result in check_file(Path(file)):
                total += 1
                held += result.holds
                sys.stdout.write(result.line() + "\n")
    except (InvalidInputError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{held} of {total} vectors hold\n")
    return 0 if held == total and total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
