"""Nodes on this machine: ``ports.Runtime`` over the executor.

Translates tasks, stages inputs, sends attempts in batches, turns ends into ``TaskEnded``. The plain
way (no artifacts, no output files) never leaves the event loop; the rest runs in a few threads.
Holds no truth: what was started and how it ended is the executor's journal, so that after a crash
of the server ``attach`` finds everything again. ``acknowledge`` tells that an end is on record.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from tiphys.errors import RuntimeFailure, TiphysError
from tiphys.executor import protocol
from tiphys.executor.client import ExecutorClient
from tiphys.executor.clock import now
from tiphys.executor.place import identity
from tiphys.ports import (
    AttemptId,
    Resources,
    RuntimeEvent,
    Sink,
    Task,
    TaskEnded,
    TaskProgressed,
    TaskReady,
    TaskStarted,
    Usage,
)
from tiphys.runtimes import readiness, verdict
from tiphys.runtimes.config import ENGINES, LocalConfig
from tiphys.runtimes.places import Places, TakenError
from tiphys.runtimes.remains import read_result, tidy, untidy
from tiphys.runtimes.translate import MAIN, Plan, Translator
from tiphys.spec import model

if TYPE_CHECKING:
    from tiphys.runtimes.engine import Engine
    from tiphys.runtimes.staging import ArtifactStore

WORKERS = 4
LOOPBACK = "127.0.0.1"
_NO_OUTPUTS = model.Outputs()
T = TypeVar("T")


class LocalRuntime:
    """Runs nodes as processes or in sandboxes of this machine."""

    name = "local"

    def __init__(
        self,
        data: Path,
        *,
        config: LocalConfig,
        resources: Resources,
        artifacts: ArtifactStore | None = None,
        epoch: int = 0,
    ) -> None:
        self._config = config
        self._artifacts = artifacts
        self._translator = Translator(data.resolve(), config, resources)
        self._client = ExecutorClient(
            data,
            epoch=epoch,
            on_events=self._take,
            on_lost=self._reconnect,
            linger=config.linger_seconds,
        )
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="staging")
        self._places = Places(data / "placed")
        self._room = asyncio.Event()
        """Set, and made anew, whenever a path of the host may have become free."""
        self._plans: dict[AttemptId, Plan] = {}
        self._staging: set[AttemptId] = set()
        self._inherited: set[AttemptId] = set()
        """Attempts of an earlier server that the executor has not told of yet."""
        self._ending: dict[AttemptId, Plan] = {}
        """Attempts that have ended and still have files in the host's own tree."""
        self._untidy: dict[AttemptId, str] = {}
        self._stopping: dict[AttemptId, float] = {}
        self._sink: Sink = lambda events: None
        self._jobs: set[asyncio.Task[None]] = set()
        self._engine: Engine | None = None
        self._kept: dict[AttemptId, Plan] = {}
        """Ended attempts whose containers an engine keeps until the end is on record."""
        self._data = data
        self._probes = readiness.Probes(self._client.send)
        self._closed = False
        self._host = os.uname().nodename
        self.isolation = ""
        self.notice = ""
        """One line for the person who asks why there is no sandbox."""

    # --- ports.Runtime --------------------------------------------------------------------

    async def open(self, sink: Sink) -> None:
        """Reach the executor and find out what isolation there is."""
        self._sink = sink
        wanted = self._config.isolation
        if wanted in ENGINES:
            from tiphys.runtimes.engine import Engine  # noqa: PLC0415 - most have none

            self._engine = await self._in_thread(partial(Engine.find, wanted, self._owner()))
            self._translator.engine = self._probes.engine = self._engine
        welcome = await self._client.connect()
        if self._engine is not None:
            self.isolation = wanted
            return
        if wanted == "process" or (wanted == "auto" and not welcome.sandbox):
            self.isolation = "process"
        elif not welcome.sandbox:
            raise RuntimeFailure(f"no sandbox on this machine: {welcome.why}")
        else:
            self.isolation = "sandbox"
        if wanted == "auto" and not welcome.sandbox:
            self.notice = f"tasks run without a sandbox: {welcome.why}"
        elif self.isolation == "sandbox" and welcome.sandbox == "read-only":
            places = "/, /tmp, their working directory, outputs and volumes"
            self.notice = f"tasks can write only to {places}: {welcome.why or 'as asked for'}"

    def _owner(self) -> str:
        """Return what names this data directory among others that use the same engine."""
        return identity(self._data)

    async def start(self, tasks: Sequence[Task]) -> None:
        """Start tasks: those with nothing to fetch at once and together."""
        plans: list[Plan] = []
        failed: list[RuntimeEvent] = []
        for task in tasks:
            if task.id in self._plans:
                continue
            try:
                plan = self._plan(task)
            except (TiphysError, OSError) as error:
                failed.append(_failure(task, str(error)))
                continue
            self._plans[task.id] = plan
            plans.append(plan)
        self._send(plans)
        if failed:
            self._sink(failed)

    def _plan(self, task: Task) -> Plan:
        plan = self._translator.translate(task, self.isolation)
        store = self._artifacts
        plan.archives = task.archive_logs or (
            store is not None and store.archives_logs(task.namespace, task.artifact_repository)
        )
        return plan

    async def attach(self, tasks: Sequence[Task]) -> None:
        """Ask the executor about tasks of an earlier server."""
        failed: list[RuntimeEvent] = []
        asked = []
        for task in tasks:
            try:
                self._plans[task.id] = self._plan(task)
            except (TiphysError, OSError) as error:
                failed.append(_failure(task, str(error)))
                continue
            asked.append(task.id)
        self._inherited.update(asked)
        if asked:
            self._client.send(protocol.Attach(tuple(asked)))
        if failed:
            self._sink(failed)

    async def stop(self, ids: Sequence[AttemptId], *, grace: float) -> None:
        """Tell the executor to end attempts; what is still being staged never begins."""
        known = [name for name in ids if name in self._plans]
        self._stopping |= dict.fromkeys(known, grace)
        self._make_room()  # One that waits for a path need not wait any longer.
        self._client.send(protocol.Stop(tuple(known), grace))

    async def keep(self, ids: Sequence[AttemptId]) -> None:
        """End and forget all attempts but these: of an earlier server, and nobody's any more."""
        self._client.send(protocol.Keep(tuple(ids)))
        await self._in_thread(partial(self._places.keep, ids))

    async def acknowledge(self, ids: Sequence[AttemptId]) -> None:
        """Forget attempts whose TaskEnded is on record; of their files only the logs stay."""
        self._client.send_later(protocol.Ack(tuple(ids)))
        folders = [folder for name in ids if (folder := self._untidy.pop(name, None)) is not None]
        left = untidy(folders)
        if left:
            self._spawn(self._tidy(left))
        kept = [plan for name in ids if (plan := self._kept.pop(name, None)) is not None]
        if kept:
            self._spawn(self._remove_containers(kept))

    async def remove(self, workflow_uid: str) -> None:
        """Delete the logs and all else of a workflow of which nothing runs any more."""
        from tiphys.executor.tree import remove_tree  # noqa: PLC0415 - a run of its own keeps all

        await self._in_thread(partial(remove_tree, str(self._translator.folder / workflow_uid)))

    async def close(self) -> None:
        """Hang up; tasks keep running. What is half staged or collected is done again later."""
        self._closed = True
        self._probes.close()
        self._client.close()
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def folder_of(self, task: Task) -> Path:
        """Return where the logs of an attempt lie, for ``logs.LogReader``."""
        return self._translator.folder_of(task)

    @property
    def connected(self) -> bool:
        """Whether requests reach the executor."""
        return self._client.connected

    @property
    def executor_pid(self) -> int:
        """Return the process that runs the tasks; 0 before ``open``."""
        return self._client.welcome.pid if self._client.welcome is not None else 0

    # --- before the start -----------------------------------------------------------------

    def _send(self, plans: Sequence[Plan]) -> None:
        ready = []
        for plan in plans:
            if _has_work_before(plan):
                self._staging.add(plan.task.id)
                self._spawn(self._stage_and_start(plan))
            else:
                ready.append(plan.attempt)
        if ready:
            self._client.send(protocol.Start(tuple(ready)))

    async def _stage_and_start(self, plan: Plan) -> None:
        problem = ""
        try:
            from tiphys.runtimes.staging import stage  # noqa: PLC0415 - most tasks have no files

            await self._in_thread(partial(stage, plan, self._artifacts))
            if plan.placed:
                await self._claim(plan)
        except (TiphysError, OSError) as error:
            problem = str(error)
        except Exception as error:  # A defect of ours must not leave a node waiting for ever.
            problem = f"{type(error).__name__}: {error}"
        self._staging.discard(plan.task.id)
        stopped = plan.task.id in self._stopping
        if not problem and not stopped:
            self._client.send(protocol.Start((plan.attempt,)))
            return
        await self._release(plan)
        self._forget(plan)
        if stopped:
            self._sink([_never_began(plan)])
        else:
            self._sink([_failure(plan.task, problem)])

    async def _claim(self, plan: Plan) -> None:
        """Put the task's files in their places on the host, when they are free."""
        attempt = plan.task.id
        while attempt not in self._stopping:
            room = self._room
            try:
                await self._in_thread(partial(self._places.claim, attempt, plan.mounts))
            except TakenError as error:
                if not all(self._will_end(holder) for holder in error.holders):
                    raise
            else:
                return
            await room.wait()

    def _will_end(self, attempt: AttemptId) -> bool:
        """Tell whether there is sense in waiting until an attempt lets go of its paths."""
        plan = self._plans.get(attempt) or self._ending.get(attempt)
        return plan is not None and not plan.task.template.daemon

    async def _release(self, plan: Plan) -> None:
        if plan.placed:
            await self._in_thread(partial(self._places.release, plan.task.id))
            self._ending.pop(plan.task.id, None)
            self._make_room()

    def _make_room(self) -> None:
        self._room.set()
        self._room = asyncio.Event()

    def _forget(self, plan: Plan) -> None:
        self._plans.pop(plan.task.id, None)
        self._stopping.pop(plan.task.id, None)

    # --- events of the executor -----------------------------------------------------------

    def _take(self, events: Sequence[protocol.Event]) -> None:
        news: list[RuntimeEvent] = []
        never_begun: list[Plan] = []
        for event in events:
            if isinstance(event, protocol.Probed):
                self._probes.answer(event)
                continue
            plan = self._plans.get(event.id)
            self._inherited.discard(event.id)
            if plan is not None and isinstance(event, protocol.Unknown):
                if event.id in self._stopping:
                    self._forget(plan)
                    news.append(_never_began(plan))
                else:
                    never_begun.append(plan)
            elif plan is not None:
                news += self._translate(plan, event)
        self._send(never_begun)
        if news:
            self._sink(news)

    def _translate(self, plan: Plan, event: protocol.Event) -> list[RuntimeEvent]:
        match event:
            case protocol.Started():
                return self._started(plan, event)
            case protocol.Progressed():
                return [TaskProgressed(id=event.id, at=event.at, progress=event.text)]
            case protocol.Ended():
                return self._ended(plan, event)
        return []

    def _started(self, plan: Plan, event: protocol.Started) -> list[RuntimeEvent]:
        begun = TaskStarted(id=event.id, at=event.at, host=self._host, ip=LOOPBACK)
        if not plan.task.template.daemon:
            return [begun]
        probe = readiness.probe_of(plan.task.template)
        if probe is None:
            return [begun, TaskReady(id=event.id, at=event.at, ip=LOOPBACK)]
        self._spawn(self._await_readiness(plan, probe))
        return [begun]

    async def _await_readiness(self, plan: Plan, probe: model.Probe) -> None:
        ready = await self._probes.wait(plan, probe, lambda: plan.task.id in self._plans)
        if ready and not self._closed:
            self._sink([TaskReady(id=plan.task.id, at=now(), ip=LOOPBACK)])

    def _ended(self, plan: Plan, event: protocol.Ended) -> list[RuntimeEvent]:
        self._forget(plan)
        if plan.placed:
            self._ending[event.id] = plan
        if self._engine is not None and plan.attempt.isolation in ENGINES:
            self._kept[event.id] = plan
            self._untidy[event.id] = plan.attempt.folder
            self._spawn(self._settle(plan, event, self._engine))
            return []
        if plan.attempt.isolation == "process" or _leaves_files(plan):
            self._untidy[event.id] = plan.attempt.folder
        return self._conclude(plan, event)

    async def _settle(self, plan: Plan, event: protocol.Ended, engine: Engine) -> None:
        """Ask the engine what the executor cannot know of an end, then go on as without it."""
        # An engine that does not answer must not keep back the end.
        with suppress(TiphysError, OSError, ValueError):
            event = await self._in_thread(partial(engine.settle, plan.attempt, event, plan.folder))
        news = self._conclude(plan, event)
        if news and not self._closed:
            self._sink(news)

    def _conclude(self, plan: Plan, event: protocol.Ended) -> list[RuntimeEvent]:
        outputs, main_ran = _plain_outputs(plan, event)
        files = plan.collects and main_ran and event.reason not in ("lost", "deadline")
        if files or _has_logs(plan, event) or plan.placed:
            self._spawn(self._collect(plan, event, outputs, files=files))
            return []
        return [_end(plan, event, outputs, [])]

    async def _collect(
        self, plan: Plan, event: protocol.Ended, outputs: model.Outputs, *, files: bool
    ) -> None:
        problems: list[str] = []
        if files or _has_logs(plan, event):
            engine = self._engine if plan.attempt.isolation in ENGINES else None
            try:
                from tiphys.runtimes.staging import Collector  # noqa: PLC0415 - as above

                collector = Collector(plan, self._artifacts, engine)
                saved, problems = await self._in_thread(partial(collector.collect, files=files))
            except Exception as error:  # As above: the end must be told, whatever is wrong with us.
                saved, problems = model.Outputs(), [f"{type(error).__name__}: {error}"]
            outputs = msgspec.structs.replace(
                outputs, parameters=saved.parameters, artifacts=saved.artifacts
            )
        await self._release(plan)
        if not self._closed:
            self._sink([_end(plan, event, outputs, problems)])

    async def _remove_containers(self, plans: Sequence[Plan]) -> None:
        assert self._engine is not None
        for plan in plans:
            with suppress(TiphysError, OSError):
                await self._in_thread(partial(self._engine.remove, plan.attempt))

    async def _tidy(self, folders: Sequence[str]) -> None:
        for folder in folders:
            with suppress(OSError):
                await self._in_thread(partial(tidy, folder))

    # --- the connection -------------------------------------------------------------------

    def _reconnect(self) -> None:
        if not self._closed:
            self._spawn(self._connect_again())

    async def _connect_again(self) -> None:
        try:
            await self._client.connect()
        except TiphysError as error:
            message = f"executor lost: {error}"
            lost = [_failure(plan.task, message, lost=True) for plan in self._plans.values()]
            self._plans.clear()
            self._sink(lost)
            return
        asked = [name for name in self._plans if name not in self._staging]
        for ours in (False, True):
            some = tuple(name for name in asked if (name not in self._inherited) is ours)
            if some:
                self._client.send(protocol.Attach(some, are_ours=ours))
        for name, grace in self._stopping.items():
            self._client.send(protocol.Stop((name,), grace))

    def _spawn(self, job: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(job)
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)


