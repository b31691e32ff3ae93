"""Runs a command beside a PostgreSQL server that is durable and gone afterwards.

    with_postgres.py ROOT COMMAND…

``{URL}`` in the command becomes the address of an empty database.
"""

from __future__ import annotations

import subprocess
import sys

from told import Stopwatch, tell


def main() -> int:
    """Run it."""
    sys.path.insert(0, sys.argv[1])
    from tests.integration.postgres.server import PostgresServer  # noqa: PLC0415 - of the tests

    watch = Stopwatch()
    server = PostgresServer()
    try:
        url = server.start().database("bench")
        tell(server=watch.seconds())
        words = [word.replace("{URL}", url) for word in sys.argv[2:]]
        return subprocess.run(words, check=False).returncode
    finally:
        watch = Stopwatch()
        server.stop()
        tell(server=watch.seconds())


if __name__ == "__main__":
    sys.exit(main())
