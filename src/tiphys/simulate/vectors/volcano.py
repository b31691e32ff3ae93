"""Readers of the Volcano families: build the situation, ask the rule, say what it decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tiphys.engine import jobrule as job
from tiphys.scheduling.volcano import flow, gang, proportion
from tiphys.scheduling.volcano.actions import ACTIONS
from tiphys.scheduling.volcano.admission import overcommit, overcommit_idle, sla
from tiphys.scheduling.volcano.amounts import add, dominant_share, within_on
from tiphys.scheduling.volcano.capacity import capacity, compare_shares, queue_share
from tiphys.scheduling.volcano.cluster import (
    HOLDING,
    ClusterQueue,
    Job,
    Node,
    PodGroupPhase,
    Status,
    Task,
)
from tiphys.scheduling.volcano.drf import drf, preempt_victims
from tiphys.scheduling.volcano.priority import conformance, is_victim, priority
from tiphys.scheduling.volcano.quota import Book, real_capability
from tiphys.scheduling.volcano.session import Plugin, Session, Tiers, by, vote_victims
from tiphys.simulate.vectors.amount import amounts, quantity, seconds
from tiphys.simulate.vectors.situation import read, read_queue
from tiphys.simulate.vectors.verdict import UnreadableError

Given = Mapping[str, Any]


# -- rounds over a cluster -----------------------------------------------------------------------


def _plugins(session: Session, family: str, names: Sequence[str] | None, given: Given) -> Tiers:
    tree = "tree" in given or any(queue.parent for queue in session.queues.values())
    makers: dict[str, Callable[[Session], Plugin]] = {
        "conformance": conformance,
        "gang": gang.gang,
        "priority": priority,
        "proportion": proportion.proportion,
        "capacity": lambda s: capacity(s, hierarchy=tree),
        "drf": lambda s: drf(s, hierarchy="hdrf" in family),
        "overcommit": overcommit,
    }
    if names is None:
        names = _default_plugins(family, given)
    plugins = [makers[name](session) for name in names if name in makers]
    return [[_trimmed(plugin, family, names) for plugin in plugins]]


def _trimmed(plugin: Plugin, family: str, names: Sequence[str]) -> Plugin:
    """Switch off what upstream's configurations of these families switch off."""
    if plugin.name == "gang" and "capacity" in names:
        # The gang only says who starves: victims are capacity's choice.
        return replace(plugin, reclaimable=None, preemptable=None)
    if plugin.name == "gang" and "reclaim" in family:
        return replace(plugin, pipelined=None)
    if plugin.name == "priority" and "preempt" not in family:
        return replace(plugin, starving=None)
    return plugin


def _default_plugins(family: str, given: Given) -> Sequence[str]:
    if "capacity" in family or "queue-priority" in family or "tree" in given:
        return ("capacity", "gang", "priority")
    if "hdrf" in family or "drf" in family:
        return ("gang", "drf")
    if "preempt" in family or "reclaim" in family:
        return ("conformance", "gang", "priority", "proportion")
    return ("gang", "priority", "drf", "proportion")


def run_cluster(given: Given) -> dict[str, Any]:
    """Run the actions of a vector on its cluster; give all that may be expected."""
    family = str(given.get("family", ""))
    if given.get("rule"):
        return {"victim": _priority_rule(given)}
    other = _other_reader(given)
    if other is not None:
        return other(given)
    session = read(given)
    session.tiers = _plugins(session, family, given.get("plugins"), given)
    before = {name: entry.phase for name, entry in session.jobs.items()}
    for action in given.get("actions") or _default_actions(family):
        ACTIONS[action](session)
    found = _outcome(session, before)
    expected = given.get("expect")
    if isinstance(expected, Mapping) and isinstance(expected.get("enqueued"), Mapping):
        found["enqueued"] = {
            name: session.jobs[name].phase is not PodGroupPhase.PENDING
            for name in expected["enqueued"]
        }
    return found


def _other_reader(given: Given) -> Callable[[Given], dict[str, Any]] | None:
    """Vectors that ask about numbers of queues and not about pods."""
    queues = [spec for spec in (given.get("queues") or {}).values() if isinstance(spec, Mapping)]
    if "total" in given and any("request" in spec for spec in queues):
        return deserved
    if queues and all("allocated" in spec for spec in queues):
        return shares
    return None


def _default_actions(family: str) -> Sequence[str]:
    for action in ("reclaim", "preempt", "enqueue"):
        if action in family:
            return (action,)
    return ("allocate",)


