"""The shape of a pod: what it requests and where it may run. Pods of one shape are one podSet.

Pure. Requests are the pod's as a whole, as the scheduler counts them, so a podSet's template needs
one container only. Where there are more shapes than podSets, near ones are merged upwards.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any

from tiphys.core.name import fnv1a32
from tiphys.core.quantity import format_bytes, format_cpu, parse_quantity

Json = dict[str, Any]
Amounts = Mapping[str, Fraction]
_ZERO = Fraction(0)
_PLACE = ("nodeSelector", "affinity", "priorityClassName", "runtimeClassName")
_USUAL = {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
"""Tolerations that the API server adds to every pod."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Requests in exact amounts, and the placement as canonical JSON."""

    requests: tuple[tuple[str, Fraction], ...]
    place: str

    @property
    def name(self) -> str:
        """Name the podSet."""
        text = ",".join(f"{name}={amount}" for name, amount in self.requests)
        return f"shape-{fnv1a32(f'{text} {self.place}'):08x}"

    def fits_into(self, other: Shape) -> bool:
        """Whether a slot of another shape is large enough, and in the same place."""
        room = dict(other.requests)
        return self.place == other.place and all(
            amount <= room.get(name, 0) for name, amount in self.requests
        )

    def write(self) -> Json:
        """Give the pod template of a podSet."""
        requests = {name: _format(name, amount) for name, amount in self.requests}
        container = {"name": "pod", "image": "pod", "resources": {"requests": requests}}
        spec = {"restartPolicy": "Never", "containers": [container], **json.loads(self.place)}
        return {"spec": spec}


def shape_of(spec: Mapping[str, Any]) -> Shape:
    """Give the shape of a pod's spec."""
    place = {key: spec[key] for key in _PLACE if spec.get(key)}
    given = spec.get("tolerations") or ()
    tolerations = [each for each in given if each.get("key") not in _USUAL]
    if tolerations:
        place["tolerations"] = tolerations
    requests = requests_of(spec)
    kept = tuple((name, requests[name]) for name in sorted(requests) if requests[name])
    return Shape(kept, json.dumps(place, sort_keys=True, separators=(",", ":")))


def requests_of(spec: Mapping[str, Any]) -> dict[str, Fraction]:
    """Add up what a pod requests, as kube-scheduler does: sidecars, init containers, overhead."""
    total: dict[str, Fraction] = {}
    peak: dict[str, Fraction] = {}
    for container in spec.get("initContainers") or ():
        asked = _asked(container)
        if container.get("restartPolicy") == "Always":
            total = _sum(total, asked)
            asked = {}
        for name, amount in _sum(total, asked).items():
            peak[name] = max(peak.get(name, _ZERO), amount)
    for container in spec.get("containers") or ():
        total = _sum(total, _asked(container))
    whole = {k: max(total.get(k, _ZERO), peak.get(k, _ZERO)) for k in {*total, *peak}}
    overhead = {name: parse_quantity(v) for name, v in (spec.get("overhead") or {}).items()}
    return _sum(whole, overhead)


def merge(shapes: Iterable[Shape], most: int) -> dict[Shape, Shape]:
    """Give the podSet's shape for each shape, so that there are at most ``most`` if possible.

    Only shapes of one place are merged, into the larger requests of each: the two whose merger
    adds least. If there are more places than ``most``, more shapes than that remain.
    """
    groups: dict[Shape, set[Shape]] = {shape: {shape} for shape in shapes}
    while len(groups) > most:
        pairs = _pairs(sorted(groups, key=lambda each: (each.place, each.requests)))
        if not pairs:
            break
        first, second = min(pairs, key=lambda pair: _waste(*pair))
        members = groups.pop(first) | groups.pop(second)
        both = _union(first, second)
        groups[both] = groups.get(both, set()) | members
    return {shape: target for target, members in groups.items() for shape in members}


def _pairs(ordered: Sequence[Shape]) -> list[tuple[Shape, Shape]]:
    return [(a, b) for a, b in pairwise(ordered) if a.place == b.place]


def _union(first: Shape, second: Shape) -> Shape:
    one, two = dict(first.requests), dict(second.requests)
    larger = {name: max(one.get(name, _ZERO), two.get(name, _ZERO)) for name in {*one, *two}}
    return Shape(tuple(sorted(larger.items())), first.place)


def _waste(first: Shape, second: Shape) -> Fraction:
    """Tell how much larger the union is, as a share, so that CPUs and bytes can be compared."""
    union = dict(_union(first, second).requests)
    parts = (dict(first.requests), dict(second.requests))
    return sum(
        (1 - part.get(name, _ZERO) / size for part in parts for name, size in union.items()),
        _ZERO,
    )


def _asked(container: Mapping[str, Any]) -> dict[str, Fraction]:
    given = container.get("resources") or {}
    asked = {**(given.get("limits") or {}), **(given.get("requests") or {})}
    return {name: parse_quantity(amount) for name, amount in asked.items()}


def _sum(first: Amounts, second: Amounts) -> dict[str, Fraction]:
    return {k: first.get(k, _ZERO) + second.get(k, _ZERO) for k in {*first, *second}}


def _format(name: str, amount: Fraction) -> str:
    if name == "cpu":
        return format_cpu(ceil(amount * 1000))
    return format_bytes(ceil(amount))
