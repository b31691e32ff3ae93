"""One runtime made of several: each task goes to the one that its template or workflow needs.

Processes go to ``LocalRuntime``, requests and the like to ``InlineRuntime``, tasks of workflows for
a cluster to that, Volcano's Jobs there to a runtime of their own; each of these is made when the
first task for it comes. To the loop it is one ``ports.Runtime`` with one sink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from tiphys.ports import LOCAL, AttemptId, Runtime, Sink, Task
from tiphys.runtimes.local import LocalRuntime
from tiphys.spec import model


def is_inline(template: model.Template) -> bool:
    """Whether a template needs no process."""
    return (
        template.http is not None
        or template.data is not None
        or template.resource is not None
        or template.plugin is not None
        or template.volcano_probe is not None
    )


def _is_plain(task: Task) -> bool:
    """Whether it is a process of this machine: nothing else has to be opened for it."""
    template = task.template
    return task.scheduler == LOCAL and template.volcano_job is None and not is_inline(template)


class ClusterRuntime(Runtime, Protocol):
    """Runs nodes on a cluster, in namespaces."""

    async def sweep(self, ids: Sequence[AttemptId], namespaces: Sequence[str]) -> None:
        """Begin to end what an earlier process left in ``namespaces``: all attempts but these and
        those that were started here."""


class RouterRuntime:
    """Sends tasks to the runtime that can run them, and what follows to where they went."""

    def __init__(
        self,
        local: LocalRuntime,
        inline: Callable[[], Runtime],
        cluster: Callable[[], ClusterRuntime] | None = None,
        volcano: Callable[[], ClusterRuntime] | None = None,
    ) -> None:
        self.name = local.name
        self._local = local
        self._make_inline = inline
        self._inline: Runtime | None = None
        self._make_cluster, self._make_volcano = cluster, volcano
        self._cluster: ClusterRuntime | None = None
        self._volcano: ClusterRuntime | None = None
        self._sink: Sink = lambda events: None
        self._elsewhere: dict[AttemptId, Runtime] = {}
        """Attempts that did not go to the local runtime and are not acknowledged."""

    # --- ports.Runtime --------------------------------------------------------------------

    async def open(self, sink: Sink) -> None:
        """Open what is there from the beginning."""
        self._sink = sink
        await self._local.open(sink)

    async def start(self, tasks: Sequence[Task]) -> None:
        """Start each task where it belongs."""
        for runtime, own in await self._split(tasks):
            await runtime.start(own)

    async def attach(self, tasks: Sequence[Task]) -> None:
        """Ask each runtime about its own."""
        for runtime, own in await self._split(tasks):
            await runtime.attach(own)

    async def stop(self, ids: Sequence[AttemptId], *, grace: float) -> None:
        """End attempts where they run."""
        for runtime, own in self._places(ids):
            await runtime.stop(own, grace=grace)

    async def keep(self, ids: Sequence[AttemptId]) -> None:
        """End and forget all attempts but these."""
        await self._local.keep(ids)
        for runtime in (self._cluster, self._volcano):
            if runtime is not None:
                await runtime.keep(ids)

    async def sweep(self, ids: Sequence[AttemptId], namespaces: Sequence[str]) -> None:
        """End what an earlier process left on clusters: those that have not been opened, too."""
        if namespaces and self._make_cluster is not None:
            await (await self._open_cluster()).sweep(ids, namespaces)
        if namespaces and self._make_volcano is not None:
            await (await self._open_volcano()).sweep(ids, namespaces)

    async def acknowledge(self, ids: Sequence[AttemptId]) -> None:
        """Let each runtime forget its own."""
        for runtime, own in self._places(ids):
            await runtime.acknowledge(own)
        for name in ids:
            self._elsewhere.pop(name, None)

    async def close(self) -> None:
        """Let go of all."""
        if self._inline is not None:
            await self._inline.close()
        await self._local.close()
        for runtime in (self._cluster, self._volcano):
            if runtime is not None:
                await runtime.close()

    async def _split(self, tasks: Sequence[Task]) -> list[tuple[Runtime, list[Task]]]:
        own: list[Task] = []
        found: dict[int, tuple[Runtime, list[Task]]] = {id(self._local): (self._local, own)}
        for task in tasks:
            runtime = self._local if _is_plain(task) else await self._runtime_of(task)
            if runtime is self._local:
                own.append(task)
                continue
            self._elsewhere[task.id] = runtime
            found.setdefault(id(runtime), (runtime, []))[1].append(task)
        return [each for each in found.values() if each[1]]

    async def _runtime_of(self, task: Task) -> Runtime:
        template = task.template
        if template.volcano_job is not None and self._make_volcano is not None:
            return await self._open_volcano()
        on_cluster = task.scheduler != LOCAL and self._make_cluster is not None
        if on_cluster and (template.resource is not None or not is_inline(template)):
            return await self._open_cluster()
        return await self._open_inline() if is_inline(template) else self._local

    async def _open_inline(self) -> Runtime:
        if self._inline is None:
            self._inline = self._make_inline()
            await self._inline.open(self._sink)
        return self._inline

    async def _open_cluster(self) -> ClusterRuntime:
        if self._cluster is None:
            assert self._make_cluster is not None
            self._cluster = self._make_cluster()
            await self._cluster.open(self._sink)
        return self._cluster

    async def _open_volcano(self) -> ClusterRuntime:
        if self._volcano is None:
            assert self._make_volcano is not None
            self._volcano = self._make_volcano()
            await self._volcano.open(self._sink)
        return self._volcano

    def _places(self, ids: Sequence[AttemptId]) -> Iterator[tuple[Runtime, list[AttemptId]]]:
        found: dict[int, tuple[Runtime, list[AttemptId]]] = {}
        for name in ids:
            runtime = self._elsewhere.get(name, self._local)
            found.setdefault(id(runtime), (runtime, []))[1].append(name)
        yield from found.values()

    # --- what people ask of the local one -------------------------------------------------

    @property
    def isolation(self) -> str:
        """How processes are kept apart."""
        return self._local.isolation

    @property
    def notice(self) -> str:
        """One line for the person who asks why there is no sandbox."""
        return self._local.notice

    @property
    def connected(self) -> bool:
        """Whether tasks reach the executor."""
        return self._local.connected

    @property
    def executor_pid(self) -> int:
        """The process that runs the tasks; 0 before ``open``."""
        return self._local.executor_pid

    def folder_of(self, task: Task) -> Path:
        """Return where the logs of an attempt lie."""
        return self._local.folder_of(task)
