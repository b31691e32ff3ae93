"""Runs that another engine drives, after a crash: what people asked for is asked for again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tiphys.control.abroad import Abroad
from tiphys.control.host import SystemClock
from tiphys.control.loop import Control
from tiphys.control.planning import Planning
from tiphys.control.record import Ledger, row_of
from tiphys.control.recover import revive
from tiphys.control.server import Quiet
from tiphys.control.submit import freeze
from tiphys.engine import event as ev
from tiphys.engine.lifecycle import begin
from tiphys.ports import (
    ARGO_DEFAULT,
    CONTROLLER_LABEL,
    SCHEDULER_LABEL,
    VOLCANO,
    Dispatch,
    Instruction,
    MirrorSink,
)
from tiphys.scheduling import Resources
from tiphys.spec import model
from tiphys.spec.library import Library
from tiphys.store import Store
from tiphys.testing.idle import IdleRuntime

ARGO = {SCHEDULER_LABEL: ARGO_DEFAULT}
FLOW = {SCHEDULER_LABEL: VOLCANO, CONTROLLER_LABEL: VOLCANO}
STOP, TERMINATE = (
    ev.RunStopped(at=2.0, strategy=ev.Shutdown.STOP),
    ev.RunStopped(at=2.0, strategy=ev.Shutdown.TERMINATE),
)


class Notebook:
    """An engine that writes down what it is asked and does nothing."""

    def __init__(self) -> None:
        self.orders: list[str] = []

    async def open(self, sink: MirrorSink) -> None:
        """Tell nothing."""

    async def dispatch(self, orders: Sequence[Dispatch]) -> None:
        self.orders += ["dispatch" for _ in orders]

    async def instruct(self, instructions: Sequence[Instruction]) -> None:
        self.orders += [each.verb for each in instructions]

    async def close(self) -> None:
        """Let go."""


class Process:
    """One life of a host."""

    def __init__(self, folder: Path) -> None:
        self.engine = Notebook()
        clock = SystemClock()
        self.ledger = Ledger(Store.open(folder, owner=True))
        self.control = Control(
            ledger=self.ledger,
            runtime=IdleRuntime(clock),
            planning=Planning(Resources(cpu=4000, memory=2**32, pods=64)),
            clock=clock,
            watcher=Quiet(),
            abroad=Abroad(lambda _: self.engine),
        )

    async def submit(self, labels: dict[str, str], *events: ev.Event) -> None:
        meta = model.ObjectMeta(name="w", namespace="default", labels=labels)
        main = model.Template(name="main", container=model.Container(image="x"))
        spec = model.WorkflowSpec(entrypoint="main", templates=(main,))
        workflow, library = model.Workflow(metadata=meta, spec=spec), Library()
        run = begin(workflow, spec, library, uid="u", created_at=1.0)
        self.ledger.submit(row_of(run, manifest=workflow, library=freeze(library)))
        self.control.add(run)
        for event in (ev.RunStarted(at=1.0), *events):
            self.control.send(run.uid, event)
            await self.control.turn()

    async def take_up(self) -> None:
        store = self.ledger.store
        (row,) = store.unfinished()
        assert revive(store, row, self.control, self.ledger) is not None
        await self.control.turn()


@pytest.mark.parametrize("labels", [ARGO, FLOW], ids=["Argo", "Volcano"])
@pytest.mark.parametrize(
    ("asked", "orders"),
    [
        ((), []),
        ((STOP,), ["stop"]),
        ((STOP, TERMINATE), ["terminate"]),
        ((ev.RunSuspended(at=2.0),), ["suspend"]),
        ((ev.RunSuspended(at=2.0), ev.RunResumed(at=3.0)), []),
    ],
    ids=["nothing", "stop", "terminate", "suspend", "resumed"],
)
def test_what_was_asked_before_a_crash_is_asked_again(
    labels: dict[str, str], asked: tuple[ev.Event, ...], orders: list[str], tmp_path: Path
) -> None:
    async def live_twice() -> list[str]:
        first = Process(tmp_path)
        await first.control.open()
        await first.submit(labels, *asked)
        first.ledger.close()  # And no more: the engine has heard of nothing.
        second = Process(tmp_path)
        await second.control.open()
        await second.take_up()
        second.ledger.close()
        return second.engine.orders

    assert asyncio.run(live_twice()) == ["dispatch", *orders]
