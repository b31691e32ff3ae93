"""The WebSocket of a workflow: whole state first, changes after it, the end for sure."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, ConnectionClosedOK
from websockets.sync.client import ClientConnection, connect

from tests.contract.api_server import ADMIN, ApiServer, flow, shell, steps


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("watch")) as server:
        yield server


def opened(server: ApiServer, workflow: str, token: str = ADMIN) -> ClientConnection:
    return connect(
        f"ws://127.0.0.1:{server.port}/api/v1/workflows/{workflow}/watch",
        additional_headers={"Authorization": f"Bearer {token}"},
        max_size=None,
    )


def messages(stream: ClientConnection) -> list[dict[str, Any]]:
    found = []
    try:
        while True:
            found.append(json.loads(stream.recv(timeout=60)))
    except ConnectionClosedOK:
        return found


def test_the_state_comes_first_and_the_end_last(server: ApiServer, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    workflow = server.submit(
        steps(shell("a", f"until [ -e {gate} ]; do sleep 0.05; done"), shell("b", "true"))
    )
    server.wait_node(workflow, "a", "running")

    with opened(server, workflow) as stream:
        first = json.loads(stream.recv(timeout=60))
        gate.touch()
        rest = messages(stream)

    assert (first["type"], first["workflow_id"]) == ("status_update", workflow)
    assert first["status"] == "running"
    assert first["workflow"]["id"] == workflow
    assert {"a": "running"}.items() <= {
        node["display_name"]: node["status"] for node in first["nodes"]
    }.items()
    assert (rest[-1]["status"], rest[-1]["progress"]) == ("succeeded", 100)
    last = {node["display_name"]: node["status"] for each in rest for node in each["nodes"]}
    assert (last["a"], last["b"]) == ("succeeded", "succeeded")
    fields = {"type", "workflow_id", "status", "progress", "current_node", "nodes", "message"}
    assert all(fields | {"timestamp"} == set(each) for each in rest)


def test_a_stream_says_what_runs_and_calls_nodes_what_the_state_calls_them(
    server: ApiServer, tmp_path: Path
) -> None:
    text = json.loads(flow("true"))
    names = ("x", "y")
    text["spec"]["templates"] = [
        {"name": "main", "dag": {"tasks": [{"name": each, "template": each} for each in names]}},
        *({"name": each, "script": until(tmp_path / each)} for each in names),
    ]
    workflow = server.submit(json.dumps(text))
    ids = [server.wait_node(workflow, each, "running")["id"] for each in names]

    with opened(server, workflow) as stream:
        first = json.loads(stream.recv(timeout=60))
        (tmp_path / "x").touch()
        later = json.loads(stream.recv(timeout=60))
        while not any(each["status"] == "succeeded" for each in later["nodes"]):
            later = json.loads(stream.recv(timeout=60))
        (tmp_path / "y").touch()
        rest = messages(stream)

    assert first["current_node"] in ids
    assert (later["current_node"], rest[-1]["current_node"]) == (ids[1], None)
    kinds = {node["type"] for each in (first, later, *rest) for node in each["nodes"]}
    bars = server.get(f"/workflows/{workflow}/timeline").data
    assert kinds == {bar["type"] for bar in bars} == {"dag", "script"}


def until(gate: Path) -> dict[str, Any]:
    source = f"until [ -e {gate} ]; do sleep 0.05; done"
    return {"image": "any", "command": ["sh"], "source": source}


def test_a_finished_workflow_gives_one_message(server: ApiServer) -> None:
    workflow = server.submit(flow("exit 1"))
    server.wait(workflow)

    with opened(server, workflow) as stream:
        (only,) = messages(stream)

    assert only["status"] == "failed"
    assert stream.protocol.close_code == 1000


def test_many_changes_come_in_few_messages(server: ApiServer, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    wait = shell("wait", f"until [ -e {gate} ]; do sleep 0.05; done")
    many = {"name": "many", "suspend": {"duration": "0"}}
    text = json.loads(steps(wait, many))
    text["spec"]["templates"][0]["steps"][1][0]["withSequence"] = {"count": "300"}
    workflow = server.submit(json.dumps(text))
    server.wait_node(workflow, "wait", "running")

    with opened(server, workflow) as stream:
        stream.recv(timeout=60)
        gate.touch()
        rest = messages(stream)

    seen = {node["id"]: node["status"] for each in rest for node in each["nodes"]}
    assert len(seen) > 300
    assert set(seen.values()) == {"succeeded"}
    assert len(rest) < 100


def test_many_watchers_all_see_the_end(server: ApiServer, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    workflow = server.submit(flow(f"until [ -e {gate} ]; do sleep 0.05; done"))
    server.wait(workflow, "running")
    with ExitStack() as stack:
        streams = [stack.enter_context(opened(server, workflow)) for _ in range(50)]

        gate.touch()
        ends = [messages(stream)[-1]["status"] for stream in streams]

    assert ends == ["succeeded"] * 50


def _large() -> str:
    """Give a workflow whose state is larger than what the kernel keeps for a reader."""
    text = json.loads(steps({"name": "pause", "suspend": {}}))
    text["spec"]["arguments"] = {"parameters": [{"name": "big", "value": "x" * 200_000}]}
    main, pause = text["spec"]["templates"]
    (step,) = (each for group in main["steps"] for each in group)
    value = [{"name": "v", "value": "{{workflow.parameters.big}}"}]
    step |= {"withSequence": {"count": "60"}, "arguments": {"parameters": value}}
    pause["inputs"] = {"parameters": [{"name": "v"}]}
    return json.dumps(text)


def _deaf(server: ApiServer, workflow: str) -> socket.socket:
    """Open a stream and read nothing of it."""
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.connect(("127.0.0.1", server.port))
    deaf.sendall(
        f"GET /api/v1/workflows/{workflow}/watch HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Authorization: Bearer {ADMIN}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    return deaf


def _counted(server: ApiServer, word: str) -> int:
    lines = server.ask("GET", "/metrics").raw.decode().splitlines()
    name = f"tiphys_watch_{word}_total "
    return int(next(line for line in lines if line.startswith(name)).removeprefix(name))


def _until_one_more(server: ApiServer, word: str, before: int) -> None:
    end = time.monotonic() + 60
    while _counted(server, word) == before:
        assert time.monotonic() < end, f"no more {word}"
        time.sleep(0.05)


def test_a_reader_that_does_not_read_is_cut_and_may_come_again(server: ApiServer) -> None:
    workflow = server.submit(_large())
    server.wait_node(workflow, "pause(59:59)", "running")
    sent, cut = _counted(server, "messages"), _counted(server, "cut")

    with _deaf(server, workflow):
        _until_one_more(server, "messages", sent)
        server.post(f"/workflows/{workflow}/stop", {})  # News that find no room.
        _until_one_more(server, "cut", cut)
    with opened(server, workflow) as stream:
        again = json.loads(stream.recv(timeout=60))

    assert len(again["nodes"]) > 60


def test_a_removed_token_ends_its_streams(server: ApiServer, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    token = server.make_token("viewer", None)
    listed = server.get("/tokens").data[-1]
    workflow = server.submit(steps(shell("a", f"until [ -e {gate} ]; do sleep 0.05; done")))
    server.wait_node(workflow, "a", "running")

    with opened(server, workflow, token) as stream:
        stream.recv(timeout=60)
        assert server.delete(f"/tokens/{listed['id']}").status == 200
        gate.touch()
        with pytest.raises(ConnectionClosed):
            messages(stream)

        assert stream.protocol.close_code == 4401


def test_an_expired_token_ends_its_streams_without_news(server: ApiServer) -> None:
    token = server.make_token("viewer", None, expires_in=1)
    workflow = server.submit(steps({"name": "pause", "suspend": {}}))
    server.wait_node(workflow, "pause", "running")

    with opened(server, workflow, token) as stream:
        stream.recv(timeout=60)
        with pytest.raises(ConnectionClosed):
            stream.recv(timeout=60)

        assert stream.protocol.close_code == 4401
    server.delete(f"/workflows/{workflow}")