class _Outcome(dict[str, Any]):
    """Decisions by name; a pod group or job may be asked for by its own name too."""


def _outcome(session: Session, before: Mapping[str, PodGroupPhase]) -> dict[str, Any]:
    tasks = [task for entry in session.jobs.values() for task in entry.tasks]
    bound = {t.name: t.node for t in tasks if t.status is Status.ALLOCATED}
    pipelined = {t.name: t.node for t in tasks if t.status is Status.PIPELINED}
    waiting = [name for name, phase in before.items() if phase is PodGroupPhase.PENDING]
    admitted = [n for n in waiting if session.jobs[n].phase is PodGroupPhase.INQUEUE]
    found = _Outcome(
        bind=bound,
        bind_count=len(bound),
        evict=sorted(task.name for task in session.evicted),
        evict_count=len(session.evicted),
        pipeline=pipelined,
        pipelined=pipelined,
        enqueued=len(admitted) == len(waiting) if len(waiting) < 2 else sorted(admitted),
        inqueue=sorted(admitted),
        rejected=sorted(set(waiting) - set(admitted)),
        pending=sorted(set(waiting) - set(admitted)),
        ready=all(gang.is_ready(entry) for entry in session.jobs.values()),
        sequence=[task.job for task in session.sequence],
        allocations={n: entry.count(*HOLDING) for n, entry in session.jobs.items()},
        dominant_share={n: _share(session, entry) for n, entry in session.jobs.items()},
        phase={name: entry.phase.value for name, entry in session.jobs.items()},
        status={name: entry.phase.value for name, entry in session.jobs.items()},
    )
    for name, entry in session.jobs.items():
        placed = any(task.name in bound for task in entry.tasks)
        found.setdefault(name, "bound" if placed else entry.phase.value)
    return found


def _share(session: Session, entry: Job) -> float:
    whole = {name: amount for name, amount in session.total().items() if name != "pods"}
    return dominant_share(entry.allocated(), whole)[1]


def _priority_rule(given: Given) -> bool:
    same = bool(given.get("same_job"))
    mine = Job(name="a", queue="q", priority=given.get("preemptor_job_priority", 0))
    yours = mine if same else Job(name="b", queue="q", priority=given.get("victim_job_priority", 0))
    preemptor = _task("p", mine.name, priority=given.get("preemptor_task_priority", 0))
    victim = _task("v", yours.name, priority=given.get("victim_task_priority", 0))
    return is_victim(preemptor, mine, victim, yours)


def _task(name: str, owner: str, *, priority: int = 0) -> Task:
    return Task(name=name, job=owner, request={}, priority=priority, status=Status.RUNNING)


# -- single rules --------------------------------------------------------------------------------


def group_phase(given: Given) -> str:
    """The phase of a pod group from its counts."""
    entry = Job(
        name="pg",
        queue="q",
        min_member=given.get("minMember", 1),
        phase=PodGroupPhase(given.get("previous_phase", "Pending")),
    )
    for status in (Status.RUNNING, Status.PENDING, Status.SUCCEEDED, Status.FAILED):
        for index in range(given.get(status.value.lower(), 0)):
            entry.tasks.append(
                Task(name=f"{status}{index}", job="pg", request={"cpu": 1.0}, status=status)
            )
    stuck = bool(given.get("unschedulable_this_session"))
    return gang.phase(entry, unschedulable=stuck).value


def deserved(given: Given) -> dict[str, Any]:
    """What each queue deserves by weight."""
    whole = amounts(given["total"])
    queues = {name: read_queue(name, spec) for name, spec in given["queues"].items()}
    guarantees: dict[str, float] = {}
    for queue in queues.values():
        guarantees = add(guarantees, queue.guarantee)
    real = {
        name: real_capability(whole, guarantees, queue.guarantee, queue.capability)
        for name, queue in queues.items()
    }
    claims = {
        name: proportion.Claim(
            weight=float(spec.get("weight", 1)),
            request=amounts(spec.get("request")),
            real_capability=real[name],
            guarantee=queues[name].guarantee,
        )
        for name, spec in given["queues"].items()
    }
    shares, rounds = proportion.pour(whole, claims)
    return {
        "deserved": {n: _plain(found, given["total"]) for n, found in shares.items()},
        "realCapability": {n: _plain(found, given["total"]) for n, found in real.items()},
        "real_capability": {n: _plain(found, given["total"]) for n, found in real.items()},
        "rounds": rounds,
    }


