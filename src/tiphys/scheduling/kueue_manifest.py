"""Queues as Kueue's manifests, there and back. Pure.

A queue is a ClusterQueue with a quota for each resource, of one flavor, and a LocalQueue of the
same name before it; its parent is a cohort. As with ``queue_manifest``, what Kueue has no words for
is refused. ClusterQueues that others made may have more flavors than one: they are shown summed up,
and their quotas are left to those who made them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tiphys.core.quantity import parse_quantity
from tiphys.errors import InvalidInputError
from tiphys.scheduling.queue import ROOT
from tiphys.scheduling.queue_file import amounts_dict, resources
from tiphys.scheduling.queue_manifest import DESCRIPTION
from tiphys.scheduling.resource import NOTHING, Resources

Json = dict[str, Any]
API = "kueue.x-k8s.io/v1beta2"
FLAVOR = "default-flavor"
"""The flavor of the queues that are made here: any node."""
OPEN, HOLD = "None", "Hold"
STOP = {"Open": OPEN, "Closed": HOLD}
"""What a state is as a stopPolicy; HoldAndDrain would end what runs."""
_LIMITS = {
    "deserved": "nominalQuota",
    "borrowingLimit": "borrowingLimit",
    "lendingLimit": "lendingLimit",
}
"""Amounts of a queue plan, and what a flavor of a ClusterQueue calls them."""
_UNKNOWN = {
    "capability": ("capability", "quota and borrowing_limit together are the most that it gets"),
    "guarantee": ("guarantee", "lending_limit says what it keeps for itself"),
    "maxParallel": ("max_parallel", "limit its quota"),
    "slaSeconds": ("sla_seconds", "nothing there looks after the time that work waits"),
}
"""Words of a plan that Kueue has no field for, as the API calls them, and what there is instead."""
_SAID = frozenset({"name", "parent", "weight", "preempt", "reclaimable", *_LIMITS})


def check(plan: Mapping[str, Any]) -> None:
    """Raise InvalidInputError where Kueue cannot say what a plan asks for."""
    for key in plan.keys() - _SAID:
        field, instead = _UNKNOWN.get(key, (key, "it is none of its words"))
        raise InvalidInputError(f"a queue of Kueue has no {field}: {instead}")
    if plan.get("reclaimable") is False:
        raise InvalidInputError(
            "what a queue of Kueue borrows can always be reclaimed: a borrowing_limit of 0 lets it"
            " borrow nothing"
        )
    if not plan.get("deserved"):
        raise InvalidInputError(
            "a queue of Kueue lets in only what it has a quota for: give quota_cpu and quota_memory"
            " (in a plan: deserved)"
        )
    for key, field in (("borrowingLimit", "borrowing_limit"), ("lendingLimit", "lending_limit")):
        limits = plan.get(key) or {}
        if limits and plan.get("parent", ROOT) == ROOT:
            raise InvalidInputError(f"a {field} needs a parent: the cohort that it shares with")
        for name in sorted(limits.keys() - plan["deserved"].keys()):
            raise InvalidInputError(f"{field}: the queue has no quota of {name}")


def spec_of(plan: Mapping[str, Any], known: Mapping[str, Any] | None = None) -> Json:
    """Give the spec of a ClusterQueue that says what a whole plan does.

    ``known`` is the spec that it has: what a plan has no words for stays.
    """
    check(plan)
    known = known or {}
    parent, weight = plan.get("parent", ROOT), plan.get("weight", 1)
    preemption = {**(known.get("preemption") or {}), "withinClusterQueue": plan.get("preempt")}
    return {
        **({} if known else {"namespaceSelector": {}}),
        "cohortName": None if parent == ROOT else parent,
        **({} if known and weight == _weight(known) else {"fairSharing": {"weight": str(weight)}}),
        "preemption": preemption if preemption["withinClusterQueue"] else None,
        "resourceGroups": _groups(plan, known),
    }


def _groups(plan: Mapping[str, Any], known: Mapping[str, Any]) -> list[Json]:
    flavors = [each["name"] for group in _listed(known) for each in group["flavors"]]
    if len(flavors) > 1:
        had = _limits(known)
        if any(resources(plan.get(key, {})) != resources(had.get(key, {})) for key in _LIMITS):
            raise InvalidInputError(
                f"the queue has several flavors ({', '.join(flavors)}):"
                " say which quota is whose at its ClusterQueue itself"
            )
        return _listed(known)
    amounts = [
        {
            "name": name,
            **{
                word: str(plan[key][name])
                for key, word in _LIMITS.items()
                if _says(plan, key, name)
            },
        }
        for name in plan["deserved"]
    ]
    flavor = {"name": flavors[0] if flavors else FLAVOR, "resources": amounts}
    return [{"coveredResources": list(plan["deserved"]), "flavors": [flavor]}]


def _says(plan: Mapping[str, Any], key: str, name: str) -> bool:
    return name in (plan.get(key) or {})


def _listed(spec: Mapping[str, Any]) -> list[Json]:
    return spec.get("resourceGroups") or []


def manifest_of(name: str, spec: Json, description: str = "") -> Json:
    """Give the ClusterQueue to create."""
    notes = {"annotations": {DESCRIPTION: description}} if description else {}
    said = {key: value for key, value in spec.items() if value is not None}
    return _thing("ClusterQueue", {"name": name, **notes}, said)


def local_manifest(name: str, namespace: str) -> Json:
    """Give the LocalQueue through which a namespace reaches a queue."""
    return _thing("LocalQueue", {"name": name, "namespace": namespace}, {"clusterQueue": name})


def flavor_manifest() -> Json:
    """Give the flavor that stands for any node."""
    return _thing("ResourceFlavor", {"name": FLAVOR}, {})


def cohort_manifest(name: str) -> Json:
    """Give the cohort of a parent: it has no quota of its own."""
    return _thing("Cohort", {"name": name}, {})


def _thing(kind: str, meta: Json, spec: Json) -> Json:
    return {"apiVersion": API, "kind": kind, "metadata": meta, "spec": spec}


def plan_of(thing: Json) -> Json:
    """Give what a ClusterQueue says in the words of a queue plan, with its state."""
    spec = thing.get("spec") or {}
    return {
        "name": thing["metadata"]["name"],
        "parent": spec.get("cohortName") or ROOT,
        "weight": _weight(spec),
        "preempt": (spec.get("preemption") or {}).get("withinClusterQueue") or "Never",
        "state": _state(spec, thing.get("status") or {}),
        **_limits(spec),
    }


def _weight(spec: Mapping[str, Any]) -> int:
    return round(parse_quantity((spec.get("fairSharing") or {}).get("weight", 1)))


def _state(spec: Json, status: Json) -> str:
    if (spec.get("stopPolicy") or OPEN) == OPEN:
        return "Open"
    return "Closing" if status.get("reservingWorkloads") else "Closed"


def _limits(spec: Mapping[str, Any]) -> Json:
    """Give the amounts of all flavors together; those that are not said are left out."""
    found: Json = {}
    for key, word in _LIMITS.items():
        said = [{n: v} for n, v in _amounts(spec, word)]
        if said:
            found[key] = amounts_dict(sum(map(resources, said), NOTHING))
    return found


def _amounts(spec: Mapping[str, Any], word: str) -> Iterator[tuple[str, Any]]:
    for group in _listed(spec):
        for flavor in group["flavors"]:
            for each in flavor["resources"]:
                if each.get(word) is not None:
                    yield each["name"], each[word]


def usage_of(thing: Json, kind: str) -> Resources:
    """Add up ``flavorsReservation`` or ``flavorsUsage`` of a ClusterQueue."""
    flavors = (thing.get("status") or {}).get(kind) or ()
    said = [{r["name"]: r["total"]} for flavor in flavors for r in flavor["resources"]]
    return sum(map(resources, said), NOTHING)
