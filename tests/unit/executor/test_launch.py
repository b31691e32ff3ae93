"""An executor that is loaded ahead: used when it is needed, and without a trace when it is not."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from tiphys.errors import RuntimeFailure
from tiphys.executor import launch
from tiphys.executor.client import ExecutorClient
from tiphys.executor.place import Place

PATIENCE = 30.0


def waiting(data: Path) -> int:
    """Give the process that waits for the word."""
    return launch._ahead[data.resolve()].pid


def client_of(data: Path, epoch: int) -> ExecutorClient:
    return ExecutorClient(
        data, epoch=epoch, on_events=lambda events: None, on_lost=lambda: None, linger=0.1
    )


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_one_that_is_not_needed_leaves_no_trace(tmp_path: Path) -> None:
    data = tmp_path / "data"

    launch.load_ahead(data)
    pid = waiting(data)
    launch.dismiss(Place(data))

    assert not is_there(pid)
    assert not data.exists()


def test_who_connects_gets_the_one_that_was_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def connect() -> int:
        launch.load_ahead(tmp_path)
        monkeypatch.setattr(launch, "_load", lambda *_: pytest.fail("another one was loaded"))
        client = client_of(tmp_path, 1)
        welcome = await client.connect()
        client.close()
        return welcome.pid

    assert asyncio.run(connect()) > 0
    assert not launch._ahead


def test_where_one_is_at_work_none_is_loaded(tmp_path: Path) -> None:
    async def connect() -> None:
        client = client_of(tmp_path, 1)
        await client.connect()
        launch.load_ahead(tmp_path)
        assert not launch._ahead
        client.close()

    asyncio.run(connect())


def test_one_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "executor").write_text("a file where the folder should be")

    with pytest.raises(RuntimeFailure, match="executor"):
        launch.start(Place(tmp_path), [])


def environment_of(pid: int) -> str:
    """Read what a new process was given: nothing is there before its program is loaded."""
    end = time.monotonic() + PATIENCE
    while not (found := Path(f"/proc/{pid}/environ").read_bytes()):
        assert time.monotonic() < end, "it never began"
    return found.decode()


def test_one_is_given_only_those_of_our_variables_that_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = {"TIPHYS_SANDBOX", "TIPHYS_SPAWN", "TIPHYS_ATTEMPT_ID"}
    for name in (*needed, "TIPHYS_ADMIN_TOKEN", "TIPHYS_STORE", "TIPHYS_OIDC_CLIENT_SECRET"):
        monkeypatch.setenv(name, "read-only")

    launch.load_ahead(tmp_path)
    given = environment_of(waiting(tmp_path)).split("\0")
    launch.dismiss(Place(tmp_path))

    names = {pair.partition("=")[0] for pair in given}
    assert {name for name in names if name.startswith("TIPHYS_")} == needed
