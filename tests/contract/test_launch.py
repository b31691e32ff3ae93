"""``tiphys launch``: with a server and without, its exit codes, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.api_server import ADMIN, ApiServer
from tiphys.client import Client, calls
from tiphys.client.launch import Payload, Worker, launch, read_payload
from tiphys.errors import InvalidInputError
from tiphys.store import Store


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("launch")) as server:
        yield server


def begin(environment: dict[str, str], cwd: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tiphys", "launch", *words],
        env=environment,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def alone(folder: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("TIPHYS_")}
    (folder / "tiphys.yaml").write_text("{isolation: process, lingerSeconds: 0.5}")
    return {**kept, "HOME": str(folder), "TIPHYS_DATA_DIR": str(folder / "data")}


def asking(server: ApiServer) -> dict[str, str]:
    return {**server.environment, "TIPHYS_TOKEN": ADMIN}


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 3", 1)])
def test_without_a_server_it_runs_here(tmp_path: Path, script: str, code: int) -> None:
    process = begin(alone(tmp_path), tmp_path, "--", "sh", "-c", script)
    _, said = process.communicate(timeout=120)

    assert process.returncode == code, said


def test_alone_it_has_a_priority_and_a_project(tmp_path: Path) -> None:
    words = ("--priority", "5", "--project", "team", "--", "true")
    process = begin(alone(tmp_path), tmp_path, *words)
    _, said = process.communicate(timeout=120)

    assert process.returncode == 0, said
    with Store.open(tmp_path / "data", owner=False) as store:
        (row,) = store.workflows()
    assert (row.namespace, row.priority) == ("team", 5)


@pytest.mark.parametrize(("given", "found"), [("5", 5), ("high", "high"), (7, 7)])
def test_a_priority_is_a_word_or_a_number(given: str | int, found: str | int) -> None:
    payload = read_payload({"priority": given, "worker": {"command": ["true"]}})

    assert payload.priority == found


def test_a_priority_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="urgent"):
        read_payload({"priority": "urgent"})


def test_what_makes_no_sense_is_told_before_anything_starts(tmp_path: Path) -> None:
    process = begin(alone(tmp_path), tmp_path, "--kind", "campaign", "--size", "7", "--", "true")
    _, said = process.communicate(timeout=120)

    assert process.returncode == 2
    assert "campaign of size 7" in said
    assert not (tmp_path / "data/tiphys.db").exists()


def test_a_payload_of_a_file_goes_to_the_server_as_one_gang(
    server: ApiServer, tmp_path: Path
) -> None:
    file = tmp_path / "payload.yaml"
    worker = "{command: [sh, -c], args: ['echo {agent} > $OUT/{agent}'], env: {OUT: %s}}"
    file.write_text(f"kind: directive\nagents: [ann, bob]\nworker: {worker % tmp_path}\n")

    process = begin(asking(server), tmp_path, "-f", str(file))
    out, said = process.communicate(timeout=120)

    assert process.returncode == 0, said
    assert [(tmp_path / name).read_text() for name in ("ann", "bob")] == ["ann\n", "bob\n"]
    shown = server.get(f"/workflows/{out.strip()}").data
    assert shown["status"] == "succeeded"


def test_ctrl_c_stops_the_work_and_waits_for_its_end(server: ApiServer, tmp_path: Path) -> None:
    flag = tmp_path / "begun"
    script = f"touch {flag}; sleep 600"
    process = begin(asking(server), tmp_path, "--", "sh", "-c", script)
    assert process.stdout is not None
    run = process.stdout.readline().strip()
    server.wait(run, "running")
    _until(flag.exists)

    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)

    assert process.returncode == 130, said
    assert "stopping" in said
    assert server.get(f"/workflows/{run}").data["status"] == "failed"


def test_detached_it_only_hands_the_work_in(server: ApiServer, tmp_path: Path) -> None:
    process = begin(asking(server), tmp_path, "--detach", "--priority", "5", "--", "true")
    out, said = process.communicate(timeout=120)

    assert process.returncode == 0, said
    assert server.wait(out.strip())["status"] == "succeeded"


def test_the_python_call_gives_the_run_as_it_ended(server: ApiServer) -> None:
    seen: list[str] = []
    with Client(f"http://127.0.0.1:{server.port}", ADMIN) as client:
        worker = Worker(command=["sh", "-c", "exit 4"])
        end = launch(
            client, Payload(worker=worker), notice=lambda update: seen.append(update.status)
        )
        nodes = client.do(calls.list_nodes(end.id))

    assert (end.status, seen[-1]) == ("failed", "failed")
    assert any("exit code 4" in (node.message or "") for node in nodes)


def _until(holds: object) -> None:
    assert callable(holds)
    pause = threading.Event()
    for _ in range(1200):
        if holds():
            return
        pause.wait(0.1)
    raise AssertionError("waited in vain")
