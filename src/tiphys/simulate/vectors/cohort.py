"""Reads a vector's situation into Kueue's cohorts: queues with quotas, and what they run.

Queues come as a map, as entries of their own, or as leaves of a tree. A quota that is a bare
number is cpu.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tiphys.scheduling.kueue.quota import (
    Cohorts,
    PreemptionPolicy,
    Quota,
    QuotaNode,
    Within,
    Workload,
    use,
)
from tiphys.simulate.vectors.amount import is_resource, quantity, seconds

Given = Mapping[str, Any]
_LIMITS = ("nominal", "borrowingLimit", "lendingLimit")
_NOT_QUEUES = frozenset(
    {"cqs", "tree", "expect", "admitted", "incoming", "workloads", "usage", "limits", "heads"}
)
_POLICY = ("withinClusterQueue", "reclaimWithinCohort", "borrowWithinCohort")


def read_cohorts(given: Given, *, count_usage: bool = True) -> Cohorts:
    """Build the cohorts of ``given``, with usage counted where asked."""
    given = {**given, "bare": _bare_name(given)}
    nodes: list[QuotaNode] = []
    specs: dict[str, Given] = {}
    for name, spec in (given.get("tree") or {}).items():
        _read_branch(name, spec, None, given, nodes, specs)
    flat = dict(_flat_queues(given))
    cohort = None
    if flat and str(given.get("cohort", "cohort")) != "none":
        cohort = QuotaNode(name=str(given.get("cohort", "cohort")))
        nodes.append(cohort)
    for name, spec in flat.items():
        nodes.append(_read_node(name, spec, cohort, given, is_queue=True))
        specs[name] = spec
    cohorts = Cohorts(nodes)
    if count_usage:
        _count_usage(cohorts, specs, given)
    return cohorts


def requests_of(spec: Any) -> dict[str, float]:
    """The resources that a workload asks for; a bare number is cpu."""
    if isinstance(spec, int | float):
        return {"cpu": float(spec)}
    return {key: quantity(value) for key, value in spec.items() if is_resource(key)}


def admitted_workloads(given: Given, cohorts: Cohorts) -> Iterator[Workload]:
    """Workloads that run, however the vector lists them."""
    for name, spec in (given.get("admitted") or {}).items():
        yield _admitted(name, spec, cohorts)
    for queue, sizes in (given.get("workloads") or {}).items():
        for index, size in enumerate(sizes, start=1):
            yield Workload(name=f"{queue}{index}", queue=queue, requests=requests_of(size))
    usage = given.get("usage") or {}
    for queue, count in usage.items() if isinstance(usage, Mapping) else ():
        for index in range(1, int(count) + 1):
            yield Workload(name=f"{queue}{index}", queue=queue, requests={"cpu": 1.0})


def _admitted(name: str, spec: Any, cohorts: Cohorts) -> Workload:
    if isinstance(spec, Mapping):
        return Workload(
            name=name,
            queue=str(spec.get("cq") or _only_queue(cohorts)),
            requests=requests_of(spec),
            priority=spec.get("priority", 0),
            created_at=time_of(spec, 0.0),
            admitted_at=time_of(spec, 0.0, ("admitted", "reserved", "reservedAt")),
            evicted=bool(spec.get("evicted", False)),
        )
    assert isinstance(spec, Sequence)
    fields = list(spec)
    queue = fields.pop(0) if isinstance(fields[0], str) else _only_queue(cohorts)
    at = instant(fields[2]) if len(fields) > 2 else 0.0
    return Workload(
        name=name,
        queue=queue,
        requests=requests_of(fields[1]),
        priority=int(fields[0]),
        created_at=at,
        admitted_at=at,
    )


_TIMES = ("created", "created_at", "createdAt", "creation", "timestamp", "time", "t")


def time_of(spec: Given, default: float, first: tuple[str, ...] = ()) -> float:
    """The time that a workload gives, under one of its usual names."""
    for key in (*first, *_TIMES):
        if key in spec:
            return instant(spec[key])
    return default


def instant(value: Any) -> float:
    """Read a time: a number, or ``now``, ``now-15s``, ``-15s``."""
    if isinstance(value, int | float):
        return float(value)
    text = str(value).strip().removeprefix("now").strip()
    sign = -1.0 if text.startswith("-") else 1.0
    text = text.lstrip("+-").strip()
    if not text:
        return 0.0
    return sign * (float(text) if text.replace(".", "", 1).isdigit() else seconds(text))


def _only_queue(cohorts: Cohorts) -> str:
    return next(node.name for node in cohorts.nodes.values() if node.is_queue)


def _flat_queues(given: Given) -> Iterator[tuple[str, Given]]:
    for name, spec in (given.get("cqs") or {}).items():
        yield name, spec if isinstance(spec, Mapping) else {"nominal": spec}
    if "nominal_cpu" in given:
        yield str(given.get("cq", "cq")), {"nominal": given["nominal_cpu"]}
    for key, value in given.items():
        if key in _NOT_QUEUES or not isinstance(value, Mapping):
            continue
        if any(limit in value for limit in _LIMITS):
            yield key, value


def _read_branch(
    name: str,
    spec: Given,
    parent: QuotaNode | None,
    given: Given,
    nodes: list[QuotaNode],
    specs: dict[str, Given],
) -> None:
    below = {k: v for k, v in spec.items() if isinstance(v, Mapping) and k not in _KNOWN}
    node = _read_node(name, spec, parent, given, is_queue=not below)
    nodes.append(node)
    specs[name] = spec
    for child, inner in below.items():
        _read_branch(child, inner, node, given, nodes, specs)


_KNOWN = frozenset({*_LIMITS, *_POLICY, "usage", "weights", "preemption"})


def _read_node(
    name: str, spec: Given, parent: QuotaNode | None, given: Given, *, is_queue: bool
) -> QuotaNode:
    limits = _limits(name, spec, given)
    weights = given.get("weights")
    weight = weights.get(name, 1) if isinstance(weights, Mapping) else (weights or 1)
    return QuotaNode(
        name=name,
        parent=parent,
        quotas=_quotas(limits, given["bare"]),
        weight=float(spec.get("weight", weight if is_queue else 1)),
        policy=_policy({**{k: given[k] for k in _POLICY if k in given}, **spec}),
        is_queue=is_queue,
    )


def _limits(name: str, spec: Given, given: Given) -> dict[str, Any]:
    """The node's limits, with those that a case sets from outside."""
    limits = {key: spec[key] for key in _LIMITS if key in spec}
    outside = given.get("limits")
    for key, value in outside.items() if isinstance(outside, Mapping) else ():
        queue, _, limit = key.rpartition(".")
        if queue == name:
            limits[limit] = value
    for key in ("lendingLimit", "borrowingLimit"):
        # A bare limit of a case concerns the lender, or the borrower.
        if key in given and key[:4] in name:
            limits[key] = given[key]
    return limits


