"""Who waits for a workflow outlasts a restart of the server, and takes nobody's place too soon."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tiphys.config import Config
from tiphys.control.absence import Absence
from tiphys.control.door import Door
from tiphys.control.server import Quiet
from tiphys.control.wait import wait_for_end
from tiphys.store import Store, WorkflowRow
from tiphys.store.lock import FolderLock
from tiphys.store.row import Batch, WorkflowHeader

ENDED = {"name": "argo", "phase": "Succeeded"}


def keep(data: Path) -> Store:
    """Give a store with one workflow that has not ended."""
    store = Store.open(data, owner=True)
    row = WorkflowRow(uid="u1", name="argo", namespace="default", created_at=1.0, phase="Running")
    store.commit(Batch(submitted=[row]))
    return store


def test_a_server_that_comes_back_is_asked_again_and_that_is_said_once(tmp_path: Path) -> None:
    notes: list[str] = []
    asked: list[str] = []

    async def play() -> Any:
        heard, told = asyncio.Event(), asyncio.Event()

        def note(text: str) -> None:
            notes.append(text)
            told.set()

        async def silent(request: Mapping[str, Any]) -> Any:
            asked.append(request["key"])
            heard.set()
            raise asyncio.CancelledError  # The server ends before it has an answer.

        async def answer(request: Mapping[str, Any]) -> Any:
            asked.append(request["key"])
            return ENDED

        first, second = Door(tmp_path, {"wait": silent}), Door(tmp_path, {"wait": answer})
        await first.open()
        wait = wait_for_end(tmp_path, Config(), Quiet(note), "@latest", patience=60.0)
        waiting = asyncio.create_task(wait)
        await heard.wait()
        await first.close()
        await told.wait()
        await second.open()
        try:
            return await waiting
        finally:
            await second.close()

    with keep(tmp_path):
        found = asyncio.run(play())

    assert found == ENDED
    assert asked == ["u1", "u1"]
    assert notes == ["the server is away: waiting up to 60 s for it to come back"]


def test_an_end_on_record_is_found_though_no_server_is_there(tmp_path: Path) -> None:
    async def play(store: Store) -> Any:
        async def silent(_: Mapping[str, Any]) -> Any:
            store.commit(Batch(headers=[WorkflowHeader(uid="u1", phase="Failed")]))
            asyncio.get_running_loop().call_soon(closing.set)
            raise asyncio.CancelledError

        closing = asyncio.Event()
        door = Door(tmp_path, {"wait": silent})
        await door.open()
        wait = wait_for_end(tmp_path, Config(), Quiet(), "argo", "default", patience=60.0)
        waiting = asyncio.create_task(wait)
        await closing.wait()
        await door.close()
        return await waiting

    with keep(tmp_path) as store:
        found = asyncio.run(play(store))

    assert (found["name"], found["phase"]) == ("argo", "Failed")


def test_where_there_never_was_a_server_nobody_is_waited_for(tmp_path: Path) -> None:
    notes: list[str] = []

    lock = asyncio.run(Absence(tmp_path, notes.append, 60.0).pass_by())

    assert lock is not None
    assert notes == []
    lock.release()


def test_the_work_is_taken_over_when_no_server_comes_back(tmp_path: Path) -> None:
    notes: list[str] = []

    async def play() -> FolderLock:
        absence = Absence(tmp_path, notes.append, 0.3)
        absence.end()
        while True:
            lock = await absence.pass_by()
            if lock is not None:
                return lock

    asyncio.run(play()).release()

    assert [each.partition(":")[0] for each in notes] == [
        "the server is away",
        "no server has come back",
    ]


def test_whoever_works_behind_a_closed_door_is_left_to_it(tmp_path: Path) -> None:
    notes: list[str] = []

    async def play() -> FolderLock | None:
        absence = Absence(tmp_path, notes.append, 0.0)
        await absence.pass_by()
        return await absence.pass_by()

    with FolderLock.take(tmp_path):
        lock = asyncio.run(play())

    assert lock is None
    assert [each.partition(":")[0] for each in notes] == ["waiting"]
