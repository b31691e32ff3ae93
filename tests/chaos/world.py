"""A machine without machine: virtual time, a store in memory, tasks that are only imagined.

The real control loop, engine, scheduler, lock table and recovery run on it. ``World`` outlives the
servers that run on it, as disk and executor do; each server gets a ``Runtime`` of its own. Whatever
must never be is noted in ``World.wrongs`` at the moment it happens. Everything that is left to
chance comes from one seeded generator, so the same seed gives the same history.
"""

from __future__ import annotations

import asyncio
import selectors
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, TypeVar

import msgspec

from tiphys.control.record import Ledger
from tiphys.engine.node import FULFILLED, Node, Phase
from tiphys.ports import RuntimeEvent, Sink, Task, TaskEnded, TaskReady, TaskStarted
from tiphys.spec import model
from tiphys.store.row import Batch, MemoRow, NodeRow, WorkflowHeader, WorkflowRow
from tiphys.wire.node import decode_node

T = TypeVar("T")
NOON = 1_767_268_800.0
OVER = {"Succeeded", "Failed", "Error"}


class Killed(Exception):  # noqa: N818 - it is what happens to a server, not a mistake
    """The server is killed here."""


class Stuck(Exception):  # noqa: N818
    """Nothing is left to happen, and not everything is done."""


class _Selector(selectors.SelectSelector):
    """Lets time pass instead of waiting."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise Stuck("nothing is left to happen")
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on a virtual clock."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        """Give the virtual time, in seconds since the beginning."""
        return self._virtual.now


class VirtualClock:
    """The same time as the loop's, counted as people do."""

    def now(self) -> float:
        """Give the seconds since the epoch."""
        return NOON + asyncio.get_running_loop().time()


@dataclass(slots=True)
class Faults:
    """How often things go wrong."""

    kills: int = 0
    lost: float = 0.0
    """How often the executor dies, per start of a task."""
    doubled: float = 0.0
    dropped: float = 0.0
    """How often a message of a killed server does not arrive."""
    slow: float = 0.05
    """The longest time that a message takes, in seconds."""


@dataclass(slots=True)
class Process:
    """A task that was started."""

    task: Task
    end: TaskEnded | None = None
    acknowledged: bool = False
    orphan: bool = False
    """Its node had ended on record when its server was killed: it only has to be ended."""

    @property
    def key(self) -> tuple[str, str]:
        """The workflow and the node it is for."""
        return self.task.workflow_uid, self.task.node_id


