"""Tells a cluster of our own engine's workflows that have a queue there, and hears what Kueue says.

A watcher of the control loop. For each such workflow it keeps one object up to date
(``kueue/owner.py``): after every turn all leaves that it started, at once. What the controller
writes into the object becomes events of the run. It holds no truth: what is lost with this process
is told again by the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from tiphys.engine import event as ev
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.errors import ClusterError
from tiphys.kube.client import FOREVER, Client
from tiphys.kube.watch import Changed, Gone, Listed, watch
from tiphys.kueue import label
from tiphys.kueue.owner import (
    HELD,
    Json,
    Status,
    is_held,
    released,
    wants_suspension,
    write_owner,
    write_status,
)
from tiphys.kueue.roster import Roster

LAST_WORDS = 10.0
_PAUSE = 5.0
_SWEPT_EVERY = 600.0
_ENDED_AT = "tiphys.dev/finished-at"
Send = Callable[[str, ev.Event], None]


class Herald:
    """Speaks for all runs of one host on one cluster."""

    def __init__(
        self, client: Client, owner: tuple[str, str], send: Send, clock: Callable[[], float]
    ) -> None:
        self._client, self._send, self._clock = client, send, clock
        self._label, self._value = owner
        """By which our objects are told from those of others."""
        self.namespace = ""
        """Where all Jobs are made, if not in the workflows' own namespaces."""
        self.kept = 3600.0
        """Seconds for which the object of a workflow that has ended stays."""
        self.note: Callable[[str], None] = lambda _: None
        """Who hears of trouble."""
        self.phase_of: Callable[[str], str] = lambda _: ""
        """Tells how a workflow of an earlier process has ended; "" where it has not."""
        self._rosters: dict[str, Roster] = {}
        self._heard: dict[str, tuple[bool, frozenset[str]]] = {}
        self._dirty: set[str] = set()
        self._busy: set[str] = set()
        self._watched: set[str] = set()
        self._said: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writes: set[asyncio.Task[None]] = set()

    # --- from the loop ----------------------------------------------------------------------

    def workflow(self, run: Run) -> None:
        """Take up a run, or its end."""
        roster = self._roster_of(run)
        wanted, _ = self._heard.get(run.uid, (False, frozenset()))
        held = run.suspended and wanted
        if roster.take_run(run) or held != roster.held:
            roster.held = held
            self._soon(run.uid)

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        """Take up what became of leaves."""
        roster = self._roster_of(run)
        if roster.take_nodes(run, nodes):
            self._soon(run.uid)

    def _roster_of(self, run: Run) -> Roster:
        known = self._rosters.get(run.uid)
        if known is None:
            namespace = self.namespace or run.namespace
            known = self._rosters[run.uid] = Roster(run, namespace)
            # A run that was restored has leaves that nobody will tell of.
            known.take_nodes(run, tuple(run.nodes.values()))
            self.listen(namespace)
        return known

    def listen(self, namespace: str) -> None:
        """Hear what is said in a namespace, and look after what was left there."""
        if namespace not in self._watched:
            self._watched.add(namespace)
            self._spawn(self._listen(namespace))
            self._spawn(self._sweep_always(namespace))

    async def close(self) -> None:
        """Say the last words, and leave; the objects stay."""
        if self._writes:
            await asyncio.wait(self._writes, timeout=LAST_WORDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.close()

    # --- to the cluster ---------------------------------------------------------------------

    def _soon(self, uid: str) -> None:
        """Have a workflow's object written; what changes meanwhile goes into the next writing."""
        self._dirty.add(uid)
        if uid not in self._busy:
            self._busy.add(uid)
            self._begin_write(self._write(uid))

    def _begin_write(self, job: Coroutine[Any, Any, None]) -> None:
        task = self._spawn(job)
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def _write(self, uid: str) -> None:
        try:
            while uid in self._dirty:
                self._dirty.discard(uid)
                try:
                    await self._publish(self._rosters[uid])
                except ClusterError as error:
                    self._complain(f"Kueue is not told of {self._rosters[uid].name}: {error}")
                    self._dirty.add(uid)
                    await asyncio.sleep(_PAUSE)
        finally:
            self._busy.discard(uid)
        roster = self._rosters[uid]
        if roster.status.phase and roster.has_ended:
            del self._rosters[uid]
            self._heard.pop(uid, None)

    def _complain(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self.note(text)

    async def _publish(self, roster: Roster) -> None:
        path = _collection(roster.namespace)
        notes = {_ENDED_AT: self._instant() if roster.has_ended else None}
        data = write_status(roster.status)
        if roster.uid in self._heard:  # Else an earlier process knew better.
            data[HELD] = "true" if roster.held else "false"
        change: Json = {"data": data, "metadata": {"annotations": notes}}
        if not roster.is_told:
            labels = {**roster.labels, label.WORKFLOW_UID: roster.uid, self._label: self._value}
            thing = write_owner(roster.name, labels, roster.notes)
            try:
                await self._client.create(path, thing, patience=FOREVER)
            except ClusterError as error:
                if error.reason != "AlreadyExists":
                    raise
        await self._client.patch(f"{path}/{roster.name}", change, patience=FOREVER)
        roster.is_told = True

    async def _sweep_always(self, namespace: str) -> None:
        while True:
            await self._sweep(namespace)
            await asyncio.sleep(_SWEPT_EVERY)

    async def _sweep(self, namespace: str) -> None:
        """Remove objects of workflows that ended long ago, and their Workloads with them."""
        query = {"labelSelector": f"{self._label}={self._value},{label.QUEUE}"}
        with suppress(ClusterError, ValueError):
            found = await self._client.get(_collection(namespace), query)
            for item in found.get("items") or ():
                meta = item["metadata"]
                at = (meta.get("annotations") or {}).get(_ENDED_AT)
                if at and datetime.fromisoformat(at).timestamp() + self.kept < self._clock():
                    await self._client.delete(f"{_collection(namespace)}/{meta['name']}")

    # --- from the cluster -------------------------------------------------------------------

    async def _listen(self, namespace: str) -> None:
        selector = f"{self._label}={self._value},{label.QUEUE}"
        while True:
            with suppress(ClusterError):
                async for news in watch(self._client, _collection(namespace), selector=selector):
                    self._take(news)
            await asyncio.sleep(_PAUSE)

    def _take(self, news: Listed | Changed | Gone) -> None:
        match news:
            case Listed(items):
                for item in items:
                    self._safely(self._hear, item)
            case Changed(thing):
                self._safely(self._hear, thing)
            case Gone(thing):
                self._safely(self._miss, thing)

    def _safely(self, take: Callable[[Json], None], thing: Json) -> None:
        """One object that makes no sense must not make us deaf."""
        try:
            take(thing)
        except Exception as error:
            name = thing["metadata"]["name"]
            self._complain(
                f"Kueue's word on {name} makes no sense: {type(error).__name__}: {error}"
            )

    def _hear(self, thing: Json) -> None:
        """Pass on what the controller wants, where it wants something else than before."""
        uid = (thing["metadata"].get("labels") or {}).get(label.WORKFLOW_UID, "")
        roster = self._rosters.get(uid)
        if roster is None:
            self._bury(uid, thing)
            return
        wanted = (wants_suspension(thing), frozenset(released(thing)))
        before = self._heard.get(uid, (is_held(thing), frozenset()))
        self._heard[uid] = wanted
        roster.held = wanted[0] and roster.is_suspended
        if wanted[0] != before[0]:
            now = self._clock()
            event = ev.RunSuspended(at=now) if wanted[0] else ev.RunResumed(at=now, pauses=False)
            self._send(uid, event)
        nodes = roster.waiting_in(wanted[1])
        if nodes:
            self._send(uid, ev.RunResumed(at=self._clock(), nodes=nodes))

    def _bury(self, uid: str, thing: Json) -> None:
        """Tell of an end that an earlier process had no time for: its quota is still taken."""
        meta = thing["metadata"]
        if _ENDED_AT not in (meta.get("annotations") or {}) and (phase := self.phase_of(uid)):
            path = f"{_collection(meta['namespace'])}/{meta['name']}"
            notes = {_ENDED_AT: self._instant()}
            change = {"data": write_status(Status(phase)), "metadata": {"annotations": notes}}
            self._begin_write(self._patch(path, change))

    async def _patch(self, path: str, change: Json) -> None:
        try:
            await self._client.patch(path, change, patience=FOREVER)
        except ClusterError as error:
            self._complain(f"{path}: {error}")

    def _instant(self) -> str:
        return datetime.fromtimestamp(int(self._clock()), UTC).isoformat()

    def _miss(self, thing: Json) -> None:
        """Make an object again that somebody has deleted under a workflow."""
        uid = (thing["metadata"].get("labels") or {}).get(label.WORKFLOW_UID, "")
        roster = self._rosters.get(uid)
        if roster is not None and roster.is_told:
            roster.is_told = False
            self._soon(uid)

    def _spawn(self, job: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(job)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _collection(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"
