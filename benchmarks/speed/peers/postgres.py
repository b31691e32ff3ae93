"""A PostgreSQL server around a command: for peers that keep their state there."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.speed.environment import UnavailableError
from benchmarks.speed.peer import ROOT, first_line, script


def find() -> str:
    """Give the version; raise UnavailableError where there can be no server."""
    try:
        from tests.integration.postgres import server  # noqa: PLC0415 - needs its driver
    except ImportError as error:
        raise UnavailableError(f"the driver of PostgreSQL is missing: {error}") from error
    if why := server.missing():
        raise UnavailableError(why)
    return first_line(str(server.programs() / "postgres"), "--version")  # type: ignore[operator]


def around(words: tuple[str, ...]) -> tuple[str, ...]:
    """Give the command that starts a server, runs another with its {URL}, and ends both."""
    return script(Path(sys.executable), "with_postgres.py", str(ROOT), *words)
