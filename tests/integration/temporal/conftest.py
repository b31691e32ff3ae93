"""A real Temporal, a real Tiphys and real workers, where this machine can have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.contract.api_server import ADMIN, ApiServer
from tests.integration.temporal.dev_server import MissingError, dev_server, find_program, free_port
from tests.integration.temporal.rig import Rig, WorkerProcess

# The first test may have to wait until Temporal is built.
PATIENCE = 3600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.timeout(PATIENCE))


@pytest.fixture(scope="session")
def temporal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the address of a Temporal server, or skip with the reason why there is none."""
    try:
        find_program()
    except MissingError as error:
        pytest.skip(f"no Temporal server here: {error}")
    with dev_server(tmp_path_factory.mktemp("temporal")) as address:
        yield address


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """Give a Tiphys server on a port that it keeps when it restarts."""
    environment = {"TIPHYS_ADMIN_TOKEN": ADMIN, "TIPHYS_PORT": str(free_port())}
    with ApiServer(tmp_path_factory.mktemp("tiphys"), environment=environment) as server:
        yield server


@pytest.fixture
def rig(temporal: str, server: ApiServer, tmp_path: Path) -> Rig:
    """Give both servers and a task queue of the test's own."""
    return Rig(temporal, server, tmp_path)


@pytest.fixture
def worker(rig: Rig) -> Iterator[Callable[..., WorkerProcess]]:
    """Start workers, as many as the test wants; end them with it."""
    started: list[WorkerProcess] = []

    def start(**environment: str) -> WorkerProcess:
        started.append(rig.worker(**environment))
        started[-1].wait_ready()
        return started[-1]

    yield start
    for each in started:
        each.end()