def _plain(found: Mapping[str, float], like: Any) -> Any:
    """Cores again; a bare number where the vector knows only cpu."""
    plain = {n: a / 1000 if n == "cpu" else a for n, a in found.items()}
    if not isinstance(like, Mapping) or set(like) == {"cpu"}:
        return plain.get("cpu", 0.0)
    return {("mem" if n == "memory" and "mem" in like else n): a for n, a in plain.items()}


def shares(given: Given) -> dict[str, Any]:
    """Shares and order of queues under capacity."""
    books = {
        name: Book(
            queue=read_queue(name, spec),
            deserved=amounts(spec.get("deserved")),
            allocated=amounts(spec.get("allocated")),
        )
        for name, spec in given["queues"].items()
    }
    ordered = by(lambda left, right: compare_shares(books[left], books[right]) < 0, list(books))
    return {
        "share": {n: queue_share(book.allocated, book.deserved) for n, book in books.items()},
        "order": ordered,
    }


def tiers(given: Given) -> dict[str, Any]:
    """The vote on victims, tier by tier."""
    names = sorted(key for key in given if key.startswith("tier"))
    votes = [[_answer(chosen) for chosen in given[name].values()] for name in names]
    everyone = sorted({t for n in names for chosen in given[n].values() for t in chosen})
    tasks = [_task(name, "j") for name in everyone]
    victims = vote_victims(votes, _task("p", "k"), tasks)
    return {"victims": [task.name for task in victims]}


def _answer(chosen: Sequence[str]) -> Callable[[Task, Sequence[Task]], list[Task]]:
    return lambda _, candidates: [task for task in candidates if task.name in chosen]


def drf_victims(given: Given) -> dict[str, Any]:
    """Victims by dominant share."""
    one = amounts(given.get("each", 1))
    mine = add(amounts(given["preemptor_job_allocated"]), amounts(given["preemptor_task"]))
    victims = preempt_victims(
        amounts(given["total"]),
        mine,
        [(name, "victim", one) for name in given["victim_tasks"]],
        {"victim": amounts(given["victim_job_allocated"])},
    )
    return {"victims": victims}


def hdrf(given: Given) -> dict[str, Any]:
    """Fill a node under hierarchical DRF."""
    has = {**amounts(given["node"]), "pods": 1000.0}
    queues, jobs = {}, {}
    for path, spec in given["queues"].items():
        queues[path] = ClusterQueue(name=path, hierarchy=path, weights=spec["weights"])
        request = {**amounts(spec["each"]), "pods": 1.0}
        names = [f"{path}-{index:03}" for index in range(spec["pods"])]
        tasks = [Task(name=name, job=path, request=dict(request)) for name in names]
        jobs[path] = Job(name=path, queue=path, min_member=1, tasks=tasks)
    session = Session({"n1": Node(name="n1", idle=dict(has), capacity=has)}, queues, jobs)
    session.tiers = [[gang.gang(session), drf(session, hierarchy=True)]]
    ACTIONS["allocate"](session)
    return {path: _held(entry, given["queues"][path]["each"]) for path, entry in jobs.items()}


def _held(entry: Job, like: Given) -> dict[str, Any]:
    held = entry.allocated()
    found: dict[str, Any] = {}
    for key in like:
        amount = held.get("memory" if key == "mem" else key, 0.0)
        found[key] = amount / 1000 if key == "cpu" else f"{amount / 1e9:g}G"
    return found


def overcommitted(given: Given) -> dict[str, Any]:
    """Admission of a row of jobs under overcommit."""
    whole, used, inqueue = (
        amounts(given.get(key, given.get(f"{key}_cpu", 0))) for key in ("total", "used", "inqueue")
    )
    idle = overcommit_idle(whole, used, float(given.get("factor", 1.2)))
    found: dict[str, Any] = {"idle": _plain(idle, given.get("total", 0))}
    for key in given["expect"]:
        if "job_min_" not in key:
            continue
        least = amounts(quantity(key.rpartition("_")[2]))
        if within_on(add(inqueue, least), idle, least):
            inqueue = add(inqueue, least)
            found[key] = "permit"
        else:
            found[key] = "reject"
    return found


