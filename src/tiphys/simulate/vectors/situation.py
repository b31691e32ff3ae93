"""Reads a vector's situation into a cluster: nodes, queues, pod groups, running and waiting pods.

The vectors are written for people, so the same thing comes in several forms: pods as a list, a
single pod, or a count inside a pod group; queues as a map, a tree, or not at all. What is left
out is filled in as the head of the vector file says: weight 1, priority 0, preemptable, queues
open, waiting pods admitted, ten pods to a node.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tiphys.scheduling.queue import ROOT, QueueState
from tiphys.scheduling.volcano.amounts import subtract, total, within
from tiphys.scheduling.volcano.cluster import (
    HOLDING,
    ClusterQueue,
    Job,
    Node,
    PodGroupPhase,
    Status,
    Task,
)
from tiphys.scheduling.volcano.session import Session
from tiphys.simulate.vectors.amount import amounts, is_resource, nonzero, quantity, seconds

Given = Mapping[str, Any]
_GROUP = re.compile(r"^(pg|job)[-_]?\w*$")
_COUNTED = re.compile(r"^(\w+?)_(victim|running|pending)_(cpu|mem|gpu)$")
_LISTED = re.compile(r"^(\w+?)_(running|pending)$")
_NOTHING = frozenset({"best_effort", "bestEffort", "besteffort", "requests", "resources"})
"""Keys by which a vector says that a pod asks for nothing."""
_SELECTS = re.compile(r"select nodes by (\S+) equal to their task")
_EACH = re.compile(r"(\d+[A-Za-z]*) memory each")


_RECLAIM: Given = {
    "nodes": {"n1": {"cpu": 3}},
    "running": [{"name": f"victim-{index}", "queue": "q1", "cpu": 1} for index in (1, 2, 3)],
    "pending": [{"name": "reclaimer", "queue": "q2", "cpu": 1}],
}
"""The usual situation of a reclaim, for vectors that say only what is special about theirs."""


def read(given: Given) -> Session:
    """Build the session that ``given`` describes, without policies."""
    if "reclaimer_queue_state" in given and not ("pending" in given or "running" in given):
        given = {**_RECLAIM, **given}
    return _Reader(given).session()


class _Reader:
    def __init__(self, given: Given) -> None:
        self.given = given
        self.queues = read_queues(given)
        self.jobs: dict[str, Job] = {}
        self.explicit: set[str] = set()
        """Jobs whose least number of members was given."""
        self.each = self._each()

    def session(self) -> Session:
        for name, spec in self._groups():
            self._group(name, spec)
        for status, pod in self._pods():
            self._pod(pod, status)
        for job in self.jobs.values():
            self._finish(job)
        nodes = self._nodes()
        session = Session(nodes, self.queues, self.jobs)
        _place(session)
        return session

    # -- groups ------------------------------------------------------------------------------

    def _groups(self) -> Iterator[tuple[str, Given]]:
        for key in ("pgs", "jobs", "podgroups"):
            yield from (self.given.get(key) or {}).items()
        for key, value in self.given.items():
            if _GROUP.match(key) and key not in ("pgs", "jobs") and isinstance(value, Mapping):
                yield key, value

    def _group(self, name: str, spec: Given) -> None:
        job = self._job(name, str(spec.get("queue", self._default_queue())))
        least = spec.get("minMember", spec.get("minAvailable"))
        if least is not None:
            job.min_member = int(least)
            self.explicit.add(name)
        job.min_task_member = {k: int(v) for k, v in (spec.get("minTaskMember") or {}).items()}
        job.priority = int(spec.get("priority", 0))
        job.phase = PodGroupPhase(spec.get("phase", PodGroupPhase.INQUEUE))
        if "minResources" in spec:
            job.min_resources = amounts(spec["minResources"])
        self._counted(name, spec)

    def _counted(self, name: str, spec: Given) -> None:
        """Pods that a group gives as counts or lists of its own."""
        each = {**(spec.get("each") or {}), **(spec.get("task") or {})}
        if "cpu_each" in spec:
            each["cpu"] = spec["cpu_each"]
        kinds = (
            ("running", "Running"),
            ("allocated_tasks", "Running"),
            ("binding_tasks", "Binding"),
            ("succeeded", "Succeeded"),
            ("pending", "Pending"),
        )
        for key, status in kinds:
            for pod in _counted(spec.get(key, 0), f"{name}-{status.lower()}"):
                self._pod({**each, **pod, "pg": name}, Status(status))
        if "task" in spec and "pending" not in spec:
            self._endless(name, each)
        elif self._waits_whole(name, spec) and not any(key in spec for key, _ in kinds):
            self._pod({**spec["minResources"], "name": name, "pg": name}, Status.PENDING)

    def _waits_whole(self, name: str, spec: Given) -> bool:
        """Whether a waiting group gives what it needs and no pods: it stands for one pod."""
        waits = spec.get("phase") == PodGroupPhase.PENDING and bool(spec.get("minResources"))
        return waits and not any(pod.get("pg") == name for _, pod in self._pods())

    def _endless(self, name: str, each: Given) -> None:
        """As many tasks as could ever fit, and one more."""
        whole = amounts(self.given.get("total") or self.given.get("node"))
        one = nonzero(amounts(each))
        most = min(int(whole.get(n, 0) // amount) for n, amount in one.items())
        for index in range(most + 1):
            self._pod({**each, "name": f"{name}-{index + 1:04}", "pg": name}, Status.PENDING)

    # -- pods --------------------------------------------------------------------------------

    def _pods(self) -> Iterator[tuple[Status, dict[str, Any]]]:
        for key, status in (("running", Status.RUNNING), ("pending", Status.PENDING)):
            for pod in _listed(self.given.get(key), key):
                yield status, pod
        used = self.given.get("running_in_queue")
        if used:
            yield Status.RUNNING, {"name": "running-1", **used}
        for key, value in self.given.items():
            if match := _COUNTED.match(key):
                status = Status.PENDING if match[2] == "pending" else Status.RUNNING
                yield status, {"name": key, "queue": match[1], match[3]: value}
            elif (match := _LISTED.match(key)) and isinstance(value, list):
                status = Status.PENDING if match[2] == "pending" else Status.RUNNING
                for pod in value:
                    yield status, {**pod, "pg": match[1]}

    def _pod(self, pod: Given, status: Status) -> None:
        name = str(pod.get("name", f"pod-{sum(len(j.tasks) for j in self.jobs.values()) + 1}"))
        job = self._job_of(name, pod)
        request = nonzero(amounts({**self.each, **self._each_of(job.name), **pod}))
        job.tasks.append(
            Task(
                name=name,
                job=job.name,
                request={**request, "pods": 1.0},
                role=str(pod.get("task", "")),
                priority=int(pod.get("pod_priority", pod.get("task_priority", 0))),
                status=status,
                node=str(pod.get("node", "")),
                preemptable=_truth(pod.get("preemptable", True)),
                may_preempt=pod.get("preemptionPolicy") != "Never",
                critical=_truth(pod.get("critical", False)),
                selector=self._selector(pod),
                created_at=float(len(job.tasks)),
            )
        )

    def _job_of(self, name: str, pod: Given) -> Job:
        spec = pod.get("job")
        if isinstance(spec, Mapping):
            label = f"job-{spec.get('queue', '')}-{spec.get('priority', 0)}"
            pod = {**pod, **spec, "pg": label}
        group = str(pod.get("pg", spec if isinstance(spec, str) else f"job of {name}"))
        known = group in self.jobs
        job = self._job(group, str(pod.get("queue", self._default_queue())))
        if not known:
            job.priority = int(pod.get("job_priority", pod.get("priority", 0)))
            least = pod.get("minMember", self.each.get("minMember"))
            if least is not None:
                job.min_member = int(least)
                self.explicit.add(group)
        return job

    def _job(self, name: str, queue: str) -> Job:
        if name not in self.jobs:
            if queue not in self.queues:
                self.queues[queue] = ClusterQueue(name=queue)
            self.jobs[name] = Job(name=name, queue=queue, created_at=float(len(self.jobs)))
        return self.jobs[name]

    def _selector(self, pod: Given) -> dict[str, str]:
        chosen = dict(pod.get("nodeSelector") or {})
        note = _SELECTS.search(str(self.given.get("note", "")))
        if note and not chosen and pod.get("task"):
            chosen = {note[1]: str(pod["task"])}
        return chosen

    # -- defaults ----------------------------------------------------------------------------

    def _each(self) -> dict[str, Any]:
        each = dict(self.given.get("each") or {}) if _is_map(self.given.get("each")) else {}
        if "each_cpu" in self.given:
            each["cpu"] = self.given["each_cpu"]
        if match := _EACH.search(str(self.given.get("note", ""))):
            each["mem"] = match[1]
        return each

    def _each_of(self, group: str) -> dict[str, Any]:
        spec = self.given.get(group) or (self.given.get("pgs") or {}).get(group) or {}
        return dict(spec.get("each") or {}) if _is_map(spec) else {}

    def _default_queue(self) -> str:
        names = [name for name in self.queues if name != ROOT]
        return names[0] if names else "q1"

    def _finish(self, job: Job) -> None:
        """Fill in what the vectors leave out."""
        for task in job.tasks:
            if not nonzero({n: a for n, a in task.request.items() if n != "pods"}):
                self._default_request(task)
        if job.name not in self.explicit:
            # A running group without a stated minimum protects nobody; a waiting one needs one.
            job.min_member = 0 if job.count(*HOLDING) else 1
        held = total(t.request for t in job.tasks)
        asked = {n: a for n, a in held.items() if n != "pods"}
        stated = job.name in self._group_names()
        if job.count(*HOLDING) and not job.count(Status.PENDING) and not stated:
            job.phase = PodGroupPhase.RUNNING
        if "enqueue" in self.given.get("actions", ()) and self._is_admission():
            if job.min_resources is None:
                job.min_resources = asked
            if not job.count(*HOLDING) and not stated:
                job.phase = PodGroupPhase.PENDING

    def _group_names(self) -> set[str]:
        return {name for name, spec in self._groups() if "phase" in spec}

    def _is_admission(self) -> bool:
        expect = self.given.get("expect")
        words = str(self.given.get("family", "")) + str(expect)
        return any(word in words.lower() for word in ("enqueue", "inqueue", "accounting"))

    def _default_request(self, task: Task) -> None:
        """Pods of which only the count is given ask for one cpu; others ask for nothing."""
        named = [pod for _, pod in self._pods() if pod.get("name") == task.name]
        sized = any(is_resource(key) or key in _NOTHING for pod in named for key in pod)
        if not sized and not any(key in self.given for key in _NOTHING):
            task.request["cpu"] = 1000.0

    # -- nodes -------------------------------------------------------------------------------

    def _nodes(self) -> dict[str, Node]:
        specs = dict(self.given.get("nodes") or {})
        if not specs and (self.given.get("node") or self.given.get("total")):
            specs = {"n1": self.given.get("node") or self.given["total"]}
        if not specs:
            specs = {"n1": None}
        return {name: self._node(name, spec) for name, spec in specs.items()}

    def _node(self, name: str, spec: Given | None) -> Node:
        if spec is None:
            has = {n: a * 1000 for n, a in self._wanted().items()}
        else:
            has = amounts(spec)
            for resource in self._wanted():
                # A node of which only some resources are given has plenty of the others.
                if resource in ("cpu", "memory"):
                    has.setdefault(resource, 1e15)
        has.setdefault("pods", 10.0)
        labels = {k: str(v) for k, v in ((spec or {}).get("labels") or {}).items()}
        return Node(name=name, idle=dict(has), capacity=dict(has), labels=labels)

    def _wanted(self) -> dict[str, float]:
        tasks = [task.request for job in self.jobs.values() for task in job.tasks]
        return {n: a for n, a in total(tasks).items() if n != "pods"}


def _place(session: Session) -> None:
    """Put running pods on their nodes; one without a node goes where it fits first."""
    for job in session.jobs.values():
        for task in job.tasks:
            if task.status not in HOLDING:
                continue
            if not task.node:
                free = [n for n in session.nodes.values() if within(task.request, n.idle)]
                task.node = (free or list(session.nodes.values()))[0].name
            node = session.nodes[task.node]
            node.idle = subtract(node.idle, task.request)


def _counted(pods: Any, prefix: str) -> list[dict[str, Any]]:
    """Pods of a group: a list, a number, or numbers by task."""
    if isinstance(pods, Mapping):
        return [
            {"name": f"{prefix}-{role}-{index + 1}", "task": role}
            for role, count in pods.items()
            for index in range(int(count))
        ]
    if isinstance(pods, int):
        return [{"name": f"{prefix}-{index + 1}"} for index in range(pods)]
    return [{"name": pod} if isinstance(pod, str) else dict(pod) for pod in pods]


def _listed(pods: Any, kind: str) -> list[dict[str, Any]]:
    if pods is None or isinstance(pods, int | float):
        return []
    if isinstance(pods, Mapping):
        if "name" in pods or any(is_resource(key) for key in pods):
            return [{"name": f"{kind}-1", **pods}]
        return [{"name": name, **pod} for name, pod in pods.items()]
    assert isinstance(pods, Sequence)
    return [{"name": pod} if isinstance(pod, str) else dict(pod) for pod in pods]


def read_queues(given: Given) -> dict[str, ClusterQueue]:
    """Read the queues, flat or as a tree."""
    queues: dict[str, ClusterQueue] = {}
    for name, spec in (given.get("queues") or {}).items():
        queues[name] = read_queue(name, spec or {})
    for name, spec in (given.get("tree") or {}).items():
        _read_tree(name, "", spec or {}, queues)
    single = dict(given.get("queue") or {}) if _is_map(given.get("queue")) else {}
    capability = given.get("capability") or single.get("capability")
    cpu = given.get("queue_capability_cpu")
    if single or capability or cpu is not None:
        spec = {**single, "capability": capability or {"cpu": cpu}}
        queues.setdefault("q1", read_queue("q1", spec))
    state = given.get("reclaimer_queue_state")
    if state:
        queues.setdefault("q1", ClusterQueue(name="q1"))
        queues["q2"] = ClusterQueue(name="q2", state=QueueState(state))
    return queues


def _read_tree(name: str, parent: str, spec: Given, queues: dict[str, ClusterQueue]) -> None:
    queue = read_queue(name, spec)
    queue.parent = parent
    queues[name] = queue
    children = dict(spec.get("children") or {})
    if not parent:
        # Under the root the children may stand directly.
        children |= {k: v for k, v in spec.items() if _is_map(v) and k not in _LIMITS}
    for child, below in children.items():
        _read_tree(child, name, below or {}, queues)


_LIMITS = frozenset({"capability", "deserved", "guarantee", "children"})


def read_queue(name: str, spec: Given) -> ClusterQueue:
    """Read one queue."""
    guarantee = spec.get("guarantee")
    if isinstance(guarantee, Mapping):
        guarantee = guarantee.get("resource", guarantee)
    return ClusterQueue(
        name=name,
        parent=str(spec.get("parent", "")),
        weight=int(spec.get("weight", 1)),
        priority=int(spec.get("priority", 0)),
        capability=amounts(spec.get("capability")),
        deserved=amounts(spec.get("deserved")),
        guarantee=amounts(guarantee),
        reclaimable=_truth(spec.get("reclaimable", True)),
        state=QueueState(spec.get("state", "Open")),
        hierarchy=name if "/" in name else "",
        weights=str(spec.get("weights", "")),
    )


def waited(given: Given) -> float:
    """How long the waiting work has waited."""
    return seconds(given.get("waited", 0))


def number(value: Any) -> float:
    """Read a bare number."""
    return quantity(value)


def _truth(value: Any) -> bool:
    return value if isinstance(value, bool) else str(value).lower() == "true"


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)
