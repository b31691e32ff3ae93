"""One Volcano Job on a cluster with all pods it ever had: what is known, and how to show it.

Shared by the runtime, which makes Jobs itself, and by the dispatcher, which leaves that to Volcano.
A pod that is started again has its old name and another uid. So pods are numbered as they are
first seen, and the numbers are kept in a file: logs stay where they are when Tiphys starts anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from tiphys.engine.event import PodSeen
from tiphys.engine.jobleaf import PODS_OF_ONE
from tiphys.executor.protocol import ContainerExit
from tiphys.kube.client import Client
from tiphys.runtimes import verdict
from tiphys.runtimes.kubernetes_log import LogCopy
from tiphys.runtimes.kubernetes_lookout import pods_path
from tiphys.runtimes.kubernetes_pod import exit_of, first_start, seconds, statuses
from tiphys.runtimes.volcano_object import TASK_INDEX, TASK_SPEC

Json = Mapping[str, Any]
Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
ENDED = frozenset({"Completed", "Failed", "Terminated", "Aborted"})
DELETED = "pod deleted"
_NUMBERS = "pods.json"
_LOG_PATIENCE = 30.0
_PHASES = frozenset({"Pending", "Running", "Succeeded", "Failed"})


class _Place(msgspec.Struct, array_like=True):
    """Which replica a pod stands for, and how many did before it."""

    uid: str
    task: str
    index: int
    round: int


class Crew:
    """A Job's pods."""

    def __init__(self, namespace: str, name: str, folder: Path) -> None:
        self.namespace, self.name, self.folder = namespace, name, folder
        self.job: Json | None = None
        self.gone = False
        """Whether the Job was deleted."""
        self.changed = asyncio.Event()
        self._pods: dict[str, Json] = {}
        self._shown: dict[str, PodSeen] = {}
        """Pods that did not change since they were last asked for."""
        self._lost: set[str] = set()
        self._places: list[_Place] = []
        self._numbers: dict[str, int] = {}
        self._logs: dict[tuple[str, str], tuple[LogCopy, asyncio.Task[None]]] = {}

    def open(self) -> None:
        """Make the folder and read which pods an earlier process saw."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError, msgspec.MsgspecError):
            data = (self.folder / _NUMBERS).read_bytes()
            self._places = msgspec.json.decode(data, type=list[_Place])
            self._numbers = {place.uid: n for n, place in enumerate(self._places, 1)}

    # --- what happens -----------------------------------------------------------------------

    def take_job(self, job: Json, *, gone: bool) -> None:
        """Know how the Job is now."""
        self.job, self.gone = job, gone
        self.changed.set()

    def take_pod(self, pod: Json, *, gone: bool) -> None:
        """Know how a pod is now."""
        uid = pod["metadata"]["uid"]
        self._pods[uid] = pod
        self._shown.pop(uid, None)
        if gone:
            self._lost.add(uid)
        if uid not in self._numbers:
            self._number(uid, pod)
        self.changed.set()

    def _number(self, uid: str, pod: Json) -> None:
        labels = pod["metadata"].get("labels") or {}
        task, index = labels.get(TASK_SPEC, ""), int(labels.get(TASK_INDEX) or 0)
        before = sum((place.task, place.index) == (task, index) for place in self._places)
        self._places.append(_Place(uid, task, index, before))
        self._numbers[uid] = len(self._places)
        # By renaming: half a file would give pods the numbers, and so the logs, of others.
        fresh = self.folder / f"{_NUMBERS}.new"
        fresh.write_bytes(msgspec.json.encode(self._places))
        fresh.replace(self.folder / _NUMBERS)

    # --- how it is --------------------------------------------------------------------------

    @property
    def phase(self) -> str:
        """Volcano's word for how the Job is."""
        return str(self._state.get("phase") or "Pending")

    @property
    def message(self) -> str:
        """What Volcano says about it."""
        return str(self._state.get("message") or "")

    @property
    def retries(self) -> int:
        """How often Volcano restarted it."""
        return int(self._status.get("retryCount") or 0)

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to the Job."""
        return self.phase in ENDED

    @property
    def settled(self) -> bool:
        """Whether all pods have ended or are gone, those of which only the Job has told as well.

        Jobs and pods come by two watches: a Job may be over before anything is heard of its pods.
        """
        over = {
            uid
            for uid, pod in self._pods.items()
            if uid in self._lost or _phase(pod) in ("Succeeded", "Failed")
        }
        places = (self._places[self._numbers[uid] - 1] for uid in over)
        replicas = {(place.task, place.index) for place in places}
        return len(over) == len(self._pods) and len(replicas) >= self._least()

    def _least(self) -> int:
        """Give how many replicas must have had a pod.

        Volcano drops its counters when a Job ends, but says that it ran: then it was complete.
        """
        told = sum(int(self._status.get(each) or 0) for each in ("succeeded", "failed"))
        ran = any(each.get("status") == "Running" for each in self._status.get("conditions") or ())
        return max(told, int(self._status.get("minAvailable") or 0)) if ran else told

    @property
    def _status(self) -> Json:
        found: Json = (self.job or {}).get("status") or {}
        return found

    @property
    def _state(self) -> Json:
        found: Json = self._status.get("state") or {}
        return found

    def pods(self) -> tuple[PodSeen, ...]:
        """Give the pods, in the order in which they were first seen."""
        seen = sorted(self._pods, key=self._numbers.__getitem__)
        for uid in seen:
            if uid not in self._shown:
                self._shown[uid] = self._pod(uid, self._pods[uid])
        return tuple(map(self._shown.__getitem__, seen))

    def _pod(self, uid: str, pod: Json) -> PodSeen:
        number = self._numbers[uid]
        place = self._places[number - 1]
        phase, names = _phase(pod), _mains(pod)
        lost = uid in self._lost and phase not in ("Succeeded", "Failed")
        exits = [exit_of(pod, name) for name in names]
        status = pod.get("status") or {}
        return PodSeen(
            task=place.task,
            index=place.index,
            round=place.round,
            number=number,
            name=str(pod["metadata"]["name"]),
            phase="Failed" if lost else phase,
            message=DELETED if lost else _message(pod, phase, exits),
            host=str(pod["spec"].get("nodeName") or ""),
            ip=str(status.get("podIP") or "") if phase == "Running" and not lost else "",
            exit_code=_exit_code(exits),
            began_at=first_start(pod, names),
            finished_at=max((e.finished_at for e in exits if e.finished_at), default=None),
        )

    def history(self) -> tuple[tuple[str, float], ...]:
        """Give the phases of the Job and since when it was in each."""
        found: list[tuple[str, float]] = []
        for each in self._status.get("conditions") or ():
            at = seconds(each.get("lastTransitionTime"))
            if at is not None and (not found or found[-1][0] != each.get("status")):
                found.append((str(each.get("status")), at))
        return tuple(found)

    def told(self) -> str:
        """Say why a Job has not completed: what Volcano says, or what became of its pods."""
        if self.message:
            return self.message
        latest = {(pod.task, pod.index): pod for pod in self.pods()}
        failed = sum(pod.phase == "Failed" for pod in latest.values())
        text = f"{failed} of {max(self._replicas(), len(latest))} pods failed"
        return text if self.phase == "Failed" else f"{self.phase}: {text}"

    def _replicas(self) -> int:
        tasks = ((self.job or {}).get("spec") or {}).get("tasks") or ()
        return sum(int(task.get("replicas", 1)) for task in tasks)

    # --- logs -------------------------------------------------------------------------------

    def folder_of(self, number: int) -> Path:
        """Give where the logs of a pod lie."""
        uid, _, attempt = self.folder.name.rpartition(".")
        return self.folder.parent / f"{uid}.{int(attempt) * PODS_OF_ONE + number}"

    def copy_logs(self, client: Client, cap: int, spawn: Spawn) -> None:
        """Have the logs of all containers that began copied."""
        for uid, pod in self._pods.items():
            for status in statuses(pod):
                container, state = status["name"], status.get("state") or {}
                ended = bool(state.get("terminated"))
                if not (state.get("running") or ended):
                    continue
                known = self._logs.get((uid, container))
                if known is None:
                    folder = self.folder_of(self._numbers[uid])
                    folder.mkdir(parents=True, exist_ok=True)
                    path = f"{pods_path(self.namespace)}/{pod['metadata']['name']}"
                    copy = LogCopy(client, path, container, folder, cap)
                    known = self._logs[uid, container] = (copy, spawn(copy.run()))
                known[0].over = ended or uid in self._lost

    async def quieten(self, patience: float) -> None:
        """Wait until nothing more is heard of the pods, and their logs are here."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while not (self.settled or self.gone):
                    self.changed.clear()
                    await self.changed.wait()
        await self._finish_logs()

    async def _finish_logs(self) -> None:
        """Wait until all lines are here, but not for ever."""
        for copy, _ in self._logs.values():
            copy.over = True
        tasks = [task for _, task in self._logs.values()]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_LOG_PATIENCE)
            for task in late:
                task.cancel()

    def said(self, task: str) -> str:
        """Give what the first replica of a task wrote: its first container, the latest pod."""
        found = [n for n, p in enumerate(self._places, 1) if (p.task, p.index) == (task, 0)]
        if not found or self._places[found[-1] - 1].uid not in self._pods:
            return ""
        pod = self._pods[self._places[found[-1] - 1].uid]
        path = self.folder_of(found[-1]) / f"{_mains(pod)[0]}.stdout"
        with suppress(OSError):
            return path.read_bytes()[: 256 * 1024].decode("utf-8", "replace").rstrip("\n")
        return ""


def _mains(pod: Json) -> list[str]:
    return [each["name"] for each in pod["spec"]["containers"]]


def _phase(pod: Json) -> str:
    phase = str((pod.get("status") or {}).get("phase") or "Pending")
    return phase if phase in _PHASES else "Running"


def _exit_code(exits: list[ContainerExit]) -> str:
    codes = [each.code for each in exits if each.code is not None]
    return str(max(codes)) if codes else ""


def _message(pod: Json, phase: str, exits: list[ContainerExit]) -> str:
    """Say why a pod failed, or why it does not begin."""
    status = pod.get("status") or {}
    if phase == "Failed":
        bad = [each for each in exits if each.code]
        if bad:
            return verdict.describe(min(bad, key=lambda each: each.finished_at or 0.0))
        return str(status.get("message") or status.get("reason") or "")
    if phase != "Pending":
        return ""
    for each in statuses(pod):
        waiting = (each.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            return f"{each['name']}: {waiting['reason']}: {waiting.get('message', '')}"
    for each in status.get("conditions") or ():
        if each.get("type") == "PodScheduled" and each.get("status") == "False":
            return str(each.get("message") or each.get("reason") or "")
    return ""
