"""Flows for Volcano's own JobFlow controller: made there, watched, and mirrored.

Only plain flows come here (``spec.volcano.plain``). The controller decides what starts; how a flow
stands is read from its Jobs and pods, because the flow's own status stops telling the truth once a
Job has failed. A flow that is stopped becomes ``Terminating``, which upstream's controller leaves
alone, and its Jobs are terminated by commands. Deleting a flow deletes everything made for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from tiphys.dispatch.volcano_making import Maker, deleted
from tiphys.dispatch.volcano_mirror import FlowMirror, is_over
from tiphys.dispatch.volcano_object import OF_FLOW, drops_jobs, flows_path
from tiphys.engine.event import JobSeen
from tiphys.engine.node import Node, Phase
from tiphys.errors import ClusterError, TiphysError
from tiphys.executor.clock import now
from tiphys.kube.client import FOREVER, MERGE, Client
from tiphys.kube.link import Link
from tiphys.kube.remark import Try
from tiphys.ports import (
    GANG_GONE,
    Dispatch,
    GangChanged,
    Instruction,
    Mirrored,
    MirrorSink,
    RuntimeEvent,
)
from tiphys.runtimes.kubernetes_config import KubernetesConfig
from tiphys.runtimes.kubernetes_gangs import Gangs
from tiphys.runtimes.kubernetes_job import owner_of
from tiphys.runtimes.volcano_crew import Crew
from tiphys.runtimes.volcano_lookout import VolcanoLookout, is_of
from tiphys.runtimes.volcano_object import JOB_NAME, WORKFLOW_ID, job_of_group, vcjobs_path
from tiphys.runtimes.volcano_order import order as order_job

Json = dict[str, Any]
LOG_CAP = 256 * 1024 * 1024
LAST_WORDS = 5.0
QUIET = 15.0
_BACKGROUND = {"propagationPolicy": "Background"}
_STOPPED = ("Terminating", "Failed")


class _Entry:
    """One flow that was handed over."""

    def __init__(self, order: Dispatch, namespace: str, folder: Path) -> None:
        self.order, self.namespace = order, namespace
        self.mirror = FlowMirror(order.name, order.workflow.spec)
        self.flow: Json | None = None
        self.stopping = self.concluding = False
        self.why = ""
        self.crews: dict[str, Crew] = {}
        self._folder = folder

    @property
    def phase(self) -> str:
        """Upstream's word for how the flow is."""
        return str((((self.flow or {}).get("status") or {}).get("state") or {}).get("phase") or "")

    def step_of(self, job: str) -> str:
        """Give the step whose Job has this name; "" where none has."""
        step = job.removeprefix(f"{self.order.name}-")
        return step if step in self.mirror.steps and step != job else ""

    def crew_of(self, step: str) -> Crew:
        """Give what is known of a step's Job."""
        if step not in self.crews:
            folder = self._folder / f"{self.order.uid}.{self.mirror.numbers[step]}"
            crew = self.crews[step] = Crew(self.namespace, f"{self.order.name}-{step}", folder)
            crew.open()
        return self.crews[step]

    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        phases = {step: crew.phase for step, crew in self.crews.items()}
        needs = {name: task.dependencies for name, task in self.mirror.steps.items()}
        return is_over(phases, needs, inert=self.stopping or self.phase in _STOPPED)