def _has_work_before(plan: Plan) -> bool:
    return bool(plan.loads) or plan.placed


def _leaves_files(plan: Plan) -> bool:
    return plan.collects or any(run.mounts for run in plan.attempt.containers)


def _has_logs(plan: Plan, event: protocol.Ended) -> bool:
    """Tell whether there are logs to archive: a container that did work has begun."""
    if not plan.archives:
        return False
    roles = {run.name: run.role for run in plan.attempt.containers}
    return any(
        roles.get(each.name) == "main" and each.code is not None for each in event.containers
    )


def _plain_outputs(plan: Plan, event: protocol.Ended) -> tuple[model.Outputs, bool]:
    """Return exit code and result, and whether main ran at all."""
    main = next((exit_ for exit_ in event.containers if exit_.name == MAIN), None)
    if main is None or main.code is None:
        return model.Outputs(), False
    result = read_result(plan.folder) if plan.task.capture_result else None
    return model.Outputs(exit_code=str(main.code), result=result), True


def _end(
    plan: Plan, event: protocol.Ended, outputs: model.Outputs, problems: Sequence[str]
) -> TaskEnded:
    phase, message = verdict.judge(plan.attempt, event)
    if problems and phase == "Succeeded":
        phase, message = "Error", f"wait: Error (exit code 64): {'; '.join(problems)}"
    members = plan.task.template.container_set
    names = [node.name for node in members.containers] if members is not None else []
    return TaskEnded(
        id=event.id,
        at=event.at,
        phase=phase,
        message=message,
        outputs=None if outputs == _NO_OUTPUTS else outputs,
        containers=verdict.members(event, names),
        usage=Usage(cpu_seconds=event.cpu_seconds, memory_bytes=event.memory_bytes),
        lost=event.reason == "lost",
        stopped=event.reason == "stopped",
    )


def _never_began(plan: Plan) -> TaskEnded:
    return _failure(plan.task, verdict.NEVER_BEGAN, phase="Failed", stopped=True)


def _failure(
    task: Task, message: str, *, phase: str = "Error", lost: bool = False, stopped: bool = False
) -> TaskEnded:
    return TaskEnded(id=task.id, at=now(), phase=phase, message=message, lost=lost, stopped=stopped)
