"""What tests hold in their hands: both servers, workers as processes, and a ledger of starts."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ActivityError, ApplicationError

from tests.contract.api_server import ADMIN, ApiServer
from tests.integration.temporal.slate import FileSlate, Slate
from tiphys.temporal.payload import JobInput, Placement, RunResult, Worker, WorkflowInput

T = TypeVar("T")
PATIENCE = 240.0
ROOT = Path(__file__).parents[3]
IMAGE = "alpine:3.23"
"""For pods of a cluster; processes of this machine have none."""
_START = "ledger"


class WorkerProcess:
    """One worker; it can be ended in order, killed, or frozen."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.lines: list[str] = []
        self._ready = threading.Event()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.temporal.worker"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if line == "ready\n":
                self._ready.set()
        self._ready.set()

    def wait_ready(self) -> None:
        assert self._ready.wait(PATIENCE), self.said
        assert self.process.poll() is None, self.said

    @property
    def said(self) -> str:
        return "\n".join(self.lines)

    @property
    def records(self) -> list[dict[str, Any]]:
        """Give what it logged."""
        found = []
        for line in self.lines:
            with suppress(ValueError):
                found.append(json.loads(line))
        return [each for each in found if isinstance(each, dict)]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        if self.process.poll() is None:
            self.thaw()
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._reader.join(PATIENCE)
        if self.process.stdout is not None:
            self.process.stdout.close()


class Rig:
    """One test's view of the world."""

    def __init__(
        self, temporal: str, server: ApiServer, folder: Path, slate: Slate | None = None
    ) -> None:
        self.temporal, self.server, self.folder = temporal, server, folder
        self.slate: Slate = FileSlate(folder) if slate is None else slate
        self.mark = f"test-{uuid.uuid4()}"
        """All ids of the test's own workflows begin so."""
        self.queue = self.mark
        """The task queue."""

    def worker(self, **environment: str) -> WorkerProcess:
        """Start a worker that hands work over, unless it is told otherwise."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("TIPHYS_")}
        given = {
            "HOME": str(self.folder),
            "TEMPORAL_ADDRESS": self.temporal,
            "TASK_QUEUE": self.queue,
            "ENABLE_VOLCANO_SCHEDULER": "true",
            "TIPHYS_SERVER": f"http://127.0.0.1:{self.server.port}",
            "TIPHYS_TOKEN": ADMIN,
            **environment,
        }
        return WorkerProcess({**kept, **given})

    # --- work ---------------------------------------------------------------------------------

    def script(self, text: str) -> str:
        """Give a script that notes its start in the ledger before it does anything."""
        return f"{self.slate.note(_START)}; {text}"

    def until(self, name: str) -> str:
        """Give a script that waits until the test lets it go on, for a while at least."""
        rounds, look = int(300 / self.slate.pause), self.slate.holds(name)
        pause = f"sleep {self.slate.pause}"
        return self.script(f"for i in $(seq {rounds}); do {look} && exit 0; {pause}; done; exit 9")

    def nth_start(self, count: int) -> str:
        """Give a script that succeeds from so many starts on."""
        return self.script(self.slate.holds(_START, count))

    def open(self, name: str) -> None:
        """Let such a script go on."""
        self.slate.add(name)

    @property
    def starts(self) -> int:
        """Count the starts."""
        return self.slate.count(_START)

    def wait_starts(self, count: int) -> None:
        """Wait until so many have started."""
        wait_for(lambda: self.starts >= count, lambda: f"{self.starts} starts")

    # --- Temporal -----------------------------------------------------------------------------

    def play(self, story: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
        """Run what a user of Temporal does."""

        async def played() -> T:
            async with asyncio.timeout(PATIENCE):
                return await story(await self.connect())

        return asyncio.run(played())

    async def connect(self) -> Client:
        """Connect."""
        return await Client.connect(self.temporal)

    async def start(self, client: Client, flow: Any, *given: Any) -> WorkflowHandle[Any, Any]:
        """Start a workflow of Temporal in the test's own task queue."""
        name = f"{self.mark}-{uuid.uuid4()}"
        return await client.start_workflow(flow, args=list(given), id=name, task_queue=self.queue)

    def runs(self) -> list[dict[str, Any]]:
        """List the runs of Tiphys that this test's workflows have caused, the oldest first."""
        listed = self.server.get("/workflows?limit=200&sort=created_at").data
        found = []
        for each in listed:
            whole = self.server.get(f"/workflows/{each['id']}").data
            if self.mark in whole["description"]:
                found.append(whole)
        return found


async def started(rig: Rig, count: int) -> None:
    """Wait until so many tasks have started."""
    await asyncio.to_thread(rig.wait_starts, count)


async def attempt(handle: WorkflowHandle[Any, Any], least: int) -> None:
    """Wait until the activity is in so late an attempt."""
    while True:
        found = (await handle.describe()).raw_description.pending_activities
        if any(each.attempt >= least for each in found):
            return
        await asyncio.sleep(0.1)


async def failure(handle: WorkflowHandle[Any, Any]) -> ApplicationError:
    """Wait for a workflow to fail, and give what its activity said."""
    try:
        await handle.result()
    except WorkflowFailureError as error:
        cause = error.cause
        assert isinstance(cause, ActivityError), cause
        assert isinstance(cause.cause, ApplicationError), cause.cause
        return cause.cause
    raise AssertionError("it did not fail")


def result_in(error: ApplicationError) -> RunResult:
    """Give the result that comes with a failure."""
    (raw,) = error.details
    return RunResult(**{key: value for key, value in raw.items() if key != "tasks"})


def wait_for(condition: Callable[[], bool], what: Callable[[], object]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what()
        time.sleep(0.05)


def shell(script: str, **more: Any) -> Worker:
    """Give a pod that runs a script."""
    return Worker(image=IMAGE, command=["sh", "-c", script], **more)


def job(script: str, *, max_retry: int = 0, **placement: Any) -> JobInput:
    """Give a job of one such pod."""
    return JobInput(worker=shell(script), max_retry=max_retry, placement=Placement(**placement))


def flow(text: str, **more: Any) -> WorkflowInput:
    """Give a whole workflow."""
    return WorkflowInput(text=text, **more)
