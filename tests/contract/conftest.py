"""A machine that runs tasks, once for each way of running them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.machine import Machine


@pytest.fixture(params=["process", "sandbox", "podman"])
def isolation(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def machine(isolation: str, tmp_path: Path) -> Iterator[Machine]:
    with Machine(tmp_path / "data", isolation) as machine:
        if not machine.usable:
            pytest.skip(f"no {isolation} on this machine: {machine.why}")
        yield machine


@pytest.fixture
def scratch(machine: Machine) -> Iterator[str]:
    """Give a path that is nobody else's and not there yet."""
    machine.scratch = f"/var/tmp/tiphys-{os.getpid()}-{os.urandom(4).hex()}"
    yield machine.scratch
    machine.forget_scratch()
