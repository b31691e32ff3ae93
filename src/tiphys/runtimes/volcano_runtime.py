"""Volcano Jobs on a cluster: ``ports.Runtime`` as one Job of Volcano per attempt.

Gangs, policies and restarts are Volcano's; here Jobs are made, followed and ended. As in
``runtimes.kubernetes`` names follow from attempts, so that what was made before a crash is found
again. A mark in the attempt's folder says that the Job was made: one that is gone then was deleted
by somebody, and is not made a second time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tiphys.errors import ClusterError, RuntimeFailure, TiphysError
from tiphys.executor.clock import now
from tiphys.kube.client import FOREVER, Client
from tiphys.kube.link import Link
from tiphys.kube.remark import Try
from tiphys.ports import AttemptId, Sink, Task, TaskEnded, TaskSeen, TaskStarted
from tiphys.runtimes import verdict
from tiphys.runtimes.config import LocalConfig
from tiphys.runtimes.kubernetes_config import KubernetesConfig
from tiphys.runtimes.kubernetes_gang import is_ours
from tiphys.runtimes.kubernetes_gangs import Gangs
from tiphys.runtimes.kubernetes_job import ATTEMPT_ID, OWNER, labels_of, owner_of
from tiphys.runtimes.volcano_crew import ENDED, Crew
from tiphys.runtimes.volcano_lookout import VolcanoLookout, is_of
from tiphys.runtimes.volcano_object import (
    WORKFLOW_ID,
    check_job,
    job_of_group,
    vcjob_name,
    vcjobs_path,
    write_job,
)
from tiphys.runtimes.volcano_order import order
from tiphys.spec import model

Json = dict[str, Any]
LAST_WORDS = 5.0
QUIET = 15.0
"""Seconds to wait for news of pods once their Job has ended."""
_MADE = "made"
_POLL = 0.3


class _Attempt:
    """One Job of ours."""

    def __init__(self, task: Task, crew: Crew) -> None:
        self.task, self.crew = task, crew
        self.started = self.stopping = self.concluding = False
        self.why = ""
        """Why it was told to end, where that is not a person's wish."""
        self.told: TaskSeen | None = None