class VolcanoDispatcher:
    """Hands flows to Volcano."""

    def __init__(self, data: Path, config: KubernetesConfig) -> None:
        self._data, self._config = data, config
        self._sink: MirrorSink = lambda _: None
        self._link = Link(kubeconfig=config.kubeconfig, context=config.context)
        self._spawn = self._link.spawn
        self._lookout: VolcanoLookout | None = None
        self._gangs: Gangs | None = None
        self._groups: dict[str, str] = {}
        """Whose the PodGroups are that we have heard of; one may outlive its flow."""
        self._entries: dict[str, _Entry] = {}
        self._making = asyncio.Lock()
        """Flows share templates: one after another."""

    # --- ports.Dispatcher -------------------------------------------------------------------

    async def open(self, sink: MirrorSink) -> None:
        """Remember who listens; the cluster is asked for when there is something for it."""
        self._sink = sink

    async def dispatch(self, orders: Sequence[Dispatch]) -> None:
        """Make each flow, or find it."""
        for order in orders:
            if order.uid not in self._entries:
                namespace = self._config.namespace or order.namespace
                folder = self._data / "attempts" / order.uid
                try:
                    entry = _Entry(order, namespace, folder)
                except Exception as error:  # What is on record may be no flow: it ends, no more.
                    message = f"this is no flow: {type(error).__name__}: {error}"
                    self._sink([_ended(order.uid, message)])
                    continue
                self._entries[order.uid] = entry
                self._spawn(self._make(entry))

    async def instruct(self, instructions: Sequence[Instruction]) -> None:
        """Stop flows, or remove what was made for them."""
        for each in instructions:
            if each.verb == "delete":
                self._spawn(self._remove(each), owed=True)
            elif each.verb in ("stop", "terminate"):
                self._spawn(self._stop(each), owed=True)

    async def close(self) -> None:
        """Hang up; Volcano goes on."""
        await self._link.close(LAST_WORDS)

    # --- making -----------------------------------------------------------------------------

    async def _make(self, entry: _Entry) -> None:
        try:
            client, lookout = self._connect()
            await lookout.watch(entry.namespace)
            assert self._gangs is not None
            self._gangs.watch(entry.namespace)
            async with self._making:
                maker = Maker(client, entry.namespace, owner_of(self._data), self._config.policy)
                # What is to end is not begun any more, only found.
                known = entry.order.known or entry.stopping
                order = msgspec.structs.replace(entry.order, known=known)
                entry.flow = await maker.make(order, partial(self._is_used, entry))
        except (TiphysError, OSError) as error:
            if entry.stopping and not entry.order.known:
                self._give_up(entry, entry.why, phase="Failed")
            else:
                self._give_up(entry, str(error))
            return
        except Exception as error:  # A defect of ours must not leave a flow running for ever.
            self._give_up(entry, f"{type(error).__name__}: {error}")
            return
        entry.stopping = entry.stopping or entry.phase == "Terminating"
        self._tell(entry, entry.mirror.begin(now()))
        for job in lookout.jobs_of(entry.namespace, entry.flow):
            self._see_job(entry, job, gone=False)
        if entry.stopping:
            await self._halt(entry)
        self._look(entry)

    def _is_used(self, entry: _Entry, template: str) -> bool:
        """Whether another flow under way needs a template as it is."""
        others = [each for each in self._entries.values() if each is not entry]
        return any(
            each.namespace == entry.namespace and template in each.mirror.steps for each in others
        )

    def _give_up(self, entry: _Entry, message: str, phase: str = "Error") -> None:
        if self._entries.pop(entry.order.uid, None) is not None and not self._link.closed:
            self._sink([_ended(entry.order.uid, message, phase)])

    # --- following --------------------------------------------------------------------------

    def _take_flow(self, namespace: str, flow: Json, gone: bool) -> None:
        entry = self._entries.get((flow["metadata"].get("labels") or {}).get(WORKFLOW_ID, ""))
        if entry is None or entry.namespace != namespace or entry.flow is None:
            return
        entry.flow = flow
        if gone and not entry.concluding:
            self._give_up(entry, deleted(entry.order.name))
            return
        self._look(entry)

    def _take_job(self, namespace: str, job: Json, gone: bool) -> None:
        for entry in self._owners(namespace, job):
            self._see_job(entry, job, gone=gone)
            self._look(entry)

    def _owners(self, namespace: str, job: Json) -> list[_Entry]:
        return [
            entry
            for entry in self._entries.values()
            if entry.namespace == namespace and entry.flow is not None and is_of(job, entry.flow)
        ]

    def _see_job(self, entry: _Entry, job: Json, *, gone: bool) -> None:
        step = entry.step_of(job["metadata"]["name"])
        if not step or entry.concluding:
            return
        assert self._lookout is not None
        crew = entry.crew_of(step)
        fresh = crew.job is None or crew.job["metadata"]["uid"] != job["metadata"]["uid"]
        crew.take_job(job, gone=gone)
        if fresh:
            for pod in self._lookout.pods_of(entry.namespace, job):
                crew.take_pod(pod, gone=False)
            if entry.stopping:
                self._spawn(self._terminate(crew), owed=True)
        self._show(entry, step)

    def _take_pod(self, namespace: str, pod: Json, gone: bool) -> None:
        name = (pod["metadata"].get("labels") or {}).get(JOB_NAME, "")
        for entry in list(self._entries.values()):
            step = entry.step_of(name)
            crew = entry.crews.get(step) if entry.namespace == namespace else None
            if crew is not None and crew.job is not None and is_of(pod, crew.job):
                crew.take_pod(pod, gone=gone)
                if self._gangs is not None:
                    self._gangs.take_pod(namespace, pod)
                self._show(entry, step)
                self._look(entry)

    def _members(self, namespace: str, group: str) -> tuple[()] | None:
        """Tell whether a PodGroup is of a flow of ours; its tasks are no attempts of an engine."""
        job = job_of_group(group)
        for uid, entry in self._entries.items():
            if entry.namespace == namespace and entry.step_of(job):
                self._groups[group] = uid
        return () if group in self._groups else None

    def _take_gangs(self, changes: Sequence[RuntimeEvent]) -> None:
        for each in changes:
            assert isinstance(each, GangChanged)
            uid = self._groups[each.gang]
            if each.phase == GANG_GONE:
                del self._groups[each.gang]
            change = msgspec.structs.replace(each, workflow_uid=uid)
            self._sink([Mirrored(uid=uid, at=each.at, phase="", gang=change)])

    def _show(self, entry: _Entry, step: str) -> None:
        if self._link.closed or entry.order.uid not in self._entries:
            return
        crew = entry.crews[step]
        if not crew.gone:
            crew.copy_logs(self._link.client, LOG_CAP, self._spawn)
        self._tell(entry, self._nodes(entry, step))

    def _nodes(self, entry: _Entry, step: str) -> list[Node]:
        crew = entry.crews[step]
        seen = JobSeen(
            at=now(),
            node="",
            attempt=0,
            phase=crew.phase,
            retries=crew.retries,
            pods=crew.pods(),
            history=crew.history(),
        )
        failed = crew.ended and crew.phase != "Completed"
        return entry.mirror.see(step, seen, crew.told() if failed else crew.message)

    def _tell(self, entry: _Entry, nodes: list[Node]) -> None:
        if nodes:
            at = now()
            news = Mirrored(
                uid=entry.order.uid, at=at, phase="Running", started_at=at, nodes=tuple(nodes)
            )
            self._sink([news])

    # --- the end ----------------------------------------------------------------------------

    def _look(self, entry: _Entry) -> None:
        if self._link.closed or entry.concluding or entry.order.uid not in self._entries:
            return
        if entry.flow is None:
            return
        lost = [crew for crew in entry.crews.values() if crew.gone and not crew.ended]
        if lost:
            # Upstream makes it again: what has begun must not begin a second time unseen.
            self._give_up(entry, f"the Job {lost[0].name} was deleted from the cluster")
            self._spawn(self._halt(entry), owed=True)
        elif entry.is_over():
            entry.concluding = True
            self._spawn(self._conclude(entry))

    async def _conclude(self, entry: _Entry) -> None:
        """Wait for the last news and lines, then tell of the end."""
        try:
            await asyncio.gather(*(crew.quieten(QUIET) for crew in entry.crews.values()))
            end = self._end(entry)
        except Exception as error:  # As above.
            self._give_up(entry, f"{type(error).__name__}: {error}")
            return
        self._entries.pop(entry.order.uid, None)
        self._sink([end])
        if end.phase == Phase.SUCCEEDED:
            self._spawn(self._round_off(entry), owed=True)
        elif entry.stopping:
            self._spawn(self._mark(entry, "Failed"), owed=True)

    def _end(self, entry: _Entry) -> Mirrored:
        """Give how a flow ended."""
        crews, steps = entry.crews.values(), entry.mirror.steps
        good = len(crews) == len(steps) and all(crew.phase == "Completed" for crew in crews)
        phase, at = Phase.SUCCEEDED if good else Phase.FAILED, now()
        nodes = [node for step in entry.crews for node in self._nodes(entry, step)]
        nodes += entry.mirror.end(phase, at)
        return Mirrored(
            uid=entry.order.uid,
            at=at,
            phase=str(phase),
            message="" if good else entry.why,
            started_at=at,
            finished_at=at,
            nodes=tuple(nodes),
        )

    async def _round_off(self, entry: _Entry) -> None:
        """See to it that upstream's flow ends as well, and drops its Jobs if it should.

        It goes from Pending to Running to Succeed by one event of a Job each, and nothing wakes it
        where the last event came too early. So a Job is touched until it has got there.
        """
        path = f"{flows_path(entry.namespace)}/{entry.order.name}"
        job = f"{vcjobs_path(entry.namespace)}/{next(iter(entry.crews.values())).name}"
        with suppress(ClusterError):
            if drops_jobs(entry.order):
                await self._link.client.patch(path, {"spec": {"jobRetainPolicy": "delete"}})
            for number in range(10):
                flow = await self._link.client.get(path)
                if ((flow.get("status") or {}).get("state") or {}).get("phase") == "Succeed":
                    return
                note = {"tiphys.dev/touched": str(number)}
                await self._link.client.patch(job, {"metadata": {"annotations": note}})
                await asyncio.sleep(0.5)

    # --- instructing ------------------------------------------------------------------------

    async def _stop(self, given: Instruction) -> None:
        entry = self._entries.get(given.uid)
        if entry is None or entry.stopping:
            return
        entry.stopping, entry.why = True, f"Stopped with strategy '{given.verb.capitalize()}'"
        if entry.flow is not None:  # Else whoever makes it sees to it.
            await self._halt(entry)
            self._look(entry)

    async def _halt(self, entry: _Entry) -> None:
        """Have upstream start nothing more of a flow, and terminate what runs."""
        done = await self._mark(entry, "Terminating")
        for crew in list(entry.crews.values()):
            if not (crew.ended or crew.gone):
                done &= await self._terminate(crew)
        entry.stopping &= done  # Who was refused may ask again.

    async def _mark(self, entry: _Entry, phase: str) -> bool:
        """Give upstream's flow a phase that its controller leaves alone; tell whether it has it."""
        path = f"{flows_path(entry.namespace)}/{entry.order.name}/status"
        change = {"status": {"state": {"phase": phase}}}
        with Try("change the status of", f"JobFlow {entry.namespace}/{entry.order.name}") as tried:
            client, _ = self._connect()
            await client.call("PATCH", path, change, kind=MERGE, patience=FOREVER)
        return tried.done

    async def _terminate(self, crew: Crew) -> bool:
        assert crew.job is not None
        with Try("terminate", f"Job {crew.namespace}/{crew.name}") as tried:
            client, _ = self._connect()
            await order_job(client, crew.job, "TerminateJob")
        return tried.done

    async def _remove(self, given: Instruction) -> None:
        """Delete what was made for a flow or its Jobs; the rest belongs to these and follows."""
        namespace = self._config.namespace or given.namespace
        query = {"labelSelector": f"{WORKFLOW_ID}={given.uid}"}
        why = ""
        try:
            client, _ = self._connect()
            for collection in (flows_path(namespace), vcjobs_path(namespace)):
                for thing in await _listed(client, collection, query):
                    path = f"{collection}/{thing['metadata']['name']}"
                    await client.delete(path, _BACKGROUND, patience=FOREVER)
        except (TiphysError, OSError) as error:
            why = str(error)  # Whoever gave the order gives it again.
        told = Mirrored(uid=given.uid, at=now(), phase="", message=why, cleared=not why)
        self._sink([told])

    # --- the rest ---------------------------------------------------------------------------

    def _connect(self) -> tuple[Client, VolcanoLookout]:
        client = self._link.client
        if self._lookout is None:
            flows = (flows_path, WORKFLOW_ID, self._take_flow)
            self._lookout = VolcanoLookout(
                client, self._spawn, self._take_job, self._take_pod, [flows]
            )
            self._gangs = Gangs(client, OF_FLOW, self._take_gangs, self._spawn, self._members)
        return client, self._lookout


def _ended(uid: str, message: str, phase: str = "Error") -> Mirrored:
    """Say that a flow cannot go on."""
    at = now()
    return Mirrored(uid=uid, at=at, phase=phase, message=message, started_at=at, finished_at=at)


async def _listed(client: Client, collection: str, query: Json) -> list[Json]:
    """List objects; none where the cluster does not know their kind."""
    try:
        found = await client.get(collection, query, patience=FOREVER)
    except ClusterError as error:
        if error.status != 404:
            raise
        return []
    return found.get("items") or []
