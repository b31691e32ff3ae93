"""Commands that wait outlast a restart of the server, here and elsewhere."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.contract.api_server import ADMIN, PATIENCE, ApiServer, flow


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiServer]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {"TIPHYS_ADMIN_TOKEN": ADMIN, "TIPHYS_PORT": str(port)}
    with ApiServer(tmp_path, environment=environment) as server:
        yield server


class Waiting:
    """A command that waits, and what it says."""

    def __init__(self, server: ApiServer, environment: Mapping[str, str], *words: str) -> None:
        self.said = server.folder / f"said-{'-'.join(words[:2])}-{len(environment)}"
        with self.said.open("w") as told:
            self.process = subprocess.Popen(
                [sys.executable, "-u", "-m", "tiphys", *words],
                env=environment,
                cwd=server.folder,
                stdout=told,
                stderr=told,
            )

    def hears(self, word: str) -> None:
        end = time.monotonic() + PATIENCE
        while word not in self.said.read_text():
            assert time.monotonic() < end, self.said.read_text()
            time.sleep(0.02)


def test_all_that_wait_see_the_end_after_a_restart(server: ApiServer) -> None:
    go = server.folder / "go"
    text = flow(f"until [ -e {go} ]; do sleep 0.1; done")
    (server.folder / "w.yaml").write_text(text)
    name = server.get(f"/workflows/{server.submit(text)}").data["workflow_name"]
    here = {**server.environment, "TIPHYS_CONFIG": str(server.folder / "tiphys.yaml")}
    there = {
        **here,
        "TIPHYS_DATA_DIR": str(server.folder / "nothing-here"),
        "TIPHYS_SERVER": f"http://127.0.0.1:{server.port}",
        "TIPHYS_TOKEN": ADMIN,
    }
    all_of_them = []
    for environment in (here, there):
        submitted = Waiting(server, environment, "submit", "--wait", "w.yaml")
        watched = Waiting(server, environment, "watch", name)
        submitted.hears("t-")
        watched.hears("Running")
        all_of_them += [submitted, watched]

    server.process.kill()
    server.process.wait()
    for each in all_of_them:
        each.hears("the server is away")
    server.restart()
    go.touch()

    codes = [each.process.wait(PATIENCE) for each in all_of_them]
    told = [each.said.read_text() for each in all_of_them]
    assert codes == [0, 0, 0, 0], told
    assert [each.count("the server is away") for each in told] == [1, 1, 1, 1]
    assert all("Succeeded" in each for each in told)
