"""A restored run and a runtime that takes its time to say how its tasks stand: on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random

import msgspec
import pytest

from tests.chaos.world import (
    Faults,
    MemoryLedger,
    MemoryStore,
    VirtualClock,
    VirtualLoop,
    World,
)
from tiphys.control.loop import Control
from tiphys.control.planning import Planning
from tiphys.control.record import row_of
from tiphys.control.recover import revive
from tiphys.control.server import Quiet
from tiphys.control.submit import freeze
from tiphys.control.unheard import PATIENCE
from tiphys.engine import event as ev
from tiphys.engine.lifecycle import begin
from tiphys.ports import AttemptId, Sink, Task, TaskEnded, TaskStarted, TaskWaits
from tiphys.scheduling import Queue, QueueTree, Resources
from tiphys.testing.flow import flow
from tiphys.testing.harness import load

STOP = ev.Shutdown.STOP


class LateRuntime:
    """Runs nothing, and says of tasks what the test says, when it does."""

    name = "late"

    def __init__(self) -> None:
        self.started: list[AttemptId] = []
        self.attached: list[AttemptId] = []
        self.stopped: list[AttemptId] = []
        self.say: Sink = lambda events: None

    async def open(self, sink: Sink) -> None:
        self.say = sink

    async def start(self, tasks: Sequence[Task]) -> None:
        self.started += [task.id for task in tasks]

    async def attach(self, tasks: Sequence[Task]) -> None:
        self.attached += [task.id for task in tasks]

    async def stop(self, ids: Sequence[AttemptId], *, grace: float) -> None:
        self.stopped += ids

    async def keep(self, ids: Sequence[AttemptId]) -> None:
        """Keep all."""

    async def acknowledge(self, ids: Sequence[AttemptId]) -> None:
        """Forget nothing."""

    async def close(self) -> None:
        """Let go of nothing."""


class Server:
    """One life of the loop over a store that outlives it."""

    def __init__(self, world: World) -> None:
        self.store, self.runtime = world.store, LateRuntime()
        self.ledger = MemoryLedger(world)
        self.control = Control(
            ledger=self.ledger,
            runtime=self.runtime,
            planning=Planning(Resources(pods=9), QueueTree([Queue(name="default")]), ()),
            clock=VirtualClock(),
            watcher=Quiet(),
        )
        self._turning: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Take up what there is, and turn."""
        await self.control.open()
        for row in self.store.unfinished():
            assert revive(self.store, row, self.control, self.ledger)  # type: ignore[arg-type]
        await asyncio.sleep(0.001)  # As while a server has the executor end what is nobody's.
        self._turning = asyncio.create_task(self.control.serve())
        await self.control.settle()

    async def submit(self, text: str, uid: str) -> None:
        found = load(text)
        meta = msgspec.structs.replace(found.workflow.metadata, name=uid, namespace="default")
        workflow = msgspec.structs.replace(found.workflow, metadata=meta)
        now = self.control.now()
        run = begin(workflow, found.spec, found.library, uid=uid, created_at=now)
        row = row_of(run, manifest=workflow, library=freeze(found.library))
        self.ledger.submit(row)
        self.control.add(run)
        self.control.send(uid, ev.RunStarted(at=now))
        await self.control.settle()

    async def stop(self, uid: str) -> None:
        """Do as ``tiphys stop``."""
        self.control.send(uid, ev.RunStopped(at=self.control.now(), strategy=STOP))
        await self.control.settle(uid)

    def end(self, attempt: AttemptId) -> None:
        """Say that a task has ended well."""
        end = TaskEnded(id=attempt, at=self.control.now(), phase="Succeeded")
        self.runtime.say([end])

    def phases(self, uid: str) -> set[str]:
        """Give the phases on record."""
        return {node.phase for node in self.store.nodes(uid)}

    async def kill(self) -> None:
        """End the loop and its timers."""
        assert self._turning is not None
        self._turning.cancel()
        await asyncio.wait({self._turning})
        for timer in self.control._timers.values():
            timer.cancel()


Story = Callable[[Server], Awaitable[None]]