def _bare_name(given: Given) -> str:
    """What a bare number counts: the one resource that heads ask for, else cpu."""
    heads = given.get("heads")
    asked = {
        key
        for head in (heads.values() if isinstance(heads, Mapping) else ())
        for key in head
        if is_resource(key)
    }
    return asked.pop() if len(asked) == 1 else "cpu"


def _quotas(limits: Mapping[str, Any], bare: str) -> dict[str, Quota]:
    by_name = {key: _amounts(value, bare) for key, value in limits.items()}
    return {
        name: Quota(
            nominal=by_name.get("nominal", {}).get(name, 0.0),
            borrowing_limit=by_name.get("borrowingLimit", {}).get(name),
            lending_limit=by_name.get("lendingLimit", {}).get(name),
        )
        for name in sorted({name for found in by_name.values() for name in found})
    }


def _amounts(value: Any, bare: str = "cpu") -> dict[str, float]:
    if isinstance(value, Mapping):
        return {name: quantity(amount) for name, amount in value.items()}
    return {bare: quantity(value)}


def _policy(spec: Given) -> PreemptionPolicy:
    spec = {**spec, **(spec.get("preemption") or {})}
    borrow = spec.get("borrowWithinCohort") or {}
    allowed = isinstance(borrow, Mapping) and borrow.get("policy", "Never") != "Never"
    return PreemptionPolicy(
        within_queue=Within(spec.get("withinClusterQueue", "Never")),
        reclaim_within_cohort=Within(spec.get("reclaimWithinCohort", "Never")),
        borrow_within_cohort=allowed,
        max_priority_threshold=borrow.get("maxPriorityThreshold") if allowed else None,
    )


def _count_usage(cohorts: Cohorts, specs: Mapping[str, Given], given: Given) -> None:
    for name, spec in specs.items():
        node = cohorts.nodes[name]
        used = spec.get("usage")
        if used is None and isinstance(given.get("usage"), Mapping):
            used = given["usage"].get(name)
        if used and node.is_queue:
            for resource, amount in _amounts(used, given["bare"]).items():
                use(node, resource, amount)
