"""Requests and watches against a server that fails as it is told to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tests.contract.kube_server import Server, Told, serving
from tiphys.errors import ClusterError
from tiphys.kube.access import Access, Credential
from tiphys.kube.client import Client
from tiphys.kube.watch import Changed, Gone, Listed, watch

T = TypeVar("T")
REFUSAL = b'{"kind": "Status", "message": "it is there", "reason": "AlreadyExists"}'


def ask(server: Server, work: Callable[[Client], Awaitable[T]], token: str = "t") -> T:
    """Do something with a client of the server."""

    async def run() -> T:
        client = Client(Access(server=server.address, credential=Credential({"token": token})))
        try:
            return await work(client)
        finally:
            await client.close()

    return asyncio.run(run())


def test_an_answer_is_read_whether_it_comes_whole_or_in_chunks() -> None:
    with serving(Told(body=b'{"a": 1}'), Told(pieces=(b'{"a"', b": 2}"))) as server:

        async def twice(client: Client) -> list[object]:
            return [(await client.get("/x"))["a"] for _ in range(2)]

        assert ask(server, twice) == [1, 2]


def test_a_refusal_tells_status_reason_and_message() -> None:
    with serving(Told(409, REFUSAL)) as server, pytest.raises(ClusterError) as caught:
        ask(server, lambda client: client.create("/jobs", {}))

    assert (caught.value.status, caught.value.reason) == (409, "AlreadyExists")
    assert str(caught.value) == "it is there"


@pytest.mark.parametrize(
    "fault",
    [
        Told(429, headers={"Retry-After": "0"}),
        Told(503),
        Told(body=b'{"half": true}', cut=True),
        Told(pieces=(b'{"half"',), cut=True),
    ],
)
def test_what_passes_is_waited_for(fault: Told) -> None:
    with serving(fault, fault, Told(body=b'{"ok": true}')) as server:
        found = ask(server, lambda client: client.get("/x"))

    assert found == {"ok": True}
    assert len(server.asked) == 3


def test_patience_ends() -> None:
    with serving(*[Told(503)] * 20) as server, pytest.raises(ClusterError):
        ask(server, lambda client: client.get("/x", patience=0.3))


def test_a_token_that_is_refused_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")

    async def twice(client: Client) -> None:
        await client.get("/x")
        file.write_text("new")
        await client.get("/x")

    with serving(Told(), Told(401), Told()) as server:

        async def run() -> None:
            access = Access(server=server.address, credential=Credential({"tokenFile": str(file)}))
            client = Client(access)
            await twice(client)
            await client.close()

        asyncio.run(run())

    assert [headers["authorization"] for _, _, headers, _ in server.asked] == [
        "Bearer old",
        "Bearer old",
        "Bearer new",
    ]


def test_nobody_at_home_is_told_with_the_address() -> None:
    with serving() as server:
        pass

    with pytest.raises(ClusterError, match="cannot be reached") as caught:
        ask(server, lambda client: client.get("/x", patience=0.2))

    assert caught.value.status == 0


def _item(name: str, version: int) -> dict[str, object]:
    return {"metadata": {"name": name, "resourceVersion": str(version)}}


def _list(version: int, *names: str) -> Told:
    items = [_item(name, version) for name in names]
    metadata = {"resourceVersion": str(version)}
    return Told(body=json.dumps({"metadata": metadata, "items": items}).encode())


def _events(*events: tuple[str, object], cut: bool = False) -> Told:
    lines = [json.dumps({"type": kind, "object": thing}).encode() for kind, thing in events]
    return Told(pieces=tuple(line + b"\n" for line in lines), cut=cut)


async def _take(client: Client, count: int) -> list[object]:
    found: list[object] = []
    news = watch(client, "/things", selector="a=b")
    async for each in news:
        found.append(each)
        if len(found) == count:
            break
    await news.aclose()  # type: ignore[attr-defined]
    return found


def test_a_watch_goes_on_where_it_broke_off() -> None:
    answers = [
        _list(5, "x"),
        _events(("MODIFIED", _item("x", 6)), ("BOOKMARK", _item("", 8)), cut=True),
        _events(("DELETED", _item("x", 9))),
    ]
    with serving(*answers) as server:
        found = ask(server, lambda client: _take(client, 3))

    assert found == [Listed([_item("x", 5)]), Changed(_item("x", 6)), Gone(_item("x", 9))]
    assert "resourceVersion=5" in server.asked[1][1]
    assert "resourceVersion=8" in server.asked[2][1]


@pytest.mark.parametrize(
    "expired", [Told(410, b'{"code": 410}'), _events(("ERROR", {"code": 410, "message": "old"}))]
)
def test_a_watch_whose_place_is_forgotten_lists_again(expired: Told) -> None:
    with serving(_list(5, "x"), expired, _list(9, "y")) as server:
        found = ask(server, lambda client: _take(client, 2))

    assert found == [Listed([_item("x", 5)]), Listed([_item("y", 9)])]
