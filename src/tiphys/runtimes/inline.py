"""Leaves that need no process: ``http`` and ``data`` run in threads of the server itself.

Implements ``ports.Runtime``. A request lives and dies with the server: it cannot be taken up again,
and whether the other end has acted on it nobody knows, so an attempt that was under way when the
server ended is reported as lost and only a policy sends it again. Listing keys changes nothing and
is simply done again. ``resource`` and ``plugin`` templates end with a word on what they need.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol

from tiphys.executor.clock import now
from tiphys.ports import AttemptId, Resources, Sink, Task, TaskEnded, TaskStarted
from tiphys.runtimes.end import End
from tiphys.runtimes.verdict import DEADLINE
from tiphys.spec import model

if TYPE_CHECKING:
    from tiphys.net.egress import EgressPolicy
    from tiphys.runtimes.data import KeyLister

WORKERS = 32
"""So many requests go on at once; more wait."""
LOST = "lost: the server was restarted during the request"
STOPPED = "stopped before the answer came"


class _Breakable(Protocol):
    def cut(self) -> None: ...


class _Job:
    """One attempt under way."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.begun = False
        self.stopping = False
        self.running: asyncio.Task[None] | None = None
        self.cutoff: _Breakable | None = None

    def cancel(self) -> None:
        """Give it up; whoever waits for it hears of it at once."""
        if self.cutoff is not None:
            self.cutoff.cut()
        # One that has not begun would be cancelled without a word; it looks for itself.
        if self.running is not None and self.begun:
            self.running.cancel()