def _restart(texts: dict[str, str], story: Story, *, away: float = 0.0) -> None:
    """Start runs, kill the server once each has one task, and tell the story of the next server."""

    async def live() -> None:
        world = World(Random(0), Faults(), 9, lambda task: None, MemoryStore())  # type: ignore[arg-type,return-value]
        first = Server(world)
        await first.begin()
        for uid, text in texts.items():
            await first.submit(text, uid)
        assert len(first.runtime.started) == len(texts)
        await first.kill()
        await asyncio.sleep(away)
        second = Server(world)
        await second.begin()
        assert sorted(second.runtime.attached) == sorted(first.runtime.started)
        await story(second)
        await second.kill()

    loop = VirtualLoop()
    try:
        loop.run_until_complete(asyncio.wait_for(live(), 1000.0))
    finally:
        loop.close()


def _now() -> float:
    return asyncio.get_running_loop().time()


def _leaf(more: str = "", spec: str = "") -> str:
    return flow(f"- name: main\n  container: {{image: x, command: [x]}}\n  {more}", spec=spec)


def test_a_stop_waits_for_the_answer_and_other_runs_do_not() -> None:
    async def story(server: Server) -> None:
        server.runtime.say([TaskStarted(id="b.1", at=_now())])
        begun = _now()
        await server.stop("b")
        assert server.phases("b") == {"Failed"}
        assert _now() - begun < 1
        stopping = asyncio.create_task(server.stop("a"))
        await server.control.settle()
        assert _now() - begun < 1
        assert server.phases("a") == {"Pending"}

        await asyncio.sleep(PATIENCE / 2)
        server.end("a.1")
        await stopping

        assert server.phases("a") == {"Succeeded"}
        assert _now() - begun < PATIENCE / 2 + 1

    _restart({"a": _leaf(), "b": _leaf()}, story)


def test_a_stop_does_not_wait_for_ever() -> None:
    async def story(server: Server) -> None:
        begun = _now()

        await server.stop("a")

        assert PATIENCE - 1 < _now() - begun < PATIENCE + 1
        assert server.store.rows["a"].phase == "Failed"
        assert server.phases("a") == {"Failed"}
        assert server.runtime.stopped == ["a.1"]

    _restart({"a": _leaf()}, story)


@pytest.mark.parametrize(
    "answer", [TaskStarted(id="a.1", at=0.0), TaskWaits(id="a.1", at=0.0, reason=None)]
)
def test_a_task_that_goes_on_is_stopped_as_soon_as_that_is_known(
    answer: TaskStarted | TaskWaits,
) -> None:
    async def story(server: Server) -> None:
        stopping = asyncio.create_task(server.stop("a"))
        await server.control.settle()
        begun = _now()

        server.runtime.say([answer])
        await stopping

        assert _now() - begun < 1
        assert server.runtime.stopped == ["a.1"]

    _restart({"a": _leaf()}, story)


LOCKED = "synchronization: {mutexes: [{name: m}]}"


@pytest.mark.parametrize(
    "text",
    [
        _leaf(spec="activeDeadlineSeconds: 60"),
        _leaf("timeout: 60s"),
        _leaf(LOCKED, spec="activeDeadlineSeconds: 60"),
        _leaf(f"timeout: 60s\n  {LOCKED}"),
    ],
    ids=["of the run", "of the task", "of the run, behind a lock", "of the task, behind a lock"],
)
def test_a_deadline_that_passed_while_nobody_was_up_waits_for_the_answer(text: str) -> None:
    async def story(server: Server) -> None:
        await asyncio.sleep(PATIENCE / 2)
        server.end("a.1")
        await server.control.settle()

        assert server.phases("a") == {"Succeeded"}
        assert server.store.rows["a"].phase == "Succeeded"

    _restart({"a": text}, story, away=100.0)


def test_a_task_that_is_late_and_silent_ends_at_last() -> None:
    async def story(server: Server) -> None:
        await asyncio.sleep(PATIENCE + 1)

        assert server.phases("a") == {"Failed"}
        assert server.runtime.stopped == ["a.1"]

    _restart({"a": _leaf(spec="activeDeadlineSeconds: 60")}, story, away=100.0)


def test_what_is_said_after_a_stop_is_done_after_it() -> None:
    async def story(server: Server) -> None:
        stopping = asyncio.create_task(server.stop("a"))
        await server.control.settle()
        server.control.send("a", ev.RunSuspended(at=server.control.now()))
        server.runtime.say([TaskStarted(id="a.1", at=_now())])
        await stopping

        assert server.store.rows["a"].shutdown == STOP
        assert server.store.rows["a"].phase == "Failed"

    _restart({"a": _leaf()}, story)
