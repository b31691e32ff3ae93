"""What dashboards ask for, and the end of long logs, on a real server."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.contract.api_server import ADMIN, PATIENCE, ApiServer, flow
from tiphys.api.overview import Overview, QueueUse


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("overview")) as server:
        yield server


@contextmanager
def _watched(server: ApiServer, token: str = ADMIN) -> Iterator[ClientConnection]:
    """Watch the overview with a ticket, as a browser does."""
    ticket = server.post("/tickets", token=token).data["ticket"]
    path = f"/api/v1/overview/watch?hours=1&buckets=4&ticket={ticket}"
    with connect(f"ws://127.0.0.1:{server.port}{path}", max_size=None) as stream:
        yield stream


def _read(stream: ClientConnection) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stream.recv(timeout=PATIENCE))
    return found


def _read_until(stream: ClientConnection, is_there: Callable[[dict[str, Any]], bool]) -> list[Any]:
    """Read messages, each laid over those before it, until the whole is as wanted; give all."""
    whole: dict[str, Any] = {}
    read: list[dict[str, Any]] = []
    while not is_there(whole):
        read.append(_read(stream))
        whole |= read[-1]
    return read


def _ended(server: ApiServer, **how: Any) -> dict[str, int]:
    found = server.get("/overview?hours=1&buckets=4", **how).data
    return {
        status: sum(bucket[status] for bucket in found["buckets"])
        for status in ("succeeded", "failed", "error")
    }


def _until_ended(server: ApiServer, wanted: dict[str, int]) -> None:
    """Look until so many have ended: they are counted just after they are on record."""
    end = time.monotonic() + PATIENCE
    while (found := _ended(server)) != wanted:
        assert time.monotonic() < end, found
        time.sleep(0.05)


def test_what_ended_is_counted_by_status_also_after_a_restart(server: ApiServer) -> None:
    server.wait(server.submit(flow("true")))
    server.wait(server.submit(flow("false")))
    _until_ended(server, {"succeeded": 1, "failed": 1, "error": 0})

    server.restart()

    assert _ended(server) == {"succeeded": 1, "failed": 1, "error": 0}
    shown = server.get("/overview").data
    Overview.model_validate(shown)
    assert shown["cpu"] > 0
    assert shown["use"][-1]["running"] == 0


def test_others_do_not_see_what_ended_in_a_project(server: ApiServer) -> None:
    assert server.post("/projects", {"id": "apart"}).status == 201
    token = server.make_token("viewer", "apart")

    assert _ended(server, token=token) == {"succeeded": 0, "failed": 0, "error": 0}


def test_waits_and_use_of_a_queue_are_told(server: ApiServer) -> None:
    server.wait(server.submit(flow("true")))

    points = server.get("/overview/queues/q-default?hours=1").data

    for point in points:
        QueueUse.model_validate(point)
    waits = {each["queue_id"]: each for each in server.get("/overview").data["waits"]}
    assert waits["q-default"]["count"] >= 1
    assert server.get("/overview/queues/q-none").status == 404


def test_the_end_of_a_long_log_is_read_without_its_beginning(server: ApiServer) -> None:
    workflow = server.submit(flow("for n in $(seq 1 5000); do echo line $n; done"))
    node = server.wait(workflow)["nodes"][0]["id"]
    path = f"/workflows/{workflow}/nodes/{node}/logs?last_bytes=100"

    lines = [json.loads(line) for line in server.get(path).raw.splitlines()]

    assert lines[-1]["text"] == "line 5000"
    assert 1 < len(lines) <= 11
    first = lines[0]
    assert first["offset"] > len(first["text"]) + 1  # Something stands before it.


def test_a_watcher_sees_everything_first_and_then_what_changes(
    server: ApiServer, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    with _watched(server) as stream:
        first = _read(stream)
        workflow = server.submit(flow(f"until [ -e {gate} ]; do sleep 0.05; done"))
        begun = _read_until(stream, lambda seen: seen.get("running") == 1)
        gate.touch()
        server.wait(workflow)
        rest = _read_until(stream, lambda seen: seen.get("running") == 0 and "buckets" in seen)

    same = {"now": first["timestamp"], "use": [*first["use"], first["latest"]]}
    Overview.model_validate({**first, **same})
    assert {each["id"] for each in first["queues"]} >= {"q-default"}
    assert workflow in {row["id"] for each in begun for row in each.get("running_rows", [])}
    assert rest[-1]["running_rows"] == []
    assert not any("cpu" in each for each in (*begun, *rest))  # It has not changed.


def test_a_watcher_sees_nothing_of_other_projects(server: ApiServer) -> None:
    assert server.post("/projects", {"id": "aside"}).status == 201
    server.wait(server.submit(flow("false")))

    with _watched(server, server.make_token("viewer", "aside")) as stream:
        first = _read(stream)

    assert (first["running_rows"], first["failed_rows"]) == ([], [])
    assert sum(each["failed"] for each in first["buckets"]) == 0


def test_a_watcher_without_a_ticket_that_holds_is_sent_away(server: ApiServer) -> None:
    address = f"ws://127.0.0.1:{server.port}/api/v1/overview/watch?ticket=guessed"

    with connect(address) as stream, pytest.raises(ConnectionClosed):
        stream.recv(timeout=PATIENCE)

    assert stream.protocol.close_code == 4401


def test_a_token_that_is_revoked_ends_the_stream(server: ApiServer) -> None:
    made = server.post("/tokens", {"name": "short", "role": "viewer"}).data
    with _watched(server, made["token"]) as stream:
        _read(stream)
        assert server.ask("DELETE", f"/api/v1/tokens/{made['id']}").status == 200
        with pytest.raises(ConnectionClosed):
            _read_until(stream, lambda _: False)

    assert stream.protocol.close_code == 4401
