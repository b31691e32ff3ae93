"""Readers of the Kueue families: build the cohorts, ask the rule, say what it decided."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tiphys.scheduling.kueue import cycle, fair, podgroup, preempt
from tiphys.scheduling.kueue.quota import Cohorts, QuotaNode, Workload, available, fits
from tiphys.simulate.vectors.cohort import admitted_workloads, read_cohorts, requests_of, time_of
from tiphys.simulate.vectors.verdict import UnreadableError

Given = Mapping[str, Any]
_SECOND_PASS = ("second_pass", "secondPass", "reserved", "quota_reserved", "quotaReserved")


def borrow(given: Given) -> dict[str, Any]:
    """What each queue may still use."""
    cohorts = read_cohorts(given)
    queues = [node for node in cohorts.nodes.values() if node.is_queue]
    found: dict[str, Any] = {"available": {node.name: _one(available, node) for node in queues}}
    if "pending" in given:
        found |= _admission(cohorts, given)
    return found


def _one(ask: Callable[[QuotaNode, str], float], node: QuotaNode) -> Any:
    found = {name: ask(node, name) for name in sorted(node.root().subtree)}
    return next(iter(found.values())) if len(found) == 1 else found


def lend(given: Given) -> dict[str, Any]:
    """Whether a waiting workload is admitted, and by how much it falls short."""
    return _admission(read_cohorts(given), given)


def _admission(cohorts: Cohorts, given: Given) -> dict[str, Any]:
    queue = _queue_of(cohorts, given["pending"])
    workload = Workload(name="wl", queue=queue.name, requests=requests_of(given["pending"]))
    missing = cycle.shortfall(cohorts, workload)
    return {
        "admit": not missing,
        "admitted": not missing,
        "available": _one(available, queue),
        "short_by": max(missing.values(), default=0),
        "parked": "inadmissible" if missing else "",
    }


def _queue_of(cohorts: Cohorts, pending: Any) -> QuotaNode:
    if isinstance(pending, Mapping) and "cq" in pending:
        return cohorts.nodes[pending["cq"]]
    queues = [node for node in cohorts.nodes.values() if node.is_queue]
    # Where nobody is named, it is the one that borrows.
    for node in queues:
        if "borrower" in node.name or node.usage:
            return node
    return queues[0]


def heads_in_order(given: Given) -> dict[str, Any]:
    """One round: either the order of given heads, or the admission of one head per queue."""
    heads = given["heads"]
    if isinstance(heads, Sequence):
        places = [
            cycle.Head(
                name=head["wl"],
                borrows=bool(head.get("borrows", False)),
                priority=head.get("priority", 0),
                created_at=time_of(head, 0.0),
                second_pass=any(bool(head.get(key)) for key in _SECOND_PASS),
            )
            for head in heads
        ]
        return {"order": [head.name for head in cycle.order_heads(places)]}
    cohorts = read_cohorts(given)
    waiting = {**heads}
    for key, head in given.items():
        if key.endswith("_head"):
            waiting[key.removesuffix("_head")] = head
    workloads = [_waiting(queue, head, rank) for rank, (queue, head) in enumerate(waiting.items())]
    done = cycle.run_round(cohorts, workloads, fair_sharing=bool(given.get("fair_sharing", False)))
    return {
        "admitted": [workload.name for workload in done.admitted],
        "requeued": [workload.name for workload in done.requeued],
        "parked": [workload.name for workload in done.parked],
        "reason": "no longer fits after another workload" if done.requeued else "",
    }


def _waiting(queue: str, head: Given, rank: int) -> Workload:
    return Workload(
        name=str(head.get("wl", head.get("name", f"wl-{queue}-{rank}"))),
        queue=str(head.get("cq", queue)),
        requests=requests_of(head),
        priority=head.get("priority", 0),
        created_at=time_of(head, float(rank)),
    )


def queueing(given: Given) -> dict[str, Any]:
    """Rounds over one queue until nothing more is admitted."""
    cohorts = read_cohorts({"cqs": {"cq": given["cq"]}, "cohort": "none"})
    cohorts.nodes["cq"].strict = given.get("strategy") == "StrictFIFO"
    waiting = [_waiting("cq", entry, rank) for rank, entry in enumerate(given["queue"])]
    return {"admitted": [workload.name for workload in cycle.run_queue(cohorts, waiting)]}


def preemption(given: Given) -> Any:
    """Whom classic preemption chooses."""
    return _targets(given, preempt.preemptions)


def fair_preemption(given: Given) -> Any:
    """Whom preemption under fair sharing chooses."""
    names = given.get("strategies") or [s.value for s in fair.Strategy]
    strategies = [fair.Strategy(name) for name in names]
    return _targets(
        given, lambda cohorts, incoming: fair.preemptions(cohorts, incoming, strategies)
    )


def _targets(given: Given, choose: Callable[[Cohorts, Workload], list[preempt.Target]]) -> Any:
    cohorts = read_cohorts(given, count_usage=False)
    for workload in admitted_workloads(given, cohorts):
        cohorts.admit(workload)
    spec = given["incoming"]
    queues = [node.name for node in cohorts.nodes.values() if node.is_queue]
    incoming = Workload(
        name="incoming",
        queue=str(spec.get("cq", queues[0])),
        requests=requests_of(spec),
        priority=spec.get("priority", 0),
        created_at=time_of(spec, math.inf),
    )
    if fits(cohorts.nodes[incoming.queue], incoming.requests):
        return {} if isinstance(given["expect"], Mapping) else []
    targets = choose(cohorts, incoming)
    if isinstance(given["expect"], Mapping):
        return {target.workload.name: target.reason.value for target in targets}
    chosen = {target.workload.name for target in targets}
    ordered = [name for name in given["expect"] if name in chosen]
    return ordered + sorted(chosen.difference(ordered))


def drs(given: Given) -> dict[str, Any]:
    """The dominant resource share of a queue, or of each node of a tree."""
    if "tree" in given:
        cohorts = read_cohorts(given)
        return {node.name: fair.weighted_share(node) for node in cohorts.nodes.values()}
    cohorts = read_cohorts(
        {
            "cqs": {
                "cq": {
                    "nominal": given["cq_nominal"],
                    "usage": given["usage"],
                    "weight": given.get("weight", 1),
                    **{k: given[k] for k in ("borrowingLimit", "lendingLimit") if k in given},
                },
                "peer": {
                    "nominal": given["peer_nominal"],
                    **{
                        k.removeprefix("peer_"): given[k]
                        for k in ("peer_borrowingLimit", "peer_lendingLimit")
                        if k in given
                    },
                },
            }
        }
    )
    node = cohorts.nodes["cq"]
    share = fair.weighted_share(node)
    return {
        "drs": "inf" if math.isinf(share) else math.ceil(share - 1e-9),
        "dominant": fair.dominant_share(node)[1],
    }


# -- groups of pods ------------------------------------------------------------------------------


def pod_group(given: Given) -> dict[str, Any]:
    """What becomes of a group of plain pods."""
    if given.get("admitted"):
        return _running_group(given)
    composed = podgroup.compose(_pods(given), fast_admission=bool(given.get("fast_admission")))
    if composed.problem:
        return {"workload": "none", "event": composed.problem, "reason": composed.problem}
    return {
        "workload_podsets": len(composed.counts),
        "count": sum(composed.counts),
        "counts": list(composed.counts),
        "quota_cpu": composed.quota.get("cpu", 0),
        "deleted": f"newest {len(composed.surplus)}",
    }


def _pods(given: Given) -> list[podgroup.Pod]:
    totals = given.get("total_count", given.get("distinct_pod_shapes", 0))
    count = given.get("live_pods", given.get("distinct_pod_shapes"))
    if isinstance(totals, Sequence):
        count = len(totals)
    if count is None:
        raise UnreadableError("how many pods live is not said")
    cpu = given.get("cpu", given.get("first_pod_cpu", 1))
    pods = []
    for index in range(count):
        amount = cpu[index] if isinstance(cpu, Sequence) else cpu
        if "distinct_pod_shapes" in given:
            amount = index + 1
        pods.append(
            podgroup.Pod(
                name=f"pod-{index:03}",
                requests=(("cpu", float(amount)),),
                total_count=totals[index] if isinstance(totals, Sequence) else totals,
                created_at=float(index),
            )
        )
    return pods


def _running_group(given: Given) -> dict[str, Any]:
    retriable = str(given.get("retriable_in_group", "true")).lower() != "false"
    pods = [
        podgroup.Pod(name=f"{phase}-{index}", phase=phase, retriable=retriable)
        for phase in ("Succeeded", "Failed", "Running")
        for index in range(_counted(given, phase))
    ]
    over = podgroup.finished(pods, total_count=given["total_count"])
    over = over or bool(given.get("workload_deleted", False))
    serving = str(given.get("serving", "false")).lower() == "true"
    waits = not over and any(pod.phase == "Failed" for pod in pods)
    return {
        "reclaimablePods": 0 if serving else podgroup.reclaimable(pods),
        "finished": over,
        "waits_for": "replacement pod or retriable-in-group=false" if waits else "",
    }


def _counted(given: Given, phase: str) -> int:
    if phase == "Running" and "running" not in given:
        ended = int(given.get("succeeded", 0)) + int(given.get("failed", 0))
        return max(0, int(given["total_count"]) - ended)
    return int(given.get(phase.lower(), 0))


READERS: Mapping[str, Callable[[Given], Any]] = {
    "kueue.borrow": borrow,
    "kueue.lend": lend,
    "kueue.cycle": heads_in_order,
    "kueue.queueing": queueing,
    "kueue.preempt": preemption,
    "kueue.fairshare.drs": drs,
    "kueue.fairshare.preempt": fair_preemption,
    "kueue.fairshare": fair_preemption,
    "kueue.podgroup": pod_group,
}
