"""Runs that somebody else's engine drives: what people ask goes there, what is heard comes here.

To the loop such a run is like any other: it is in ``runs``, its changes are committed and shown.
Only that its events become orders in place of steps of our engine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from tiphys.control.task import scheduler_of
from tiphys.engine import event as ev
from tiphys.engine.node import NodeType, Phase
from tiphys.engine.run import Run
from tiphys.ports import (
    Dispatch,
    Dispatcher,
    GangChanged,
    Instruction,
    Mirrored,
    is_dispatched,
)
from tiphys.scheduling.admission import queue_of
from tiphys.spec import model

replace = msgspec.structs.replace


def is_abroad(run: Run) -> bool:
    """Whether a run is driven by somebody else."""
    return is_dispatched(run.workflow.metadata.labels)


def order_of(run: Run, event: ev.Event) -> Dispatch | Instruction | None:
    """Say what an event of such a run asks of the other engine."""
    meta = run.workflow.metadata
    match event:
        case ev.RunStarted():
            return Dispatch(
                uid=run.uid,
                name=run.name,
                namespace=run.namespace,
                scheduler=scheduler_of(run),
                workflow=_whole(run),
                known=run.started_at is not None,
                attempts={
                    node.id: node.ours.attempt for node in run.nodes.values() if node.ours.attempt
                },
                queue=queue_of(meta.labels, meta.annotations),
                priority_class=run.spec.pod_priority_class_name,
            )
        case ev.RunStopped():
            terminates = event.strategy is ev.Shutdown.TERMINATE
            return _instruction(run, "terminate" if terminates else "stop")
        case ev.RunSuspended():
            return _instruction(run, "suspend")
        case ev.RunResumed():
            given = _instruction(run, "resume")
            return replace(given, nodes=event.nodes, outputs=event.outputs, message=event.message)
    return None


def _instruction(run: Run, verb: str) -> Instruction:
    return Instruction(
        uid=run.uid,
        name=run.name,
        namespace=run.namespace,
        verb=verb,
        scheduler=scheduler_of(run),
    )


def _whole(run: Run) -> model.Workflow:
    """Give the workflow as submitted, or with its template merged in if it names one."""
    workflow = run.workflow
    if workflow.spec.workflow_template_ref is None:
        return workflow
    return replace(workflow, spec=replace(run.spec, workflow_template_ref=None))


def note_order(run: Run, event: ev.Event) -> None:
    """Keep what was asked for, so that it shows at once and survives."""
    if isinstance(event, ev.RunStarted) and not run.phase:
        run.phase = "Pending"
        run.header_changed = True
    if isinstance(event, ev.RunStopped):
        run.shutdown = event.strategy
        run.header_changed = True
    if isinstance(event, ev.RunSuspended) or (isinstance(event, ev.RunResumed) and run.suspended):
        run.suspended = isinstance(event, ev.RunSuspended)
        run.header_changed = True


def apply_mirror(run: Run, news: Mirrored) -> None:
    """Have a run look as the other engine says."""
    for node in news.nodes:
        run.nodes[node.id] = node
        run.changed[node.id] = node
    run.phase, run.message = news.phase or run.phase, news.message
    run.started_at = run.started_at or news.started_at
    run.finished_at = news.finished_at
    run.outputs, run.suspended = news.outputs, news.suspended
    if run.ended:
        _end_the_rest(run, news)
    pods = [node for node in run.nodes.values() if node.type is NodeType.POD]
    run.pods, run.pods_done = len(pods), sum(node.ended for node in pods)
    run.header_changed = True


def _end_the_rest(run: Run, news: Mirrored) -> None:
    """End nodes of which nothing more will be heard: their workflow was deleted there."""
    for node in run.nodes.values():
        if not node.ended:
            node.phase, node.message = Phase.ERROR, news.message
            node.finished_at = news.finished_at
            if node.ours.job is not None:
                from tiphys.engine.jobleaf import give_up  # noqa: PLC0415 - few runs have one

                give_up(node, news.at)
            run.changed[node.id] = node


class Abroad:
    """The part of the loop that has to do with such runs.

    The dispatcher of a scheduler is made when the first workflow for it comes. Orders are gathered
    in a turn and performed after its commit.
    """

    def __init__(self, make: Callable[[str], Dispatcher] | None = None) -> None:
        self._make = make
        self._dispatchers: dict[str, Dispatcher] = {}
        self._ring: Callable[[], None] = lambda: None
        self._take: Callable[[Sequence[GangChanged]], None] = lambda _: None
        self._news: deque[Mirrored] = deque()
        self._orders: list[Dispatch | Instruction] = []
        self.cleared: Callable[[Mirrored], None] = lambda _: None
        """Hears what became of orders to remove something."""

    async def open(
        self, ring: Callable[[], None], take: Callable[[Sequence[GangChanged]], None]
    ) -> None:
        """Remember how to wake the loop, and who hears of gangs."""
        self._ring, self._take = ring, take

    def drives(self, run: Run) -> bool:
        """Whether events of a run are to be taken here: it is driven elsewhere."""
        return self._make is not None and is_abroad(run)

    def take(self, run: Run, event: ev.Event) -> None:
        """Make an event of such a run an order."""
        order = order_of(run, event)
        if order is not None:
            self._orders.append(order)
        note_order(run, event)

    def reflect(self, runs: Mapping[str, Run]) -> Iterator[Run]:
        """Give the runs of which something was heard, as they look now."""
        while self._news:
            news = self._news.popleft()
            run = runs.get(news.uid)
            if run is not None:
                apply_mirror(run, news)
                yield run

    async def perform(self) -> None:
        """Pass on what this turn has asked for."""
        orders, self._orders = self._orders, []
        if not orders:
            return
        for scheduler in dict.fromkeys(each.scheduler for each in orders):
            dispatcher = await self._of(scheduler)
            own = [each for each in orders if each.scheduler == scheduler]
            await dispatcher.dispatch([each for each in own if isinstance(each, Dispatch)])
            await dispatcher.instruct([each for each in own if isinstance(each, Instruction)])

    async def _of(self, scheduler: str) -> Dispatcher:
        if scheduler not in self._dispatchers:
            assert self._make is not None
            self._dispatchers[scheduler] = self._make(scheduler)
            await self._dispatchers[scheduler].open(self._hear)
        return self._dispatchers[scheduler]

    def clear(self, order: Instruction) -> None:
        """Have what was made for a run that has ended removed there."""
        if self._make is not None:
            self._orders.append(order)
            self._ring()

    def _hear(self, news: Sequence[Mirrored]) -> None:
        for each in news:
            if each.gang is not None:
                self._take([each.gang])
            elif each.cleared is None:
                self._news.append(each)
            else:
                self.cleared(each)
        self._ring()

    async def close(self) -> None:
        """Let go; the workflows go on."""
        await self.perform()
        for dispatcher in self._dispatchers.values():
            await dispatcher.close()
