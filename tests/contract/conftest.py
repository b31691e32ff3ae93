"""A machine that runs tasks, once for each way of running them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.argo_server import ArgoServer, flow, serving
from tests.contract.machine import Machine
from tiphys.executor import birth


@pytest.fixture(
    params=["process", "sandbox", "podman", "docker", "process, plain", "sandbox, plain"]
)
def isolation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name, _, way = str(request.param).partition(", ")
    if way:
        # As on machines where processes cannot be born in their groups.
        monkeypatch.setenv(birth.VARIABLE, way)
    return name


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


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArgoServer]:
    """Serve the Argo API to all tests, with tokens of every kind."""
    with serving(tmp_path_factory.mktemp("argo") / "data") as server:
        server.submit(flow(), "elsewhere")
        server.add_token("viewer", "viewer", "default")
        server.add_token("member", "member", "default")
        server.add_token("foreign", "member", "elsewhere")
        server.add_token("expired", "admin", "default", expires_in=0.001)
        yield server
