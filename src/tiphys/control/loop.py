"""The loop: take all waiting events, step the engine, plan, commit once, perform.

Nothing is performed before it is committed, and everything that arrives while a commit is under
way goes into the next one. Results of what is performed come back as events. There is no other
loop and no other writer.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from tiphys.control.abroad import Abroad
from tiphys.control.locks import LockTable, Waiting
from tiphys.control.planning import Planning
from tiphys.control.record import Ledger
from tiphys.control.task import attempt_id, make_task
from tiphys.control.turn import Attempt, Observer, Turn, Watcher, end_of, event_of
from tiphys.control.unheard import PATIENCE, Unheard
from tiphys.control.waits import Waits
from tiphys.core.clock import Clock
from tiphys.engine import command as cm
from tiphys.engine import event as ev
from tiphys.engine.lifecycle import step, take_effects
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.errors import InvalidInputError, StoreError, StoreFullError
from tiphys.ports import (
    AttemptId,
    GangChanged,
    Instruction,
    Runtime,
    RuntimeEvent,
    TaskEnded,
    TaskStarted,
    TaskWaits,
)
from tiphys.scheduling import QueueTree, Scheduler
from tiphys.store import EventRow

STOP_GRACE = 30.0
LAST_WRITE = 5.0
ELSEWHERE = "it was started from another data directory, which no longer leads"


class Control:
    """Drives all runs of one data directory."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        runtime: Runtime,
        planning: Planning,
        clock: Clock,
        watcher: Watcher,
        abroad: Abroad | None = None,
    ) -> None:
        self.runs: dict[str, Run] = {}
        self._ledger = ledger
        self._runtime = runtime
        self._planning = planning
        self._clock = clock
        self._watcher = watcher
        ledger.say = watcher.note
        self._onlookers: list[Watcher] = []
        self._observers: list[Observer] = []
        self._locks = LockTable()
        self._waits = Waits()
        self._unheard = Unheard()
        self._inbox: deque[tuple[str, ev.Event]] = deque()
        self._results: deque[RuntimeEvent] = deque()
        self._abroad = abroad or Abroad()
        self._attempts: dict[AttemptId, Attempt] = {}
        self._busy: dict[str, int] = {}
        """How many attempts of each run are waiting or running."""
        self._timers: dict[tuple[str, str], asyncio.TimerHandle] = {}
        self._bell = asyncio.Event()
        self._settling: list[tuple[str, asyncio.Future[None]]] = []
        """Who waits until all is on record, and of which run what is held back, too."""
        self.full: StoreFullError | None = None
        """What is wrong while there is no room to put anything on record."""
        self._alarm: asyncio.TimerHandle | None = None
        self.moved = False
        """Whether restored runs were under way elsewhere: what became of them is not known here."""
        self._recovering = False
        self._claims: list[tuple[Run, cm.AcquireLocks]] = []
        """Locks that restored runs want but did not hold; asked for once all are restored."""
        self._ended: dict[str, asyncio.Event] = {}
        self._warned: set[str] = set()
        self._turn = Turn()

    # --- from outside -----------------------------------------------------------------------

    async def open(self) -> None:
        """Get the runtime ready."""
        await self._runtime.open(self._take_results)
        await self._abroad.open(self._bell.set, self._take_results)

    def add(self, run: Run) -> None:
        """Take a run in; its events follow."""
        self.runs[run.uid] = run
        self._ended[run.uid] = asyncio.Event()
        if run.ended:
            self._ended[run.uid].set()
        self._turn.headers[run.uid] = run

    def take(self, run: Run) -> None:
        """Do what a restored run asks for; whoever held a lock before comes first."""
        self._recovering = True
        self._unheard.enter(run.uid)
        self._gather(run, self._clock.now())
        self._bell.set()

    async def keep_only_ours(self) -> None:
        """After all runs were taken up: have attempts that belong to none of them ended."""
        await self._runtime.keep(self.ours())

    def ours(self) -> list[AttemptId]:
        """Give the attempts that belong to a run and are not over."""
        # Of the nodes, not of the attempts asked for so far: one that holds a lock is asked for
        # only when the lock table has answered.
        return [
            attempt_id(run, node.ours.attempt)
            for run in self.runs.values()
            for node in run.nodes.values()
            if node.ours.attempt and not node.ended
        ]

    def drop(self, uid: str) -> None:
        """Forget a run that turned out to be unreadable."""
        self.runs.pop(uid, None)
        self._ended.pop(uid, None)
        self._turn.headers.pop(uid, None)

    def send(self, uid: str, event: ev.Event) -> None:
        """Let an event happen to a run at the next turn, or once its attempts were heard of."""
        if not self._unheard.hold(uid, event):
            self._inbox.append((uid, event))
        self._bell.set()

    async def settle(self, uid: str = "") -> None:
        """Wait until everything sent so far is on record and asked for.

        What is held back until attempts were heard of is waited for only where it is for ``uid``.
        """
        if self.full is not None:
            raise self.full
        done = asyncio.get_running_loop().create_future()
        self._settling.append((uid, done))
        self._bell.set()
        await done

    def show_to(self, onlooker: Watcher) -> None:
        """Let one more see what happens; notes are for the first watcher alone."""
        self._onlookers.append(onlooker)

    def observe(self, observer: Observer) -> None:
        """Tell one more of decisions and turns."""
        self._observers.append(observer)

    @property
    def runtime(self) -> Runtime:
        """Runs the nodes."""
        return self._runtime

    @property
    def scheduler(self) -> Scheduler:
        """Decides what starts."""
        return self._planning.scheduler

    def queues_changed(self, tree: QueueTree) -> None:
        """Follow a change of queues."""
        self._planning.queues_changed(tree)
        self._bell.set()

    def explain(self, uid: str) -> list[dict[str, Any]]:
        """Say why nodes of a run wait."""
        run = self.runs.get(uid)
        if run is None:
            return []
        from tiphys.control.explain import lock_holders  # noqa: PLC0415 - only for who asks

        rows = self._planning.explain(run, self.now(), lock_holders(self._locks, self.runs))
        return self._waits.told(run, rows, attempt_id)

    def expected_seconds(self, uid: str) -> float | None:
        """How long a live run takes in all, by what its templates took before; None if unknown."""
        run = self.runs.get(uid)
        return None if run is None else self._planning.expected_seconds(run)

    def known_seconds(self, project: str) -> dict[str, float]:
        """What templates of a project took before, as ``scheduling.estimate`` calls them."""
        return self._planning.memory.of_project(project)

    def tell(self, run: Run, kind: str, text: str) -> None:
        """Note something about a run that people should know."""
        self._ledger.note(EventRow(uid=run.uid, at=self.now(), kind=kind, text=text))
        self._watcher.note(f"{run.name}: {text}")

    def clear(self, order: Instruction) -> None:
        """Have what a cluster keeps of a run that has ended removed."""
        self._abroad.clear(order)

    def now(self) -> float:
        """Tell the time."""
        return self._clock.now()

    async def ended(self, uid: str) -> None:
        """Wait until a run is over, on record, and nothing of it runs any more."""
        await self._ended[uid].wait()

    def _take_results(self, events: Sequence[RuntimeEvent]) -> None:
        self._results.extend(events)
        self._bell.set()

    # --- the loop ---------------------------------------------------------------------------

    async def serve(self) -> None:
        """Turn until cancelled."""
        try:
            while True:
                await self._bell.wait()
                self._bell.clear()
                await self.turn()
        except Exception as error:
            for _, future in self._settling:
                if not future.done():
                    future.set_exception(error)
            raise

    async def turn(self) -> None:
        """Do one turn: events, plan, one commit, perform."""
        now = self._clock.now()
        loop = asyncio.get_running_loop()
        begun = loop.time()
        self._digest(now)
        settling = self._who_may_go_on() if self._settling else []
        self._note_idle(now)
        self._plan(now)
        self._ledger.learn(self._planning.learnt(now))
        turn, self._turn = self._turn, Turn()

        def full(error: StoreFullError, refused: set[str]) -> None:
            self.full = error
            self._warn_once(f"{error}; going on as soon as there is room")
            self._give_up(turn, refused)
            for _, future in (*settling, *self._settling):
                if not future.done():
                    future.set_exception(error)

        planned = loop.time()
        try:
            await self._ledger.commit(turn.changed, turn.headers, turn.removed, full)
        except StoreError:
            self._settling.extend(settling)  # ``serve`` tells them.
            raise
        self.full = None
        committed = loop.time()
        await self._perform(turn)
        self._announce(turn)
        for observer in self._observers:
            observer.turned(committed - planned, loop.time() - begun)
        for _, future in settling:
            if not future.done():
                future.set_result(None)

    def _who_may_go_on(self) -> list[tuple[str, asyncio.Future[None]]]:
        """Take off the list who waits for this turn, and for nothing that is held back."""
        waiting, self._settling = self._settling, []
        found: list[tuple[str, asyncio.Future[None]]] = []
        for each in waiting:
            (self._settling if self._unheard.holds(each[0]) else found).append(each)
        return found

    def _note_idle(self, now: float) -> None:
        for uid in self._turn.idle | self._turn.headers.keys():
            run = self.runs.get(uid)
            if run is not None and not self._busy.get(uid):
                self._planning.idle(run, now)

    def _give_up(self, turn: Turn, uids: set[str]) -> None:
        """Forget new runs that could not be put on record."""
        for uid in uids:
            self.drop(uid)
            turn.headers.pop(uid, None)
            turn.changed.pop(uid, None)
        turn.starts = [task for task in turn.starts if task.workflow_uid not in uids]
        for key in [k for k, attempt in self._attempts.items() if attempt.run.uid in uids]:
            self._planning.withdraw(key)
            self._forget(key)

    def _digest(self, now: float) -> None:
        """Step the engine for all that has happened, to the end."""
        self._recovering = False
        claims, self._claims = self._claims, []
        for claimant, command in claims:
            self._acquire(claimant, command, now)
        for mirrored in self._abroad.reflect(self.runs):
            self._gather(mirrored, now)
        while self._results or self._inbox or self._unheard.due:
            while self._results:
                self._translate(self._results.popleft())
            self._inbox.extend(self._unheard.take_due())  # Behind the answers that it waited for.
            for run in self._step_all():
                self._gather(run, now)
        self._unheard.entered()
        if self._unheard.due:
            self._bell.set()

    def _step_all(self) -> list[Run]:
        """Let all events happen; give the runs that they happened to."""
        touched: dict[str, tuple[Run, bool]] = {}
        """With whether somebody else drives it, found out once for all of its events."""
        while self._inbox:
            uid, event = self._inbox.popleft()
            if uid not in touched:
                if uid not in self.runs:
                    continue
                touched[uid] = (self.runs[uid], self._abroad.drives(self.runs[uid]))
            run, elsewhere = touched[uid]
            if elsewhere:
                self._abroad.take(run, event)
            else:
                step(run, event)
        return [run for run, _ in touched.values()]

    def _translate(self, result: RuntimeEvent) -> None:
        """Turn news of a task into an event of its run."""
        self._unheard.hear(result.id)
        if isinstance(result, (TaskWaits, GangChanged)):
            self._note_wait(result)
            return
        if isinstance(result, (TaskStarted, TaskEnded)):
            self._waits.forget(result.id)
        attempt = self._attempts.get(result.id)
        if attempt is None:
            if isinstance(result, TaskEnded):
                self._turn.ended.append(result.id)
            return
        if not isinstance(result, TaskEnded):
            self._inbox.append((attempt.run.uid, event_of(result, attempt)))
            return
        self._release(result.id)
        self._turn.ended.append(result.id)
        self._inbox.append((attempt.run.uid, self._end(result, attempt)))

    def _note_wait(self, result: TaskWaits | GangChanged) -> None:
        row = self._waits.take(result)
        if row is not None and row.uid in self.runs:
            self._ledger.note(row)
        if isinstance(result, GangChanged) and result.news:
            for observer in self._observers:
                observer.ganged(result, self.runs.get(result.workflow_uid))

    def _end(self, result: TaskEnded, attempt: Attempt) -> ev.Event:
        run, node, number = attempt.run, attempt.command.node, attempt.command.attempt
        if not (result.stopped or result.again) or run.nodes[node].ended:
            return end_of(result, node, number)
        # Whoever stops a node for good ends it first, so this was to make room; perhaps before a
        # restart, which the reason does not survive.
        message = result.again or attempt.preempted or "stopped to make room for others"
        kind = "Lost" if result.again else "Preempted"
        if result.again:
            self._watcher.note(f"{run.nodes[node].name}: {message}")
        self._ledger.note(EventRow(uid=run.uid, at=result.at, kind=kind, node=node, text=message))
        return ev.NodePreempted(at=result.at, node=node, attempt=number, message=message)

    def _release(self, attempt: AttemptId) -> None:
        self._planning.finished(attempt)
        self._forget(attempt)

    def _forget(self, key: AttemptId) -> Attempt:
        attempt = self._attempts.pop(key)
        uid = attempt.run.uid
        self._busy[uid] -= 1
        self._turn.idle.add(uid)
        return attempt

    def _gather(self, run: Run, now: float) -> None:
        """Take over what the engine changed and wants."""
        effects = take_effects(run)
        if effects.nodes:
            self._changed(run, effects.nodes)
            for node in effects.nodes:
                if node.ended:
                    self._planning.observe(run, node)
        self._turn.removed.extend((run.uid, node_id) for node_id in effects.removed)
        if effects.header:
            self._turn.headers[run.uid] = run
        for command in effects.commands:
            self._order(run, command, now)

    def _changed(self, run: Run, nodes: Iterable[Node]) -> None:
        _, known = self._turn.changed.setdefault(run.uid, (run, {}))
        for node in nodes:
            known[node.id] = node

    def _order(self, run: Run, command: cm.Command, now: float) -> None:
        match command:
            case cm.StartNode():
                self._queue(run, command, now)
            case cm.StopNode():
                self._stop(attempt_id(run, command.attempt))
            case cm.WakeAt():
                self._wake(run, command)
            case cm.AcquireLocks():
                if self._recovering and not command.held:
                    self._claims.append((run, command))
                else:
                    self._acquire(run, command, now)
            case cm.ReleaseLocks():
                self._grant(self._freed(run, command.holder), now)
            case cm.ReadMemo():
                self._read_memo(run, command, now)
            case cm.SaveMemo():
                self._ledger.save_memo(run, command, now)
            case cm.EmitMetric():
                self._ledger.metrics.append((run.uid, command))

    # --- starting and stopping --------------------------------------------------------------

    def _queue(self, run: Run, command: cm.StartNode, now: float) -> None:
        key = attempt_id(run, command.attempt)
        self._attempts[key] = Attempt(run, command)
        self._busy[run.uid] = self._busy.get(run.uid, 0) + 1
        try:
            if command.again and run.nodes[command.node].ours.admitted:
                self._planning.adopt(run, command, now)
                self._attempts[key].running = True
                if self.moved:
                    lost = TaskEnded(id=key, at=now, phase="Error", message=ELSEWHERE, lost=True)
                    self._results.append(lost)
                else:
                    self._turn.attaches.append(make_task(run, command, now))
                    self._unheard.expect(key, run.uid)
                return
            refusal, warnings = self._planning.submit(run, command, now)
        except InvalidInputError as error:
            self._refuse(key, str(error), now)
            return
        for warning in warnings:
            self._warn_once(warning)
        if refusal:
            self._refuse(key, refusal, now)

    def _warn_once(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._watcher.note(text)

    def _refuse(self, key: AttemptId, message: str, now: float) -> None:
        attempt = self._forget(key)
        event = ev.NodeEnded(
            at=now,
            node=attempt.command.node,
            attempt=attempt.command.attempt,
            phase="Error",
            message=message,
        )
        self._inbox.append((attempt.run.uid, event))

    def _plan(self, now: float) -> None:
        """Ask the scheduler what may start; note on each node that it was let in."""
        plan = self._planning.plan(now)
        for note in self._planning.notes:
            self._warn_once(note)
        if plan:
            for observer in self._observers:
                observer.planned(plan, now)
        for preemption in plan.preempts:
            victim = self._attempts[preemption.victim]
            victim.preempted = preemption.told(
                self._called(preemption.victim), self._called(preemption.beneficiary)
            )
            self._turn.stops.append(preemption.victim)
            self._watcher.note(victim.preempted)
        for work_id in plan.starts:
            attempt = self._attempts[work_id]
            node = attempt.run.nodes[attempt.command.node]
            attempt.running = True
            node.ours.admitted = True
            self._changed(attempt.run, (node,))
            self._turn.starts.append(make_task(attempt.run, attempt.command, now))
        self._plan_again(now)

    def _called(self, key: AttemptId) -> str:
        attempt = self._attempts.get(key)
        return key if attempt is None else attempt.run.nodes[attempt.command.node].name

    def _plan_again(self, now: float) -> None:
        """Have the scheduler asked again when time alone changes its mind."""
        at = self._planning.wake_at()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if at is not None:
            loop = asyncio.get_running_loop()
            self._alarm = loop.call_later(max(0.0, at - now), self._bell.set)

    def _stop(self, key: AttemptId) -> None:
        attempt = self._attempts.get(key)
        if attempt is None:
            return
        if attempt.running:
            attempt.preempted = ""
            self._turn.stops.append(key)
        else:
            self._planning.withdraw(key)
            self._forget(key)

    async def _perform(self, turn: Turn) -> None:
        """Do what was committed."""
        if turn.attaches:
            await self._runtime.attach(turn.attaches)
            asked = [task.id for task in turn.attaches]
            asyncio.get_running_loop().call_later(PATIENCE, self._stop_listening, asked)
        if turn.starts:
            await self._runtime.start(turn.starts)
        if turn.stops:
            await self._runtime.stop(turn.stops, grace=STOP_GRACE)
        if turn.ended:
            await self._runtime.acknowledge(turn.ended)
        await self._abroad.perform()

    def _stop_listening(self, attempts: Sequence[AttemptId]) -> None:
        """Let what waits to hear of these attempts wait no longer."""
        for attempt in attempts:
            self._unheard.hear(attempt)
        if self._unheard.due:
            self._bell.set()

    def _announce(self, turn: Turn) -> None:
        changed = [(run, tuple(nodes.values())) for run, nodes in turn.changed.values()]
        for watcher in (self._watcher, *self._onlookers):
            for run in turn.headers.values():
                watcher.workflow(run)
            for run, nodes in changed:
                watcher.nodes(run, nodes)
        for uid in (*turn.headers, *turn.idle):
            known = self.runs.get(uid)
            if known is not None and known.ended and not self._busy.get(uid):
                self._ended[uid].set()
                self._busy.pop(uid, None)
                del self.runs[uid]

    # --- time, locks, memory ----------------------------------------------------------------

    def _wake(self, run: Run, command: cm.WakeAt) -> None:
        key = (run.uid, command.node)
        known = self._timers.pop(key, None)
        if known is not None:
            known.cancel()
        delay = max(0.0, command.at - self._clock.now())
        loop = asyncio.get_running_loop()
        self._timers[key] = loop.call_later(delay, self._ring, key, command.at)

    def _ring(self, key: tuple[str, str], at: float) -> None:
        del self._timers[key]
        self.send(key[0], ev.Woken(at=max(at, self._clock.now()), node=key[1]))

    def _acquire(self, run: Run, command: cm.AcquireLocks, now: float) -> None:
        holder = (run.uid, command.holder)
        answer = self._locks.acquire(
            holder,
            command.locks,
            priority=command.priority,
            created_at=run.created_at,
            held=command.held,
        )
        event: ev.Event
        if isinstance(answer, Waiting):
            event = ev.LocksAwaited(
                at=now, holder=command.holder, lock=answer.lock, message=answer.message
            )
        else:
            event = ev.LocksGranted(at=now, holder=command.holder)
        self._inbox.append((run.uid, event))

    def _freed(self, run: Run, holder: str) -> list[tuple[str, str]]:
        if holder == "*":
            return self._locks.release_run(run.uid)
        return self._locks.release((run.uid, holder))

    def _grant(self, holders: Iterable[tuple[str, str]], now: float) -> None:
        for uid, holder in holders:
            self._inbox.append((uid, ev.LocksGranted(at=now, holder=holder)))

    def _read_memo(self, run: Run, command: cm.ReadMemo, now: float) -> None:
        outputs = self._ledger.read_memo(run, command, now)
        event = ev.MemoRead(at=now, node=command.node, hit=outputs is not None, outputs=outputs)
        self._inbox.append((run.uid, event))

    async def close(self) -> None:
        """Let go of the runtime and the timers; tasks keep running. What was learnt is kept."""
        learnt = self._planning.learnt(self._clock.now(), last=True)
        if learnt and self.full is None and self._ledger.away is None:
            self._ledger.learn(learnt)
            with suppress(StoreError, TimeoutError):
                async with asyncio.timeout(LAST_WRITE):
                    await self._ledger.commit({}, {}, [], lambda _, __: None)
        for timer in self._timers.values():
            timer.cancel()
        await self._runtime.close()
        await self._abroad.close()

    def stop_everything(self, strategy: ev.Shutdown) -> None:
        """Ask all runs to end."""
        for uid, run in self.runs.items():
            if not run.ended:
                self.send(uid, ev.RunStopped(at=self._clock.now(), strategy=strategy))