class VolcanoRuntime:
    """Runs templates of the type ``volcanoJob`` as Jobs of Volcano."""

    name = "volcano"

    def __init__(self, data: Path, *, config: KubernetesConfig, local: LocalConfig) -> None:
        self._data, self._config, self._local = data, config, local
        self._sink: Sink = lambda events: None
        self._link = Link(kubeconfig=config.kubeconfig, context=config.context)
        self._spawn = self._link.spawn
        self._lookout: VolcanoLookout | None = None
        self._gangs: Gangs | None = None
        self._attempts: dict[AttemptId, _Attempt] = {}
        self._by_name: dict[tuple[str, str], _Attempt] = {}
        self._ended: set[AttemptId] = set()

    # --- ports.Runtime --------------------------------------------------------------------

    async def open(self, sink: Sink) -> None:
        """Remember where events go; the cluster is asked for when a task needs it."""
        self._sink = sink

    async def start(self, tasks: Sequence[Task]) -> None:
        """Make a Job for each task, or find the one that was made before."""
        for task in tasks:
            if task.id not in self._attempts and task.id not in self._ended:
                namespace = self._config.namespace or task.namespace
                folder = self._data / "attempts" / task.workflow_uid / task.id
                attempt = _Attempt(task, Crew(namespace, vcjob_name(task), folder))
                self._attempts[task.id] = attempt
                self._spawn(self._launch(attempt))

    async def attach(self, tasks: Sequence[Task]) -> None:
        """As ``start``: a Job that is there is taken for what it is."""
        await self.start(tasks)

    async def stop(self, ids: Sequence[AttemptId], *, grace: float) -> None:
        """Have Volcano terminate Jobs."""
        for attempt in filter(None, map(self._attempts.get, ids)):
            self._end(attempt, "")

    async def keep(self, ids: Sequence[AttemptId]) -> None:
        """End Jobs of an earlier server that nobody cares about any more."""
        await self.sweep(ids, list(self._lookout.namespaces) if self._lookout is not None else ())

    async def sweep(self, ids: Sequence[AttemptId], namespaces: Sequence[str]) -> None:
        """The same in these namespaces, whether or not anything was made there since."""
        for namespace in namespaces:
            self._spawn(self._sweep(namespace, set(ids)))

    async def acknowledge(self, ids: Sequence[AttemptId]) -> None:
        """Forget what is on record; the Jobs stay as long as their workflow does."""
        self._ended.difference_update(ids)

    async def close(self) -> None:
        """Hang up; Jobs keep running."""
        await self._link.close(LAST_WORDS)

    # --- making -----------------------------------------------------------------------------

    async def _launch(self, attempt: _Attempt) -> None:
        crew = attempt.crew
        try:
            await asyncio.to_thread(crew.open)
            client, lookout = self._connect()
            await lookout.watch(crew.namespace)
            assert self._gangs is not None
            self._gangs.watch(crew.namespace)
            found = await self._make(client, attempt)
            await asyncio.to_thread((crew.folder / _MADE).touch)
        except (TiphysError, OSError) as error:
            self._finish(attempt, _failure(attempt, str(error)))
            return
        except Exception as error:  # A defect of ours must not leave a node running for ever.
            self._finish(attempt, _failure(attempt, f"{type(error).__name__}: {error}"))
            return
        self._by_name[crew.namespace, crew.name] = attempt
        crew.take_job(found, gone=False)
        for pod in lookout.pods_of(crew.namespace, found):
            crew.take_pod(pod, gone=False)
        if attempt.stopping:
            self._spawn(self._terminate(attempt), owed=True)
        elif attempt.task.deadline is not None:
            self._spawn(self._expire(attempt, attempt.task.deadline))
        self._look(attempt)

    async def _make(self, client: Client, attempt: _Attempt) -> Json:
        crew, task = attempt.crew, attempt.task
        collection = vcjobs_path(crew.namespace)
        if not (crew.folder / _MADE).exists():
            if attempt.stopping:
                raise RuntimeFailure(verdict.NEVER_BEGAN)
            job = write_job(task, crew.namespace, owner_of(self._data))
            check_job(job["spec"], crew.namespace, self._config.policy)
            made = await _create(client, collection, job)
            if made is not None:
                return made
        found = await _find(client, f"{collection}/{crew.name}")
        if found is None:
            raise RuntimeFailure(_deleted(crew))
        if (found["metadata"].get("annotations") or {}).get(ATTEMPT_ID) == task.id:
            return found
        if labels_of(found).get(WORKFLOW_ID) != task.workflow_uid:
            raise RuntimeFailure(f"a Job {crew.name} exists on the cluster and is not ours")
        # Of an earlier attempt, whose end is on record: the workflow was retried.
        await _remove(client, f"{collection}/{crew.name}")
        return await self._make(client, attempt)

    # --- following --------------------------------------------------------------------------

    def _take_job(self, namespace: str, job: Json, gone: bool) -> None:
        attempt = self._by_name.get((namespace, job["metadata"]["name"]))
        if attempt is None or attempt.crew.job is None:
            return
        if attempt.crew.job["metadata"]["uid"] == job["metadata"]["uid"]:
            attempt.crew.take_job(job, gone=gone)
            self._look(attempt)

    def _take_pod(self, namespace: str, pod: Json, gone: bool) -> None:
        labels = pod["metadata"].get("labels") or {}
        attempt = self._by_name.get((namespace, labels.get("volcano.sh/job-name", "")))
        if attempt is not None and attempt.crew.job and is_of(pod, attempt.crew.job):
            attempt.crew.take_pod(pod, gone=gone)
            self._look(attempt)

    def _look(self, attempt: _Attempt) -> None:
        crew = attempt.crew
        if self._link.closed or attempt.task.id not in self._attempts:
            return
        if not crew.gone:
            crew.copy_logs(self._link.client, self._local.log_cap, self._spawn)
        if attempt.concluding:
            return
        over = crew.ended or crew.gone
        if attempt.started or not over:
            # Of a Job that is over when it is first seen nothing is told before its end is known:
            # whoever attaches to it takes the first news for how it stands.
            self._tell_start(attempt)
            self._tell(attempt)
        if over:
            attempt.concluding = True
            self._spawn(self._conclude(attempt))

    def _tell_start(self, attempt: _Attempt) -> None:
        if not attempt.started and attempt.crew.phase != "Pending":
            attempt.started = True
            self._sink([TaskStarted(id=attempt.task.id, at=now())])

    def _tell(self, attempt: _Attempt) -> None:
        """Tell how the Job and its pods look, where that is news."""
        crew, before = attempt.crew, attempt.told
        seen = TaskSeen(
            id=attempt.task.id,
            at=now(),
            phase=crew.phase,
            retries=crew.retries,
            message=crew.message,
            pods=crew.pods(),
            history=crew.history(),
        )
        if before is None or _essence(seen) != _essence(before):
            attempt.told = seen
            self._sink([seen])

    def _members(self, namespace: str, group: str) -> Sequence[AttemptId] | None:
        """Give the attempt whose Job a PodGroup is for: Volcano adds the Job's uid to its name.

        A group outlives its attempt, and its end is told all the same. Those of layers are
        another runtime's.
        """
        if is_ours(group):
            return None
        job = job_of_group(group)
        return [
            attempt.task.id
            for attempt in self._attempts.values()
            if (attempt.crew.namespace, attempt.crew.name) == (namespace, job)
        ]

    # --- the end ----------------------------------------------------------------------------

    async def _conclude(self, attempt: _Attempt) -> None:
        """Wait for the last news and lines, then tell of the end."""
        try:
            await attempt.crew.quieten(QUIET)
            self._tell_start(attempt)
            self._tell(attempt)
            end = self._verdict(attempt)
        except Exception as error:  # As above.
            end = _failure(attempt, f"{type(error).__name__}: {error}")
        self._finish(attempt, end)

    def _verdict(self, attempt: _Attempt) -> TaskEnded:
        crew = attempt.crew
        if not crew.ended:
            return _failure(attempt, _deleted(crew))
        phase, message = "Succeeded", ""
        if crew.phase != "Completed":
            phase, message = "Failed", attempt.why or crew.told()
        return TaskEnded(
            id=attempt.task.id,
            at=now(),
            phase=phase,
            message=message,
            outputs=self._outputs(attempt),
            stopped=attempt.stopping and not attempt.why and phase == "Failed",
        )

    def _outputs(self, attempt: _Attempt) -> model.Outputs | None:
        """Give what the first pod of the first task had to say: it speaks for the Job."""
        tasks = (attempt.crew.job or {}).get("spec", {}).get("tasks") or ()
        if not tasks:
            return None
        first = [p for p in attempt.crew.pods() if (p.task, p.index) == (tasks[0]["name"], 0)]
        code = first[-1].exit_code if first else ""
        result = attempt.crew.said(tasks[0]["name"]) if attempt.task.capture_result else None
        if not code and result is None:
            return None
        return model.Outputs(exit_code=code or None, result=result)

    def _finish(self, attempt: _Attempt, end: TaskEnded) -> None:
        if self._attempts.pop(attempt.task.id, None) is None or self._link.closed:
            return
        self._by_name.pop((attempt.crew.namespace, attempt.crew.name), None)
        self._ended.add(attempt.task.id)
        self._sink([end])

    # --- ending -----------------------------------------------------------------------------

    def _end(self, attempt: _Attempt, why: str) -> None:
        if attempt.stopping:
            return
        attempt.stopping, attempt.why = True, why
        if attempt.crew.job is not None:
            self._spawn(self._terminate(attempt), owed=True)

    async def _terminate(self, attempt: _Attempt) -> None:
        assert attempt.crew.job is not None
        crew = attempt.crew
        with Try("terminate", f"Job {crew.namespace}/{crew.name}") as tried:
            await order(self._link.client, attempt.crew.job, "TerminateJob")
        attempt.stopping &= tried.done  # Who was refused may ask again.

    async def _expire(self, attempt: _Attempt, seconds: float) -> None:
        await asyncio.sleep(seconds)
        if attempt.task.id in self._attempts and not attempt.concluding:
            self._end(attempt, verdict.DEADLINE)

    async def _sweep(self, namespace: str, kept: set[AttemptId]) -> None:
        query = {"labelSelector": f"{OWNER}={owner_of(self._data)}"}
        with suppress(TiphysError):  # Many clusters have no Volcano.
            client, _ = self._connect()
            kept = kept.union(self._attempts, self._ended)
            listed = await client.get(vcjobs_path(namespace), query, patience=FOREVER)
            kept.update(self._attempts, self._ended)  # The list may tell of those already.
            for job in listed.get("items") or ():
                attempt = (job["metadata"].get("annotations") or {}).get(ATTEMPT_ID)
                phase = ((job.get("status") or {}).get("state") or {}).get("phase")
                if attempt and attempt not in kept and phase not in ENDED:
                    await order(client, job, "TerminateJob")

    # --- the rest ---------------------------------------------------------------------------

    def _connect(self) -> tuple[Client, VolcanoLookout]:
        client = self._link.client
        if self._lookout is None:
            self._lookout = VolcanoLookout(client, self._spawn, self._take_job, self._take_pod)
            selector = f"{OWNER}={owner_of(self._data)}"
            self._gangs = Gangs(client, selector, self._sink, self._spawn, self._members)
        return client, self._lookout


