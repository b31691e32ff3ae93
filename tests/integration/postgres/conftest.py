"""A real PostgreSQL for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.postgres.server import PostgresServer, served


@pytest.fixture(scope="module")
def shared() -> Iterator[PostgresServer]:
    """A server that nobody stops."""
    yield from served()


@pytest.fixture
def own() -> Iterator[PostgresServer]:
    """A server of one test, which may stop it."""
    yield from served()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures that tests recorded."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            here = report.when == "call" and "integration/postgres/" in report.nodeid
            if here and report.user_properties:
                facts = ", ".join(f"{name}: {value}" for name, value in report.user_properties)
                terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {facts}")
