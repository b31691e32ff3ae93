"""Nodes on a cluster: ``ports.Runtime`` as one Kubernetes Job per attempt.

Holds no truth: names are made of attempts' ids, so that whatever was made before a crash is found
again; a Job gets its time to live only once its end is on record, so that none disappears unread.
Watches Jobs and pods; copies logs as they are written; fetches outputs; reports as the local
runtime does, in the same words.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from tiphys.errors import ClusterError, RuntimeFailure, TiphysError
from tiphys.executor.clock import now
from tiphys.kube.client import FOREVER, Client
from tiphys.kube.link import Link
from tiphys.kube.remark import Try
from tiphys.ports import (
    AttemptId,
    Sink,
    Task,
    TaskEnded,
    TaskStarted,
    TaskWaits,
)
from tiphys.runtimes import kubernetes_carrier as carrier
from tiphys.runtimes import kubernetes_helper as helper
from tiphys.runtimes import kubernetes_report as report
from tiphys.runtimes import kubernetes_staging as staging
from tiphys.runtimes import verdict
from tiphys.runtimes.config import LocalConfig
from tiphys.runtimes.end import End
from tiphys.runtimes.kubernetes_attempt import PodAttempt, Step
from tiphys.runtimes.kubernetes_config import KubernetesConfig
from tiphys.runtimes.kubernetes_gang import Gang, gangs_of, is_ours
from tiphys.runtimes.kubernetes_gangs import Gangs
from tiphys.runtimes.kubernetes_job import (
    ATTEMPT_ID,
    OWNER,
    Clerk,
    Json,
    claims_of,
    labels_of,
    owner_of,
    wanted_paths,
)
from tiphys.runtimes.kubernetes_log import LogCopy
from tiphys.runtimes.kubernetes_lookout import Lookout, jobs_path, pods_path
from tiphys.runtimes.kubernetes_pod import (
    all_ended,
    state_of,
    statuses,
)
from tiphys.runtimes.kubernetes_policy import check_pod
from tiphys.runtimes.kubernetes_resource import Action
from tiphys.runtimes.staging import ArtifactStore
from tiphys.runtimes.translate import MAIN
from tiphys.spec import model

WORKERS = 4
LOG_PATIENCE = 30.0
LAST_WORDS = 10.0
"""Seconds without any answer after which Jobs that have ended are left as they are."""
FAREWELLS = 4
"""So many are let go at once: what is to start goes first."""
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_JOB_LABEL = "batch.kubernetes.io/job-name"
_BACKGROUND = {"propagationPolicy": "Background"}
T = TypeVar("T")


class KubernetesRuntime:
    """Runs nodes as Jobs of a cluster."""

    name = "kubernetes"

    def __init__(
        self,
        data: Path,
        *,
        config: KubernetesConfig,
        local: LocalConfig,
        artifacts: ArtifactStore | None = None,
    ) -> None:
        self._data = data
        self._config = config
        self._local = local
        self._artifacts = artifacts
        self._sink: Sink = lambda events: None
        self._link = Link(
            kubeconfig=config.kubeconfig, context=config.context, namespace=config.namespace
        )
        self._spawn = self._link.spawn
        self._lookout: Lookout | None = None
        self._clerk: Clerk | None = None
        self._gangs: Gangs | None = None
        self._attempts: dict[AttemptId, PodAttempt] = {}
        self._by_job: dict[tuple[str, str], PodAttempt] = {}
        self._actions: dict[AttemptId, asyncio.Task[None]] = {}
        """Of ``resource`` templates."""
        self._ended: dict[AttemptId, PodAttempt] = {}
        """Reported and not yet on record."""
        self._lost: Counter[tuple[str, str]] = Counter()
        """How often a node's pod was taken away since we began."""
        self._classes: set[str] = set()
        """Priority classes that are there."""
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="pods")
        self._last = asyncio.Semaphore(FAREWELLS)

    # --- ports.Runtime --------------------------------------------------------------------

    async def open(self, sink: Sink) -> None:
        """Remember where events go; the cluster is asked for when a task needs it."""
        self._sink = sink

    async def start(self, tasks: Sequence[Task]) -> None:
        """Make a Job for each task, or find the one that was made before."""
        try:
            gangs = gangs_of(tasks)
        except RuntimeFailure as error:
            self._sink([report.failure(task, str(error)) for task in tasks])
            return
        for task in tasks:
            if task.id in self._attempts or task.id in self._ended or task.id in self._actions:
                continue
            if task.template.resource is not None:
                self._actions[task.id] = self._spawn(self._act(task))
            else:
                self._spawn(self._launch(task, gangs.get(task.id)))

    async def attach(self, tasks: Sequence[Task]) -> None:
        """As ``start``: a Job that is there is taken for what it is."""
        await self.start(tasks)

    async def stop(self, ids: Sequence[AttemptId], *, grace: float) -> None:
        """Suspend Jobs: their pods are ended, and the Jobs stay to tell of it."""
        for name in ids:
            action = self._actions.get(name)
            if action is not None:
                action.cancel("stopped")
            attempt = self._attempts.get(name)
            if attempt is not None and not attempt.stopping:
                attempt.stopping = True
                if attempt.created:
                    self._spawn(self._suspend(attempt))

    async def keep(self, ids: Sequence[AttemptId]) -> None:
        """Delete Jobs of an earlier server that nobody cares about any more."""
        await self.sweep(ids, list(self._lookout.namespaces) if self._lookout is not None else ())

    async def sweep(self, ids: Sequence[AttemptId], namespaces: Sequence[str]) -> None:
        """The same in these namespaces, whether or not anything was made there since."""
        for namespace in namespaces:
            self._spawn(self._sweep(namespace, set(ids)))

    async def acknowledge(self, ids: Sequence[AttemptId]) -> None:
        """Let Jobs whose end is on record go, after their time to live."""
        for name in ids:
            attempt = self._ended.pop(name, None)
            if attempt is not None:
                self._by_job.pop((attempt.namespace, attempt.job_name), None)
                # A Job that has ended would stay for ever if nobody gave it its time to live.
                self._spawn(self._let_go(attempt), owed=True)

    async def close(self) -> None:
        """Hang up; Jobs keep running."""
        await self._link.close(LAST_WORDS)
        self._pool.shutdown(wait=False, cancel_futures=True)

    # --- actions on objects ---------------------------------------------------------------

    async def _act(self, task: Task) -> None:
        """Do what a ``resource`` template says, and tell of its end."""
        self._sink([TaskStarted(id=task.id, at=now())])
        stopped = False
        try:
            async with asyncio.timeout(task.deadline):
                client, clerk = await self._connect()
                folder = self._folder_of(task)
                work = partial(staging.manifest_of, task, folder, self._artifacts)
                manifest = await self._in_thread(work)
                end = await Action(client, task, clerk.namespace_of(task), manifest).run()
        except asyncio.CancelledError:
            if self._link.closed:
                raise
            end, stopped = End("Failed", "stopped"), True
        except TimeoutError:
            end = End("Failed", verdict.DEADLINE)
        except (TiphysError, OSError) as error:
            end = End("Error", str(error))
        del self._actions[task.id]
        if not self._link.closed:
            self._sink([report.acted(task, end, stopped=stopped)])

    # --- before the start -----------------------------------------------------------------

    async def _launch(self, task: Task, gang: Gang | None) -> None:
        template = task.template
        attempt = PodAttempt(task, template, self._folder_of(task), "", wanted_paths(template))
        attempt.gang = gang
        self._attempts[task.id] = attempt
        try:
            client, clerk = await self._connect()
            attempt.namespace = clerk.namespace_of(task)
            self._by_job[attempt.namespace, attempt.job_name] = attempt
            make = partial(attempt.folder.mkdir, parents=True, exist_ok=True)
            await self._in_thread(make)
            assert self._lookout is not None
            await self._lookout.watch(attempt.namespace)
            if gang is not None and self._gangs is not None:
                self._gangs.watch(attempt.namespace)
            if attempt.job is None:
                await self._make(client, clerk, attempt)
        except (TiphysError, OSError) as error:
            self._finish(attempt, report.failure(task, str(error)))
            return
        except Exception as error:  # A defect of ours must not leave a node running for ever.
            self._finish(attempt, report.failure(task, f"{type(error).__name__}: {error}"))
            return
        attempt.created = True
        if attempt.stopping:
            await self._suspend(attempt)
        self._look(attempt)

    async def _make(self, client: Client, clerk: Clerk, attempt: PodAttempt) -> None:
        order = await self._in_thread(partial(staging.prepare, attempt, self._artifacts))
        attempt.awaits_inputs = not (order.files or order.is_plain)
        job = clerk.write(order)
        pod = job["spec"]["template"]["spec"]
        check_pod(pod, attempt.namespace, self._config.policy)
        await self._check_class(client, pod.get("priorityClassName") or "")
        if attempt.stopping:
            self._finish(attempt, report.failure(attempt.task, verdict.NEVER_BEGAN, stopped=True))
            return
        await self._claim(client, attempt)
        if attempt.gang is not None:
            labels = clerk.labels_of(attempt.task)
            assert self._gangs is not None
            await self._gangs.ensure(attempt.namespace, attempt.gang, attempt.task, labels)
        collection = jobs_path(attempt.namespace)
        try:
            attempt.job = await client.create(collection, job, patience=FOREVER)
        except ClusterError as error:
            if error.status != 409:
                raise
            attempt.job = await self._adopt(client, f"{collection}/{attempt.job_name}", job)

    async def _check_class(self, client: Client, name: str) -> None:
        """Refuse a class that the cluster does not have: the Job would wait for a pod for ever."""
        if not name or name in self._classes:
            return
        try:
            await client.get(f"{CLASSES}/{name}", patience=FOREVER)
        except ClusterError as error:
            if error.status == 404:
                raise RuntimeFailure(f"no PriorityClass with name {name} was found") from error
            if error.status != 403:  # Who may not look does without.
                raise
        self._classes.add(name)

    async def _claim(self, client: Client, attempt: PodAttempt) -> None:
        """Make the volumes that the workflow claims for itself; the first task does it."""
        path = f"/api/v1/namespaces/{attempt.namespace}/persistentvolumeclaims"
        assert self._clerk is not None
        for claim in claims_of(attempt.task, self._clerk.owner):
            await _ensure(client, path, claim)

    async def _adopt(self, client: Client, path: str, ours: Json) -> Json:
        """Take a Job of our name for our own, if it is."""
        found = await client.get(path, patience=FOREVER)
        annotations = found["metadata"].get("annotations") or {}
        if annotations.get(ATTEMPT_ID) != ours["metadata"]["annotations"][ATTEMPT_ID]:
            raise RuntimeFailure(f"{path} exists and is not ours")
        return found

    async def _deliver(self, attempt: PodAttempt, pod: Json) -> None:
        """Carry inputs that are too large for a Job into its pod."""
        packed = attempt.folder / staging.PACKED_INPUTS
        try:
            if not packed.exists():
                await self._in_thread(partial(staging.prepare, attempt, self._artifacts))
            await carrier.deliver(self._link.client, _path(attempt, pod), packed)
        except (TiphysError, OSError) as error:
            await self._suspend(attempt)
            self._finish(attempt, report.failure(attempt.task, f"cannot bring the inputs: {error}"))

    # --- what happens on the cluster ------------------------------------------------------

    def _take_job(self, namespace: str, job: Json, gone: bool) -> None:
        attempt = self._by_job.get((namespace, job["metadata"]["name"]))
        if attempt is None:
            return
        attempt.job, attempt.job_gone = job, gone
        if job["spec"].get("suspend") and not attempt.waits_suspended:
            attempt.stopping = True
        self._look(attempt)

    def _take_pod(self, namespace: str, pod: Json, gone: bool) -> None:
        attempt = self._by_job.get((namespace, labels_of(pod).get(_JOB_LABEL, "")))
        if attempt is None:
            return
        if gone and not all_ended(pod, attempt.mains):
            # It never came as far as an end that could be judged.
            attempt.pods.pop(pod["metadata"]["name"], None)
        else:
            attempt.pods[pod["metadata"]["name"]] = pod
        if self._gangs is not None:
            self._gangs.take_pod(namespace, pod)
        self._look(attempt)

    def _look(self, attempt: PodAttempt) -> None:
        if self._link.closed or attempt.task.id not in self._attempts:
            return
        pod = attempt.pod
        if pod is not None:
            self._copy_logs(attempt, pod)
        self._tell_wait(attempt)
        steps = attempt.look()
        for step in steps:
            match step:
                case Step.DELIVER if pod is not None:
                    attempt.delivered = True
                    self._spawn(self._deliver(attempt, pod))
                case Step.START if pod is not None:
                    attempt.started = True
                    self._tell_start(attempt, report.started(attempt, pod), Step.CONCLUDE in steps)
                case Step.READY if pod is not None:
                    attempt.ready = True
                    self._sink([report.ready(attempt, pod)])
                case Step.CONCLUDE:
                    attempt.concluding = True
                    self._spawn(self._conclude(attempt, pod))

    def _tell_start(self, attempt: PodAttempt, start: TaskStarted, over: bool) -> None:
        """Tell that an attempt runs; of one that is over nothing is told before its end is known.

        Whoever attaches to it takes the first news for how it stands.
        """
        if over:
            attempt.beginning = start
        else:
            self._sink([start])

    def _tell_wait(self, attempt: PodAttempt) -> None:
        """Tell why an attempt does not begin, when that changes."""
        reason = attempt.waits_for()
        if reason != attempt.awaits:
            attempt.awaits = reason
            self._sink([TaskWaits(id=attempt.task.id, at=now(), reason=reason)])

    def _copy_logs(self, attempt: PodAttempt, pod: Json) -> None:
        name = pod["metadata"]["name"]
        for status in statuses(pod):
            container, state = status["name"], status.get("state") or {}
            ended = state.get("terminated")
            if container in (helper.INIT, helper.WAIT) or not (state.get("running") or ended):
                continue
            known = attempt.logs.get((name, container))
            if known is None:
                path, cap = _path(attempt, pod), self._local.log_cap
                copy = LogCopy(self._link.client, path, container, attempt.folder, cap)
                known = attempt.logs[name, container] = (copy, self._spawn(copy.run()))
            known[0].over = bool(ended)

    # --- the end --------------------------------------------------------------------------

    async def _conclude(self, attempt: PodAttempt, pod: Json | None) -> None:
        event = report.end_of(attempt, pod)
        if event.reason == "refused" or (pod is not None and attempt.is_blocked(pod)):
            await self._suspend(attempt)
        main = next((e for e in event.containers if e.name == MAIN and e.code is not None), None)
        outputs = model.Outputs() if main is None else model.Outputs(exit_code=str(main.code))
        problems: list[str] = []
        try:
            fetched = await self._fetch(attempt, pod) if pod is not None and main else False
            await self._finish_logs(attempt)
            if main is not None and event.reason not in ("lost", "deadline"):
                work = partial(
                    staging.collect, attempt, str(main.code), self._artifacts, fetched=fetched
                )
                outputs, problems = await self._in_thread(work)
        except (TiphysError, OSError) as error:
            problems = [str(error)]
        except Exception as error:  # As above.
            problems = [f"{type(error).__name__}: {error}"]
        self._finish(
            attempt, self._once_more(attempt, report.ended(attempt, event, outputs, problems))
        )

    def _once_more(self, attempt: PodAttempt, end: TaskEnded) -> TaskEnded:
        """Ask for another attempt where the pod was taken away and the template rules nothing."""
        task, most = attempt.task, self._config.backoff_limit
        if not end.lost or not attempt.is_taken_away or task.retried:
            return end
        key = (task.workflow_uid, task.node_id)
        self._lost[key] += 1
        if self._lost[key] > most:
            return end
        why = f"{end.message}; started again ({self._lost[key]} of {most})"
        return msgspec.structs.replace(end, again=why)

    async def _fetch(self, attempt: PodAttempt, pod: Json) -> bool:
        """Get the files that main left; tell whether there are any."""
        state = state_of(pod, MAIN, "terminated") or {}
        word, data = helper.message_of(state.get("message") or "")
        packed = attempt.folder / staging.PACKED_OUTPUTS
        try:
            if word == helper.PACKED:
                await self._in_thread(partial(packed.write_bytes, data))
            elif word == helper.FETCH:
                await carrier.receive(self._link.client, _path(attempt, pod), packed)
            else:
                return False
            place = attempt.folder / staging.OUTPUTS
            await self._in_thread(partial(helper.unpack_outputs, packed, place))
            return True
        finally:
            waits = state_of(pod, helper.WAIT, "running") is not None
            if waits and word != helper.PACKED:
                with suppress(ClusterError):
                    await carrier.release(self._link.client, _path(attempt, pod))

    async def _finish_logs(self, attempt: PodAttempt) -> None:
        """Wait until all lines are here, but not for ever."""
        tasks = [task for _, task in attempt.logs.values()]
        for copy, _ in attempt.logs.values():
            copy.over = True
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=LOG_PATIENCE)
            for task in late:
                task.cancel()

    def _finish(self, attempt: PodAttempt, end: TaskEnded) -> None:
        if self._attempts.pop(attempt.task.id, None) is None or self._link.closed:
            return
        attempt.concluding = True
        self._ended[attempt.task.id] = attempt
        self._sink([end] if attempt.beginning is None else [attempt.beginning, end])

    async def _let_go(self, attempt: PodAttempt) -> None:
        if self._link.is_up:  # Without a cluster nothing was made there.
            async with self._last:
                await self._clear_objects(self._link.client, attempt)
        with suppress(OSError):
            await self._in_thread(partial(staging.clear, attempt.folder))

    async def _clear_objects(self, client: Client, attempt: PodAttempt) -> None:
        path = f"{jobs_path(attempt.namespace)}/{attempt.job_name}"
        with suppress(ClusterError):
            if attempt.created and not attempt.stopping:
                ttl = {"spec": {"ttlSecondsAfterFinished": self._config.ttl_seconds_after_finished}}
                await client.patch(path, ttl, patience=FOREVER)
            elif attempt.created:
                # A suspended Job never finishes, so that no time to live would remove it.
                await client.delete(path, _BACKGROUND, patience=FOREVER)
        if attempt.gang is not None:
            await self._disband(attempt, attempt.gang)

    async def _disband(self, attempt: PodAttempt, gang: Gang) -> None:
        """Delete a group when nobody of it is left."""
        assert self._gangs is not None
        others = (*self._attempts.values(), *self._ended.values())
        if not any(each.gang is not None and each.gang.name == gang.name for each in others):
            await self._gangs.disband(attempt.namespace, gang.name)

    def _members(self, namespace: str, gang: str) -> list[AttemptId] | None:
        """Give the attempts of a group; None for one that a Volcano Job has made for itself."""
        if not is_ours(gang):
            return None
        return [
            each.task.id
            for each in self._attempts.values()
            if each.gang is not None and (each.namespace, each.gang.name) == (namespace, gang)
        ]

    async def _suspend(self, attempt: PodAttempt) -> None:
        path = f"{jobs_path(attempt.namespace)}/{attempt.job_name}"
        with Try("suspend", f"Job {attempt.namespace}/{attempt.job_name}") as tried:
            await self._link.client.patch(path, {"spec": {"suspend": True}}, patience=FOREVER)
        attempt.stopping &= tried.done  # Who was refused may ask again.

    async def _sweep(self, namespace: str, kept: set[AttemptId]) -> None:
        with suppress(TiphysError):
            client, clerk = await self._connect()
            query = {"labelSelector": f"{OWNER}={clerk.owner}"}
            kept = kept.union(self._attempts, self._ended)
            listed = await client.get(jobs_path(namespace), query, patience=FOREVER)
            kept.update(self._attempts, self._ended)  # The list may tell of those already.
            for job in listed.get("items") or ():
                meta = job["metadata"]
                attempt = (meta.get("annotations") or {}).get(ATTEMPT_ID)
                settled = "ttlSecondsAfterFinished" in job["spec"]
                if attempt and attempt not in kept and not settled:
                    path = f"{jobs_path(namespace)}/{meta['name']}"
                    await client.delete(path, _BACKGROUND, patience=FOREVER)

    # --- the rest -------------------------------------------------------------------------

    async def _connect(self) -> tuple[Client, Clerk]:
        client = self._link.client
        if self._clerk is None:
            self._clerk = Clerk(owner_of(self._data), self._config, self._local)
            selector = f"{OWNER}={self._clerk.owner}"
            kinds = [(jobs_path, selector, self._take_job), (pods_path, selector, self._take_pod)]
            self._lookout = Lookout(client, self._spawn, kinds)
            self._gangs = Gangs(client, selector, self._sink, self._spawn, self._members)
        return client, self._clerk

    def _folder_of(self, task: Task) -> Path:
        return self._data / "attempts" / task.workflow_uid / task.id

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)


async def _ensure(client: Client, collection: str, thing: Json) -> None:
    """Make an object unless it is there."""
    try:
        await client.create(collection, thing, patience=FOREVER)
    except ClusterError as error:
        if error.reason != "AlreadyExists":
            raise


def _path(attempt: PodAttempt, pod: Json) -> str:
    return f"{pods_path(attempt.namespace)}/{pod['metadata']['name']}"
