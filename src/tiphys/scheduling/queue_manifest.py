"""Queues as Volcano's manifests, there and back. Pure.

Volcano knows fewer words than our own scheduler: what it has none for is refused rather than
dropped, so that nobody relies on a limit that is not there. ``queue_file`` reads manifests that
people write; this reads those that a cluster has, with their status.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiphys.core.priority import DEFAULT_CLASS, PRIORITY_CLASSES
from tiphys.errors import InvalidInputError
from tiphys.scheduling.preset import PRESETS
from tiphys.scheduling.queue import ROOT

Json = dict[str, Any]
API = "scheduling.volcano.sh/v1beta1"
DESCRIPTION = "tiphys.dev/description"
MOST_WEIGHT = 65535
_AMOUNTS = ("capability", "deserved", "guarantee")
_PLAIN = ("weight", "priority", "parent", "reclaimable")
_UNKNOWN = {
    "borrowingLimit": "its capability is the limit",
    "lendingLimit": "its guarantee is what it keeps",
    "maxParallel": "limit its capability",
    "preempt": "Volcano's own configuration says who may preempt",
    "reclaim": "Volcano's own configuration says who may reclaim",
    "slaSeconds": "its sla plugin reads an annotation of the work",
    "fair": "its drf plugin is for the whole scheduler",
}
"""Words of a plan that Volcano has no field for, and what there is in their place."""
UNSAID: Mapping[str, Any] = {
    "weight": 1,
    "priority": 0,
    "reclaimable": True,
    "strict": False,
    "capability": {},
    "deserved": {},
    "guarantee": {},
}
"""What a plan means that does not say it."""
_ON_CLUSTER = 1000
"""A class of ours is worth so much more there, where others have classes as well."""
_MEANING = {
    "critical": "Work that must run now; preempts everything below.",
    "high": "Work that people wait for.",
    "normal": "Everything that names no class.",
    "low": "Work that can wait.",
}


def spec_of(plan: Mapping[str, Any]) -> Json:
    """Turn the words of a queue plan into a Queue's spec; raise InvalidInputError for others."""
    spec = _preset(plan.get("preset"))
    for key, value in plan.items():
        if key in ("name", "state", "preset"):
            continue
        if key in _UNKNOWN:
            raise InvalidInputError(f"a queue of Volcano has no {key}: {_UNKNOWN[key]}")
        if key == "strict":
            spec["dequeueStrategy"] = "fifo" if value else "traverse"
        elif key == "guarantee":
            spec["guarantee"] = {"resource": _written(value)}
        elif key in _AMOUNTS:
            spec[key] = _written(value)
        elif key in _PLAIN:
            spec[key] = value
        else:
            raise InvalidInputError(f"a queue of Volcano has no {key}")
    weight = spec.get("weight", 1)
    if not 1 <= weight <= MOST_WEIGHT:
        raise InvalidInputError(f"a weight is between 1 and {MOST_WEIGHT}, not {weight}")
    return spec


def _preset(name: str | None) -> Json:
    if name is None:
        return {}
    for each in PRESETS:
        if each.name == name:
            return {"weight": each.weight, "reclaimable": each.reclaimable}
    known = ", ".join(each.name for each in PRESETS)
    raise InvalidInputError(f"preset {name!r} is none of {known}")


def _written(amounts: Mapping[str, Any] | None) -> dict[str, str]:
    return {name: str(amount) for name, amount in (amounts or {}).items()}


def manifest_of(name: str, spec: Json, description: str = "") -> Json:
    """Give the object to create."""
    notes = {"annotations": {DESCRIPTION: description}} if description else {}
    return {
        "apiVersion": API,
        "kind": "Queue",
        "metadata": {"name": name, **notes},
        "spec": {"weight": 1, "reclaimable": True, **spec},
    }


def change_of(known: Json, spec: Json) -> Json:
    """Give the merge patch that makes ``spec`` hold: amounts are replaced, not joined."""
    before = known.get("spec") or {}
    changed: Json = {}
    for key, value in spec.items():
        if key == "guarantee":
            had = (before.get("guarantee") or {}).get("resource") or {}
            changed[key] = {"resource": _replaced(had, value["resource"])}
        elif key in _AMOUNTS:
            changed[key] = _replaced(before.get(key) or {}, value)
        else:
            changed[key] = value
    return changed


def _replaced(before: Json, after: Json) -> Json:
    return {**dict.fromkeys(before), **after}


def plan_of(thing: Json) -> Json:
    """Give what a cluster's Queue says in the words of a queue plan, with its state."""
    spec, status = thing.get("spec") or {}, thing.get("status") or {}
    amounts = {
        "capability": spec.get("capability"),
        "deserved": spec.get("deserved"),
        "guarantee": (spec.get("guarantee") or {}).get("resource"),
    }
    name = thing["metadata"]["name"]
    plan: Json = {
        "name": name,
        "parent": "" if name == ROOT else spec.get("parent") or ROOT,
        "weight": spec.get("weight", 1),
        "priority": spec.get("priority", 0),
        "reclaimable": spec.get("reclaimable", True),
        "state": status.get("state") or "Open",
    }
    if spec.get("dequeueStrategy") == "fifo":
        plan["strict"] = True
    return plan | {key: _written(value) for key, value in amounts.items() if value}


def preset_manifests() -> list[Json]:
    """Give the queues and priority classes that ship, as ``deploy/queues.yaml`` has them."""
    queues = [manifest_of(each.name, _preset(each.name)) for each in PRESETS]
    return [*queues, *(_class(name) for name in PRIORITY_CLASSES)]


def _class(name: str) -> Json:
    default = {"globalDefault": True} if name == DEFAULT_CLASS else {}
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": PRIORITY_CLASSES[name] * _ON_CLUSTER,
        **default,
        "description": _MEANING[name],
    }
