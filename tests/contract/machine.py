"""A runtime with its loop, told what to do in plain calls: the harness of the contract tests."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from tests.contract import engine_image
from tiphys.artifacts import ArtifactConfig, Repositories
from tiphys.errors import RuntimeFailure
from tiphys.executor.group import own_groups
from tiphys.ports import RuntimeEvent, Task, TaskEnded
from tiphys.runtimes.config import ENGINES, ImageCommand, LocalConfig
from tiphys.runtimes.local import LocalRuntime
from tiphys.spec import model

E = TypeVar("E", bound=RuntimeEvent)
UID = f"uid-{os.getpid()}"
"""Of this process alone: an executor that is new ends whatever bears the ids of lost attempts."""
PATIENCE = 180.0


def shell(
    command: str,
    outputs: model.Outputs | None = None,
    inputs: model.Inputs | None = None,
) -> model.Template:
    """Return a template that runs a shell command."""
    return model.Template(
        name="t",
        container=model.Container(command=("sh", "-c", command)),
        outputs=outputs or model.Outputs(),
        inputs=inputs or model.Inputs(),
    )


class Known:
    """The config maps and secrets of the tests."""

    def config_map(self, namespace: str, name: str) -> Mapping[str, str] | None:
        """Return one."""
        return {"k": "v"} if name == "cm" else None

    def secret(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """Return one."""
        return {"pass": b"s3cret"} if name == "sec" else None


class Machine:
    """One data directory with a runtime."""

    def __init__(
        self,
        data: Path,
        isolation: str,
        *,
        epoch: int = 1,
        images: dict[str, ImageCommand] | None = None,
        log_cap: int = 256 << 20,
        max_processes: int = 0,
        image: str = "",
    ) -> None:
        data.mkdir(parents=True, exist_ok=True)
        self.data = str(data)
        self.isolation = isolation
        self.epoch = epoch
        self.usable, self.why = True, ""
        self._image = image
        self._images = images or {}
        self._log_cap = log_cap
        self._max_processes = max_processes
        self._runner: asyncio.Runner | None = None
        self._runtime: LocalRuntime | None = None
        self._events: list[RuntimeEvent] = []
        self._news = asyncio.Event()
        self._number = 0
        self.scratch = ""
        self.artifacts = Repositories(
            root=data / "artifacts", config=ArtifactConfig(), secrets=lambda *_: b""
        )

    def __enter__(self) -> Machine:
        try:
            self.open()
        except RuntimeFailure as error:
            self.usable, self.why = False, str(error)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()
        if self._image:
            engine_image.remove_containers_of(self.isolation, Path(self.data))

    def open(self) -> None:
        """Begin, as a server would."""
        if self.isolation in ENGINES and not self._image:
            self._image = engine_image.require(self.isolation)
        self._runner = asyncio.Runner()
        config = LocalConfig(
            isolation=self.isolation,
            images=self._images,
            linger_seconds=0.3,
            grace_seconds=5,
            log_cap=self._log_cap,
            max_processes=self._max_processes,
        )
        self._news = asyncio.Event()
        self._runtime = LocalRuntime(
            Path(self.data),
            config=config,
            resources=Known(),
            artifacts=self.artifacts,
            epoch=self.epoch,
        )
        self._runner.run(self._runtime.open(self._take))

    def close(self) -> None:
        """End, as a server would."""
        if self._runner is not None and self._runtime is not None:
            self._runner.run(self._runtime.close())
            self._runner.close()
        self._runner = self._runtime = None

    def _take(self, events: Sequence[RuntimeEvent]) -> None:
        self._events += events
        self._news.set()

    @property
    def _pair(self) -> tuple[asyncio.Runner, LocalRuntime]:
        assert self._runner is not None
        assert self._runtime is not None
        return self._runner, self._runtime

    def task(self, template: model.Template, deadline: float | None = None) -> Task:
        """Return the next task."""
        self._number += 1
        if self._image:
            template = engine_image.give_to(template, self._image)
        return Task(
            id=f"{UID}.{self._number}",
            workflow="wf",
            namespace="default",
            workflow_uid=UID,
            node_id=f"wf-{self._number}",
            node_name=f"wf.n{self._number}",
            template=template,
            capture_result=True,
            deadline=deadline,
        )

    def start(self, template: model.Template) -> Task:
        """Start a task."""
        task = self.task(template)
        self.start_tasks([task])
        return task

    def start_tasks(self, tasks: Sequence[Task]) -> None:
        """Start tasks."""
        runner, runtime = self._pair
        runner.run(runtime.start(tasks))

    def start_and_stop(self, task: Task) -> None:
        """Start a task and stop it before it can have begun."""
        runner, runtime = self._pair

        async def both() -> None:
            await runtime.start([task])
            await runtime.stop([task.id], grace=0)

        runner.run(both())

    def attach(self, tasks: Sequence[Task]) -> None:
        """Ask about tasks of an earlier server."""
        runner, runtime = self._pair
        self._events.clear()
        runner.run(runtime.attach(tasks))

    def stop(self, tasks: Sequence[Task], *, grace: float) -> None:
        """Stop tasks."""
        runner, runtime = self._pair
        runner.run(runtime.stop([task.id for task in tasks], grace=grace))

    def run(self, template: model.Template, deadline: float | None = None) -> TaskEnded:
        """Run a task to its end, and acknowledge it."""
        runner, runtime = self._pair
        task = self.task(template, deadline)
        self.start_tasks([task])
        end = self.end_of(task)
        runner.run(runtime.acknowledge([task.id]))
        return end

    def acknowledge(self, tasks: Sequence[Task]) -> None:
        """Say that the ends of tasks are on record."""
        runner, runtime = self._pair
        runner.run(runtime.acknowledge([task.id for task in tasks]))

    def wait_for_files(self, task: Task, names: list[str]) -> None:
        """Wait until the folder of an attempt holds just these, and perhaps when they grew."""
        end = time.monotonic() + PATIENCE
        while True:
            found = sorted(os.listdir(self.folder(task)))
            if [name for name in found if not name.endswith(".marks")] == names:
                return
            assert time.monotonic() < end, f"still there: {found}"
            self._pair[0].run(asyncio.sleep(0.01))

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so, with the runtime at work."""
        end = time.monotonic() + PATIENCE
        while not is_so():
            assert time.monotonic() < end, "it never came to be"
            self._pair[0].run(asyncio.sleep(0.05))

    def end_of(self, task: Task) -> TaskEnded:
        """Wait for the end of a task."""
        return self.wait_for(task, TaskEnded)

    def wait_for(self, task: Task, kind: type[E]) -> E:
        """Wait for an event of a task."""
        runner, _ = self._pair
        return runner.run(self._wait_for(task, kind))

    def told(self, task: Task) -> list[RuntimeEvent]:
        """Give all events of a task so far."""
        return [event for event in self._events if getattr(event, "id", "") == task.id]

    async def _wait_for(self, task: Task, kind: type[E]) -> E:
        async with asyncio.timeout(PATIENCE):
            while True:
                for event in self._events:
                    if isinstance(event, kind) and event.id == task.id:
                        return event
                self._news.clear()
                await self._news.wait()

    def folder(self, task: Task) -> Path:
        """Return the folder of an attempt."""
        return self._pair[1].folder_of(task)

    def wait_for_log(self, task: Task, text: str) -> None:
        """Wait until a task has written something."""
        path = self.folder(task) / "main.stdout"
        end = time.monotonic() + PATIENCE
        while not (path.exists() and text in path.read_text()):
            assert time.monotonic() < end, f"{text!r} never came"
            self._pair[0].run(asyncio.sleep(0.01))

    @property
    def executor_pid(self) -> int:
        """Return the process of the executor."""
        return self._pair[1].executor_pid

    @staticmethod
    def limits(controller: str) -> bool:
        """Tell whether a resource can be limited here by a control group of version 1."""
        folder = own_groups().get(controller)
        return folder is not None and os.access(folder, os.W_OK)

    @staticmethod
    def processes(command: str) -> list[int]:
        """Return the processes with exactly this command line."""
        wanted = b"\0".join(command.encode().split()) + b"\0"
        found = []
        for name in os.listdir("/proc"):
            try:
                if name.isdigit() and Path("/proc", name, "cmdline").read_bytes() == wanted:
                    found.append(int(name))
            except OSError:
                continue
        return found

    def wait_until_gone(self, command: str) -> None:
        """Wait until no such process is left."""
        end = time.monotonic() + PATIENCE
        while self.processes(command):
            assert time.monotonic() < end, f"{command} is still there"
            time.sleep(0.01)

    def forget_scratch(self) -> None:
        """Remove what tasks without a sandbox wrote."""
        if self.scratch:
            shutil.rmtree(self.scratch, ignore_errors=True)