async def _create(client: Client, collection: str, job: Json) -> Json | None:
    """Make a Job; None where one of its name is there."""
    try:
        return await client.create(collection, job, patience=FOREVER)
    except ClusterError as error:
        if error.status != 409:
            raise
        return None


async def _find(client: Client, path: str) -> Json | None:
    try:
        return await client.get(path, patience=FOREVER)
    except ClusterError as error:
        if error.status != 404:
            raise
        return None


async def _remove(client: Client, path: str) -> None:
    """Delete a Job and wait until its pods are gone: those of the next have their names."""
    await client.delete(path, {"propagationPolicy": "Foreground"}, patience=FOREVER)
    while await _find(client, path) is not None:  # noqa: ASYNC110 - nobody here could set an event
        await asyncio.sleep(_POLL)


def _essence(seen: TaskSeen) -> tuple[object, ...]:
    """Give what makes news of a Job news: all but the time."""
    return seen.phase, seen.retries, seen.message, seen.pods


def _deleted(crew: Crew) -> str:
    return f"the Job {crew.name} was deleted from the cluster"


def _failure(attempt: _Attempt, message: str) -> TaskEnded:
    stopped = attempt.stopping and not attempt.why
    return TaskEnded(
        id=attempt.task.id,
        at=now(),
        phase="Failed" if stopped else "Error",
        message=message,
        stopped=stopped,
    )