@dataclass(slots=True, eq=False)
class World:
    """Disk and executor."""

    random: Random
    faults: Faults
    pods: int
    play: Callable[[Task], TaskEnded]
    """How a task ends; ``at`` is how long it takes."""
    store: MemoryStore
    processes: dict[str, Process] = field(default_factory=dict)
    done: set[tuple[str, str]] = field(default_factory=set)
    history: list[str] = field(default_factory=list)
    wrongs: list[str] = field(default_factory=list)
    kills_left: int = 0
    _countdown: int = 0

    def __post_init__(self) -> None:
        self.kills_left = self.faults.kills
        self.arm()

    def arm(self) -> None:
        """Choose the instant of the next kill."""
        self._countdown = self.random.randint(1, 14)

    def pass_by(self) -> None:
        """Mark a point at which the server may be killed."""
        if self.kills_left:
            self._countdown -= 1
            if self._countdown <= 0:
                self.kills_left -= 1
                self.history.append("killed")
                raise Killed

    def check(self, right: bool, wrong: str) -> None:
        """Note what must not be."""
        if not right:
            self.wrongs.append(wrong)

    # --- the executor's side --------------------------------------------------------------

    def running(self) -> list[Process]:
        """Give what runs."""
        return [process for process in self.processes.values() if process.end is None]

    def begin(self, task: Task, report: Callable[[RuntimeEvent], None]) -> None:
        """Start a task, unless it was started before."""
        known = self.processes.get(task.id)
        if known is not None:
            self.check(not known.acknowledged, f"{task.id} is asked for after its end was taken")
            self.tell(known, report)
            return
        self._check_start(task)
        self.history.append(f"start {task.id} {task.node_name}")
        process = self.processes[task.id] = Process(task)
        self.tell(process, report)
        if task.template.daemon:
            report(TaskReady(id=task.id, at=_now(), ip="127.0.0.1"))
        else:
            end = self.play(task)
            loop = asyncio.get_running_loop()
            loop.call_later(end.at, self.end, process, end, report)
        if self.random.random() < self.faults.lost:
            self._lose_all(report)

    def tell(self, process: Process, report: Callable[[RuntimeEvent], None]) -> None:
        """Say how far a task is."""
        if process.end is not None:
            report(process.end)
        else:
            report(TaskStarted(id=process.task.id, at=_now()))

    def end(self, process: Process, end: TaskEnded, report: Callable[[RuntimeEvent], None]) -> None:
        """End a task, unless it has ended."""
        if process.end is not None:
            return
        process.end = msgspec.structs.replace(end, at=_now())
        self.history.append(f"end {process.task.id} {end.phase}")
        if end.phase == "Succeeded":
            self.done.add(process.key)
        report(process.end)

    def _lose_all(self, report: Callable[[RuntimeEvent], None]) -> None:
        for process in self.running():
            end = TaskEnded(
                id=process.task.id, at=0, phase="Error", message="executor lost", lost=True
            )
            self.end(process, end, report)

    def _check_start(self, task: Task) -> None:
        key = (task.workflow_uid, task.node_id)
        running = self.running()
        self.check(key not in self.done, f"{task.node_name} is done and starts again")
        self.check(
            all(process.key != key for process in running), f"{task.node_name} runs twice at once"
        )
        # Until the next server has ended them, orphans run beside what it starts.
        busy = sum(not (each.task.template.daemon or each.orphan) for each in running)
        self.check(
            bool(task.template.daemon) or busy < self.pods, f"{task.id}: more than {self.pods} run"
        )
        # A lock is free when its node has ended, even if the task has not: so it is in Argo.
        holders = [process for process in running if not self._is_over(process)]
        for name in _mutexes(task.template):
            self.check(
                all(name not in _mutexes(process.task.template) for process in holders),
                f"{task.id}: mutex {name} is held by another",
            )
        stored = self.store.node(*key)
        number = int(task.id.rpartition(".")[2])
        self.check(
            stored is not None and stored.ours.admitted and stored.ours.attempt >= number,
            f"{task.id} starts before it is on record",
        )

    def _is_over(self, process: Process) -> bool:
        stored = self.store.node(*process.key)
        return stored is not None and stored.phase in FULFILLED

    def forget_server(self) -> None:
        """Take note that a server is gone."""
        for process in self.running():
            process.orphan = process.orphan or self._is_over(process)

    def acknowledge(self, attempt: str) -> None:
        """Take note that an end is on record."""
        process = self.processes[attempt]
        process.acknowledged = True
        stored = self.store.node(*process.key)
        number = int(attempt.rpartition(".")[2])
        self.check(
            stored is None or stored.phase in FULFILLED or stored.ours.attempt > number,
            f"the end of {attempt} is taken before it is on record",
        )


def _mutexes(template: model.Template) -> set[str]:
    wanted = template.synchronization
    return {each.name for each in wanted.mutexes} if wanted is not None else set()


def _now() -> float:
    return NOON + asyncio.get_running_loop().time()


class Runtime:
    """The executor as one server reaches it: messages take time, and come late, twice or not."""

    name = "imagined"

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: set[str] = set()
        self._sink: Sink = lambda events: None
        self._closed = False
        self._last = 0.0
        self._under_way: deque[Callable[[], None]] = deque()

    async def open(self, sink: Sink) -> None:
        """Connect."""
        self._sink = sink

    async def start(self, tasks: Sequence[Task]) -> None:
        """Send tasks."""
        self._world.pass_by()
        self._known |= {task.id for task in tasks}
        for task in tasks:
            self._post(partial(self._world.begin, task, self._report))

    async def attach(self, tasks: Sequence[Task]) -> None:
        """Ask about tasks; those that never began are started."""
        await self.start(tasks)

    async def stop(self, ids: Sequence[str], *, grace: float) -> None:
        """End tasks, some time soon."""
        self._world.pass_by()
        for name in ids:
            wait = self._world.random.choice((0.0, 0.5, 2.0))
            self._post(partial(self._stop, name, wait))

    def _stop(self, name: str, wait: float) -> None:
        process = self._world.processes.get(name)
        if process is not None:
            end = TaskEnded(id=name, at=0, phase="Failed", message="stopped", stopped=True)
            loop = asyncio.get_running_loop()
            loop.call_later(wait, self._world.end, process, end, self._report)

    async def acknowledge(self, ids: Sequence[str]) -> None:
        """Say that ends are on record."""
        self._world.pass_by()
        for name in ids:
            self._post(partial(self._world.acknowledge, name))

    async def keep(self, ids: Sequence[str]) -> None:
        """End and forget all but these."""
        self._world.pass_by()
        self._post(partial(self._keep, frozenset(ids)))

    def _keep(self, ids: frozenset[str]) -> None:
        for name, process in list(self._world.processes.items()):
            if name in ids:
                continue
            if process.end is None:
                self._stop(name, 0.0)
            else:
                self._world.acknowledge(name)

    async def remove(self, workflow_uid: str) -> None:
        """Forget a workflow: there is nothing to forget."""

    async def close(self) -> None:
        """Hang up. What is under way arrives now or never: the next server is heard after that."""
        self._closed = True
        while self._under_way and self._world.random.random() >= self._world.faults.dropped:
            self._under_way.popleft()()
        self._under_way.clear()

    def _post(self, action: Callable[[], None]) -> None:
        """Send a message; they arrive in the order in which they were sent."""
        loop = asyncio.get_running_loop()
        wait = self._world.random.random() * self._world.faults.slow
        self._last = max(self._last, loop.time() + wait)
        self._under_way.append(action)
        loop.call_at(self._last, self._arrive)

    def _arrive(self) -> None:
        if self._under_way:
            self._under_way.popleft()()

    def _report(self, event: RuntimeEvent) -> None:
        """Bring news to the server: late, in any order, sometimes twice."""
        chance, faults = self._world.random, self._world.faults
        loop = asyncio.get_running_loop()
        for _ in range(1 + (chance.random() < faults.doubled)):
            loop.call_later(chance.random() * faults.slow * 4, self._deliver, event)

    def _deliver(self, event: RuntimeEvent) -> None:
        current = self._world.store.current
        if current is not None and not current._closed:
            current._take(event)

    def _take(self, event: RuntimeEvent) -> None:
        if event.id in self._known:
            self._sink([event])


