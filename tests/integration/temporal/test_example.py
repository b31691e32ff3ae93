"""The project in ``examples/temporal`` does what its README says."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from tests.integration.temporal.rig import PATIENCE, ROOT, Rig
from tests.integration.temporal.test_embedded import alone

EXAMPLE = ROOT / "examples/temporal"
LINES = [
    "analytics: three lines about the golden fleece",
    "content: three lines about the golden fleece",
    "design: three lines about the golden fleece",
]


def environment(rig: Rig) -> dict[str, str]:
    home = {"HOME": str(rig.folder), "TEMPORAL_ADDRESS": rig.temporal}
    return {**os.environ, **home, **alone(rig)}


@pytest.fixture
def example(rig: Rig) -> Iterator[None]:
    """Run its worker."""
    worker = subprocess.Popen(
        [sys.executable, "worker.py"],
        cwd=EXAMPLE,
        env=environment(rig),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert worker.stderr is not None
    lines = iter(worker.stderr)
    assert any("the worker is ready" in line for line in lines)
    # Whoever does not read what a worker says stops it in the end.
    reader = threading.Thread(target=lambda: [None for _ in lines], daemon=True)
    reader.start()
    try:
        yield
    finally:
        worker.terminate()
        worker.wait(PATIENCE)
        reader.join(PATIENCE)
        worker.stderr.close()


def start(rig: Rig, *words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "start.py", "the golden fleece", *words],
        cwd=EXAMPLE,
        env=environment(rig),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.usefixtures("example")
def test_the_example_runs_a_campaign_that_was_approved_and_no_other(rig: Rig) -> None:
    assert start(rig) == LINES
    assert start(rig, "--no") == ["not approved"]
