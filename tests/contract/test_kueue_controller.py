"""The controller for Kueue over HTTP: how it ends when it may not go on."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.kube_server import Told, answering
from tiphys.kube.access import Access
from tiphys.kube.client import Client
from tiphys.kube.watch import Listed
from tiphys.kueue import label
from tiphys.kueue.argo import ArgoEngine
from tiphys.kueue.controller import KueueController, Voice

OWNER: dict[str, Any] = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Workflow",
    "metadata": {
        "name": "w",
        "namespace": "n",
        "uid": "u",
        "resourceVersion": "1",
        "labels": {label.QUEUE: "q"},
        "annotations": {label.UNIT: "workflow"},
    },
    "spec": {},
}


async def until(holds: Callable[[], object]) -> None:
    """Wait for a state of the world that sets no event."""
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - it is the world's, not ours
            await asyncio.sleep(0.02)


def test_a_controller_that_is_told_to_end_while_it_writes_begins_nothing_more() -> None:
    written = threading.Event()

    def answer(method: str, path: str) -> Told:
        if method != "GET":
            written.wait(60)
            return Told()
        if "customresourcedefinitions" in path:
            return Told(404)
        items = [OWNER] if "/workflows" in path else []
        if "watch=true" in path:
            events = [json.dumps({"type": "MODIFIED", "object": each}) for each in items]
            return Told(pieces=tuple(f"{event}\n".encode() for event in events))
        whole = {"items": items, "metadata": {"resourceVersion": "1"}}
        return Told(body=json.dumps(whole).encode())

    async def scene(address: str, asked: list[Any]) -> None:
        client = Client(Access(server=address))
        said: list[str] = []
        voice = Voice(said.append, said.append)
        controller = KueueController(client, ArgoEngine(), lambda: 0.0, voice)
        task = asyncio.ensure_future(controller.run())
        await until(lambda: any(method != "GET" for method, *_ in asked))
        await until(lambda: controller._dirty)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await client.close()

    with answering(answer) as server:
        try:
            asyncio.run(scene(server.address, server.asked))
        finally:
            written.set()


def test_a_workflow_is_not_taken_for_a_namesake_that_is_gone() -> None:
    async def scene(address: str) -> list[Any]:
        client = Client(Access(server=address))
        controller = KueueController(client, ArgoEngine(), lambda: 0.0, Voice(print, print))
        controller._owners.hear(Listed([OWNER]))
        found = [await controller.lookup("n", "w", uid) for uid in ("u", "another")]
        await client.close()
        return found

    with answering(lambda _method, _path: Told(body=b'{"metadata": {}}')) as server:
        found = asyncio.run(scene(server.address))

    assert found == [OWNER, {"metadata": {}}]
    assert len(server.asked) == 1