class InlineRuntime:
    """Runs nodes inside of the server."""

    name = "inline"

    def __init__(
        self,
        *,
        resources: Resources,
        artifacts: KeyLister | None = None,
        allow: Iterable[str] = (),
    ) -> None:
        self._resources = resources
        self._artifacts = artifacts
        self._allow = tuple(allow)
        """``egress.allow`` of the configuration."""
        self._policy: EgressPolicy | None = None
        self._sink: Sink = lambda events: None
        self._jobs: dict[AttemptId, _Job] = {}
        self._seen: set[AttemptId] = set()
        """Started and not yet acknowledged."""
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="inline")
        self._room = asyncio.Semaphore(WORKERS)
        self._closed = False

    # --- ports.Runtime --------------------------------------------------------------------

    async def open(self, sink: Sink) -> None:
        """Remember where events go."""
        self._sink = sink

    async def start(self, tasks: Sequence[Task]) -> None:
        """Start tasks that were not started before."""
        for task in tasks:
            if task.id in self._seen:
                continue
            self._seen.add(task.id)
            job = self._jobs[task.id] = _Job(task)
            job.running = asyncio.get_running_loop().create_task(self._run(job))

    async def attach(self, tasks: Sequence[Task]) -> None:
        """Report requests of an earlier server as lost; do again what does no harm."""
        lost = [t for t in tasks if t.template.http is not None and t.id not in self._seen]
        self._seen.update(task.id for task in lost)
        if lost:
            self._sink([_ended(task, End("Error", LOST, lost=True)) for task in lost])
        await self.start([task for task in tasks if task.template.http is None])

    async def stop(self, ids: Sequence[AttemptId], *, grace: float) -> None:
        """Break off attempts at once: a request knows no grace."""
        for name in ids:
            job = self._jobs.get(name)
            if job is not None:
                job.stopping = True
                job.cancel()

    async def keep(self, ids: Sequence[AttemptId]) -> None:
        """Nothing here outlives a server."""

    async def acknowledge(self, ids: Sequence[AttemptId]) -> None:
        """Forget attempts that are on record."""
        self._seen.difference_update(ids)

    async def close(self) -> None:
        """Break off everything and report nothing; the next server finds it lost."""
        self._closed = True
        jobs = list(self._jobs.values())
        for job in jobs:
            job.cancel()
        waits = [job.running for job in jobs if job.running is not None]
        await asyncio.gather(*waits, return_exceptions=True)
        self._pool.shutdown(wait=False, cancel_futures=True)

    # --- one attempt ----------------------------------------------------------------------

    async def _run(self, job: _Job) -> None:
        job.begun = True
        try:
            if job.stopping or self._closed:
                raise asyncio.CancelledError
            end = await self._execute(job)
        except asyncio.CancelledError:
            if not job.stopping:
                raise
            end = End("Failed", STOPPED, stopped=True)
        except Exception as error:  # A defect of ours must not leave a node running for ever.
            end = End("Error", f"{type(error).__name__}: {error}")
        finally:
            self._jobs.pop(job.task.id, None)
        if not self._closed:
            self._sink([_ended(job.task, end)])

    async def _execute(self, job: _Job) -> End:
        refusal = _refusal(job.task.template)
        if refusal:
            return End("Error", refusal)
        if job.task.template.volcano_probe is not None:
            return await self._probe(job)
        await self._room.acquire()
        try:
            work, limit, late = self._prepare(job)
        except BaseException:
            self._room.release()
            raise
        self._sink([TaskStarted(id=job.task.id, at=now())])
        answer = asyncio.get_running_loop().run_in_executor(self._pool, work)
        answer.add_done_callback(self._leave)
        try:
            async with asyncio.timeout(limit):
                return await asyncio.shield(answer)
        except TimeoutError:
            if job.cutoff is not None:
                job.cutoff.cut()
            return End("Failed", late)

    async def _probe(self, job: _Job) -> End:
        """Ask until all services answer; it takes no thread, so any number may wait."""
        from tiphys.runtimes.probe import wait_until_ready  # noqa: PLC0415 - few workflows have one

        assert job.task.template.volcano_probe is not None
        self._sink([TaskStarted(id=job.task.id, at=now())])
        try:
            async with asyncio.timeout(job.task.deadline):
                await wait_until_ready(job.task.template.volcano_probe)
        except TimeoutError:
            return End("Failed", DEADLINE)
        return End("Succeeded", "")

    def _leave(self, answer: asyncio.Future[End]) -> None:
        """A thread is free again, whether or not anybody still waits for what it did."""
        self._room.release()
        if not answer.cancelled():
            answer.exception()

    def _prepare(self, job: _Job) -> tuple[Callable[[], End], float | None, str]:
        """Give what a thread has to do, how long it may take, and what to say if it is late."""
        task = job.task
        if task.template.http is None:
            from tiphys.runtimes.data import process  # noqa: PLC0415 - few workflows have any

            return lambda: process(task, self._artifacts), task.deadline, DEADLINE
        # Only here: TLS and all that is slow to load, and few workflows send requests.
        from tiphys.net.egress import EgressPolicy  # noqa: PLC0415
        from tiphys.runtimes.request import Cutoff, seconds_of, send  # noqa: PLC0415

        policy = self._policy = self._policy or EgressPolicy(self._allow)
        cutoff = job.cutoff = Cutoff()
        limit = seconds_of(task.template.http)
        late = f"no answer within {limit:g}s"
        if task.deadline is not None and task.deadline < limit:
            limit, late = task.deadline, DEADLINE
        resources = self._resources
        return (
            lambda: send(task, policy=policy, resources=resources, cutoff=cutoff),
            limit,
            late,
        )


def _refusal(template: model.Template) -> str:
    if template.resource is not None:
        action = template.resource.action or "use"
        return (
            f"resource templates need a Kubernetes cluster: there is none here to {action} "
            "the object in"
        )
    if template.plugin is not None:
        names = ", ".join(sorted(template.plugin)) or "an unnamed plugin"
        return f"no executor plugin is configured for {names}"
    return ""


def _ended(task: Task, end: End) -> TaskEnded:
    return TaskEnded(
        id=task.id,
        at=now(),
        phase=end.phase,
        message=end.message,
        outputs=end.outputs,
        stopped=end.stopped,
        lost=end.lost,
    )
