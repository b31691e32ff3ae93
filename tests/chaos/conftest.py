"""Shows the figures and seeds of the chaos tests at the end of a run, as far as they are known."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests recorded."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            if report.when == "call" and "tests/chaos/" in report.nodeid and report.user_properties:
                facts = ", ".join(f"{name}: {value}" for name, value in report.user_properties)
                terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {facts}")
