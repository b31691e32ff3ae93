"""The project in ``examples/temporal`` does what its README says."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from tests.integration.temporal.rig import PATIENCE, ROOT, Rig, wait_for
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


class Example:
    """The example's own worker and starter, as processes."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._said: list[str] = []
        self._worker = subprocess.Popen(
            [sys.executable, "worker.py"],
            cwd=EXAMPLE,
            env=environment(rig),
            stderr=subprocess.PIPE,
            text=True,
        )
        # Whoever does not read what a worker says stops it in the end.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._worker.stderr is not None
        self._said.extend(iter(self._worker.stderr.readline, ""))

    @property
    def said(self) -> str:
        """All that the worker and its own server have said."""
        log = self._rig.folder / "own/server.log"
        server = log.read_text() if log.exists() else ""
        return f"worker:\n{''.join(self._said)}\nits server:\n{server}"

    def start(self, *words: str) -> list[str]:
        """Start a campaign and give what came out."""
        starter = subprocess.Popen(
            [sys.executable, "start.py", "the golden fleece", *words],
            cwd=EXAMPLE,
            env=environment(self._rig),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            out, errors = starter.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            starter.kill()
            out, errors = starter.communicate()
        last = errors.rstrip().rpartition("\n")[2]
        assert starter.returncode == 0, f"{last}\n{errors}\n{self.said}"
        return out.splitlines()

    def end(self) -> None:
        """End the worker."""
        self._worker.terminate()
        self._worker.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert self._worker.stderr is not None
        self._worker.stderr.close()


@pytest.fixture
def example(rig: Rig) -> Iterator[Example]:
    """Run its worker."""
    found = Example(rig)
    try:
        wait_for(lambda: "the worker is ready" in found.said, lambda: found.said)
        yield found
    finally:
        found.end()


def test_the_example_runs_a_campaign_that_was_approved_and_no_other(example: Example) -> None:
    lines = example.start()
    assert lines == LINES, f"{lines}\n{example.said}"
    assert example.start("--no") == ["not approved"], example.said