class MemoryStore:
    """Rows in memory, written as the real store writes them, checked at each commit."""

    def __init__(self) -> None:
        self.rows: dict[str, WorkflowRow] = {}
        self.current: Runtime | None = None
        """The runtime of the server that is up."""
        self.wrongs: list[str] = []
        self._nodes: dict[str, dict[str, NodeRow]] = {}
        self._memos: dict[tuple[str, str, str], MemoRow] = {}

    def commit(self, batch: Batch) -> None:
        """Write a batch."""
        for row in batch.submitted:
            self.rows[row.uid] = row
            self._nodes[row.uid] = {}
        for header in batch.headers:
            self._write_header(header)
        for node in batch.nodes:
            self._write_node(node)
        for uid, node_id in batch.removed:
            self._nodes[uid].pop(node_id, None)
        for memo in batch.memos:
            self._memos[memo.namespace, memo.cache, memo.key] = memo

    def _write_header(self, header: WorkflowHeader) -> None:
        old = self.rows[header.uid]
        if old.phase in OVER and header.phase != old.phase:
            self.wrongs.append(f"{old.name} went from {old.phase} to {header.phase}")
        if header.starts < old.starts:
            self.wrongs.append(f"{old.name}: attempt numbers went back")
        changes = {
            name: value
            for name in header.__struct_fields__
            if (value := getattr(header, name)) is not None
        }
        self.rows[header.uid] = msgspec.structs.replace(old, **changes)

    def _write_node(self, row: NodeRow) -> None:
        nodes = self._nodes[row.uid]
        old = nodes.get(row.id)
        if old is not None and Phase(old.phase) in FULFILLED and old.phase != row.phase:
            self.wrongs.append(f"{row.name} went from {old.phase} to {row.phase}")
        nodes[row.id] = row

    def unfinished(self) -> list[WorkflowRow]:
        """List what has not ended."""
        return [row for row in self.rows.values() if row.phase not in OVER]

    def nodes(self, uid: str) -> Iterator[NodeRow]:
        """Give the nodes of a workflow in order."""
        return iter(sorted(self._nodes[uid].values(), key=lambda row: row.seq))

    def node(self, uid: str, node_id: str) -> Node | None:
        """Find a node."""
        row = self._nodes[uid].get(node_id)
        return None if row is None else decode_node(row.body)

    def memo(self, namespace: str, cache: str, key: str) -> MemoRow | None:
        """Find remembered outputs."""
        return self._memos.get((namespace, cache, key))


class MemoryLedger(Ledger):
    """The real record over a store in memory; the server may be killed around each commit."""

    def __init__(self, world: World) -> None:
        super().__init__(world.store)  # type: ignore[arg-type]
        self._world = world

    async def _in_thread(self, work: Callable[[], T]) -> T:
        self._world.pass_by()
        await asyncio.sleep(self._world.random.random() * 0.01)
        result = work()
        self._world.pass_by()
        return result
