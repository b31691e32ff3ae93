"""One runtime made of two: tasks go where their templates belong, and so does what follows."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from tiphys.ports import Runtime, RuntimeEvent, Task, TaskEnded, TaskStarted
from tiphys.runtimes.config import LocalConfig
from tiphys.runtimes.inline import InlineRuntime
from tiphys.runtimes.local import LocalRuntime
from tiphys.runtimes.router import RouterRuntime
from tiphys.spec import model

PATIENCE = 60.0


class Handler(BaseHTTPRequestHandler):
    reached: ClassVar[threading.Event]
    let_go: ClassVar[threading.Event]

    def do_GET(self) -> None:
        if self.path == "/slow":
            self.reached.set()
            self.let_go.wait(PATIENCE)
        self.send_response(200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"inside")

    def log_message(self, *_: object) -> None:
        """Stay silent."""


class Quiet(ThreadingHTTPServer):
    daemon_threads = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent: connections are broken on purpose."""


@pytest.fixture
def url() -> Iterator[str]:
    Handler.reached, Handler.let_go = threading.Event(), threading.Event()
    server = Quiet(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    Handler.let_go.set()
    server.shutdown()
    thread.join()
    server.server_close()


class Nothing:
    """No config maps, no secrets."""

    def config_map(self, namespace: str, name: str) -> Mapping[str, str] | None:
        return None

    def secret(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        return None


class Desk:
    """A router over both runtimes, and what came of it."""

    def __init__(self, data: Path, epoch: int = 1) -> None:
        data.mkdir(parents=True, exist_ok=True)
        config = LocalConfig(isolation="process", linger_seconds=0.3, grace_seconds=5)
        local = LocalRuntime(data, config=config, resources=Nothing(), epoch=epoch)
        inline = InlineRuntime(resources=Nothing(), allow=("127.0.0.1",))
        self.router = RouterRuntime(local, lambda: inline)
        self.events: list[RuntimeEvent] = []
        self._news = asyncio.Event()

    def take(self, events: Sequence[RuntimeEvent]) -> None:
        self.events += events
        self._news.set()

    async def wait_for(self, kind: type[TaskStarted | TaskEnded], name: str) -> RuntimeEvent:
        async with asyncio.timeout(PATIENCE):
            while True:
                self._news.clear()
                for event in self.events:
                    if isinstance(event, kind) and event.id == name:
                        return event
                await self._news.wait()

    async def end(self, name: str) -> TaskEnded:
        found = await self.wait_for(TaskEnded, name)
        assert isinstance(found, TaskEnded)
        return found


@asynccontextmanager
async def opened(data: Path, epoch: int = 1) -> AsyncIterator[Desk]:
    desk = Desk(data, epoch)
    await desk.router.open(desk.take)
    try:
        yield desk
    finally:
        await desk.router.close()


def task(name: str, template: model.Template) -> Task:
    return Task(
        id=name,
        workflow="wf",
        namespace="default",
        workflow_uid="uid",
        node_id=name,
        node_name=name,
        template=template,
        capture_result=True,
    )


def shell(command: str) -> model.Template:
    return model.Template(name="t", container=model.Container(command=("sh", "-c", command)))


def http(url: str) -> model.Template:
    return model.Template(name="t", http=model.HTTP(url=url))


def test_each_task_runs_where_its_template_belongs(tmp_path: Path, url: str) -> None:
    async def main() -> list[TaskEnded]:
        async with opened(tmp_path / "data") as desk:
            await desk.router.start(
                [task("uid.1", shell("echo outside")), task("uid.2", http(url))]
            )
            ends = [await desk.end("uid.1"), await desk.end("uid.2")]
            await desk.router.acknowledge(["uid.1", "uid.2"])
            return ends

    ends = asyncio.run(main())

    assert [end.phase for end in ends] == ["Succeeded", "Succeeded"]
    assert [end.outputs and end.outputs.result for end in ends] == ["outside", "inside"]


def test_each_task_is_stopped_where_it_runs(tmp_path: Path, url: str) -> None:
    async def main() -> list[TaskEnded]:
        async with opened(tmp_path / "data") as desk:
            tasks = [task("uid.1", shell("exec sleep 600")), task("uid.2", http(url + "/slow"))]
            await desk.router.start(tasks)
            await desk.wait_for(TaskStarted, "uid.1")
            assert await asyncio.to_thread(Handler.reached.wait, PATIENCE)
            await desk.router.stop(["uid.1", "uid.2"], grace=5)
            return [await desk.end("uid.1"), await desk.end("uid.2")]

    assert [end.stopped for end in asyncio.run(main())] == [True, True]


def test_the_next_server_finds_a_process_and_misses_a_request(tmp_path: Path, url: str) -> None:
    gate = tmp_path / "gate"
    tasks = [
        task("uid.1", shell(f"until [ -e {gate} ]; do sleep 0.02; done; echo outside")),
        task("uid.2", http(url + "/slow")),
    ]

    async def first() -> None:
        async with opened(tmp_path / "data") as desk:
            await desk.router.start(tasks)
            await desk.wait_for(TaskStarted, "uid.1")
            assert await asyncio.to_thread(Handler.reached.wait, PATIENCE)

    async def second() -> list[TaskEnded]:
        async with opened(tmp_path / "data", epoch=2) as desk:
            await desk.router.attach(tasks)
            lost = await desk.end("uid.2")
            gate.touch()
            ends = [await desk.end("uid.1"), lost]
            await desk.router.acknowledge(["uid.1", "uid.2"])
            return ends

    asyncio.run(first())
    found, lost = asyncio.run(second())

    assert (found.phase, found.lost) == ("Succeeded", False)
    assert (lost.phase, lost.lost) == ("Error", True)


def test_what_people_ask_of_the_local_runtime_is_answered(tmp_path: Path) -> None:
    async def main() -> tuple[str, str, int, Path]:
        async with opened(tmp_path / "data") as desk:
            runtime: Runtime = desk.router
            router = desk.router
            folder = router.folder_of(task("uid.1", shell("true")))
            assert runtime.name == "local"
            return router.isolation, router.notice, router.executor_pid, folder

    isolation, notice, pid, folder = asyncio.run(main())

    assert (isolation, notice) == ("process", "")
    assert pid > 0
    assert folder.name == "uid.1"