def service_level(given: Given) -> str:
    """Whether a job that waited so long is let into a full cluster."""
    full = {"cpu": 1000.0}
    running = Job(name="r", queue="q", phase=PodGroupPhase.RUNNING, min_resources=dict(full))
    running.tasks.append(Task(name="t", job="r", request=dict(full), status=Status.RUNNING))
    waiting = Job(
        name="w",
        queue="q",
        phase=PodGroupPhase.PENDING,
        min_resources=dict(full),
        waited_seconds=seconds(given["waited"]),
    )
    node = Node(name="n", idle={"cpu": 0.0}, capacity=dict(full))
    queue = ClusterQueue(name="q", capability=dict(full))
    session = Session({"n": node}, {"q": queue}, {"r": running, "w": waiting})
    own = [v for k, v in given.items() if k != "sla-waiting-time" and k.endswith("waiting-time")]
    limit = seconds(own[0] if own else given["sla-waiting-time"])
    session.tiers = [
        [sla(session, waiting_seconds=limit)],
        [overcommit(session), proportion.proportion(session)],
    ]
    ACTIONS["enqueue"](session)
    return "Inqueue" if waiting.phase is PodGroupPhase.INQUEUE else "rejected"


# -- jobs and flows ------------------------------------------------------------------------------


def job_phase(given: Given) -> str:
    """The phase of a job from its counts."""
    tasks: dict[str, job.TaskCounts] = {}
    if "task_minAvailable" in given:
        tasks["task"] = job.TaskCounts(
            replicas=given["replicas"],
            min_available=given["task_minAvailable"],
            succeeded=given.get("succeeded", 0),
        )
    for name, spec in (given.get("tasks") or {}).items():
        tasks[name] = job.TaskCounts(
            replicas=spec.get("replicas", 0),
            min_available=spec.get("minAvailable"),
            succeeded=spec.get("succeeded", 0),
        )
    counts = job.JobCounts(
        phase=job.JobPhase(given.get("phase", "Running")),
        replicas=given.get("replicas", sum(task.replicas for task in tasks.values())),
        min_available=given.get("minAvailable"),
        min_success=given.get("minSuccess"),
        pending=given.get("pending", 0),
        running=given.get("running", 0),
        succeeded=given.get("succeeded", 0),
        failed=given.get("failed", 0),
        terminating=given.get("terminating", 0),
        retry_count=given.get("retryCount", 0),
        max_retry=given.get("maxRetry", 3),
        tasks=tasks,
    )
    return job.next_phase(counts).value


def job_policy(given: Given) -> str:
    """The action that policies choose for an event."""
    chosen = job.decide_action(
        str(given.get("event", "")),
        exit_code=given.get("exitCode", given.get("exit_code")),
        task_policies=[_policy(p) for p in given.get("task_policies", ())],
        job_policies=[_policy(p) for p in given.get("job_policies", given.get("policies", ()))],
    )
    return chosen.action.value


def _policy(spec: Given) -> job.Policy:
    events = spec.get("events") or ([spec["event"]] if "event" in spec else [])
    return job.Policy(
        action=job.Action(spec["action"]),
        events=tuple(events),
        exit_code=spec.get("exitCode", spec.get("exit_code")),
    )


def flow_phase(given: Given) -> str:
    """The phase of a job flow from its counts."""
    return flow.next_phase(
        flow.FlowPhase(given["from"]),
        flows=given.get("flows", 0),
        running=given.get("running", 0),
        completed=given.get("completed", 0),
        failed=given.get("failed", 0),
        terminated=given.get("terminated", 0),
    ).value


def flow_graph(given: Given) -> str:
    """Whether a job flow's graph is accepted."""
    problem = flow.check_graph(given["edges"])
    return f"reject: {problem}" if problem else "accept"


def flow_due(given: Given) -> dict[str, Any]:
    """Which jobs of a flow are created next."""
    if "edges" not in given:
        raise UnreadableError("a flow needs edges")
    due = flow.due_jobs(given["edges"], given.get("states") or {})
    return {"create": list(due), "due": list(due)}


READERS: Mapping[str, Callable[[Given], Any]] = {
    "volcano": run_cluster,
    "volcano.gang.phase": group_phase,
    "volcano.proportion.deserved": deserved,
    "volcano.capacity.share": shares,
    "volcano.reclaim.tiers": tiers,
    "volcano.preempt.tiers": tiers,
    "volcano.drf.preempt": drf_victims,
    "volcano.hdrf": hdrf,
    "volcano.overcommit": overcommitted,
    "volcano.sla": service_level,
    "volcano.vcjob.phase": job_phase,
    "volcano.vcjob.policy": job_policy,
    "volcano.jobflow.phase": flow_phase,
    "volcano.jobflow.validate": flow_graph,
    "volcano.jobflow.create": flow_due,
}
