"""The object of the cluster that stands for a workflow of Tiphys' own engine: a ConfigMap.

Pure. Two write it, each its own keys. The engine (``kueue/herald.py``) writes ``status``: the
workflow's phase, its live leaves with their layers and attempts, and the layers that wait to be
released; and ``held``: that it is suspended because the controller wants it. The controller writes
``suspend`` and ``released``: what it wants of the engine.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from tiphys.kueue import label
from tiphys.scheduling.admission import MAX_RESOURCES

Json = dict[str, Any]
KEYS = (label.QUEUE, label.PRIORITY)
NOTES = (label.UNIT, MAX_RESOURCES, label.TOLERATION, label.NODE_SELECTOR)
STATUS, PACKED, HELD, SUSPEND, RELEASED = "status", "packed", "held", "suspend", "released"
_LONGEST_NAME = 63
_MOST = 256 * 1024
"""Bytes of a status that is written plainly: a ConfigMap holds a MiB."""


class Live(NamedTuple):
    """A leaf that has not ended."""

    layer: str
    attempt: str = ""
    """The attempt that has a pod, or is about to; "" between two of them."""


class Waiting(NamedTuple):
    """A layer of a workflow with ``suspendBySteps`` that the engine has come to."""

    layer: str
    is_open: bool
    is_over: bool
    podsets: tuple[Json, ...] = ()


class Status(NamedTuple):
    """What the engine tells."""

    phase: str = ""
    suspended: bool = False
    leaves: Mapping[str, Live] = {}
    waiting: tuple[Waiting, ...] = ()


def owner_name(workflow: str, uid: str) -> str:
    """Name the object of a workflow; what is in its pods' labels is enough to do so."""
    return f"{workflow[:_LONGEST_NAME].rstrip('-.')}-{uid[:8]}"


def write_owner(name: str, labels: Mapping[str, str], notes: Mapping[str, str]) -> Json:
    """Give the object, without a status."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": dict(labels), "annotations": dict(notes)},
    }


def write_status(status: Status) -> dict[str, str | None]:
    """Give the keys of the object's data that the engine owns."""
    text = json.dumps(
        {
            "phase": status.phase,
            "suspended": status.suspended,
            "leaves": dict(status.leaves),
            "waiting": status.waiting,
        },
        separators=(",", ":"),
    )
    if len(text) <= _MOST:
        return {STATUS: text, PACKED: None}
    packed = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    return {STATUS: None, PACKED: packed}


def read_status(owner: Mapping[str, Any]) -> Status:
    """Read what the engine told; nothing, where it has not yet."""
    data = owner.get("data") or {}
    text = data.get(STATUS)
    if packed := data.get(PACKED):
        text = gzip.decompress(base64.b64decode(packed)).decode()
    if not text:
        return Status()
    found = json.loads(text)
    return Status(
        phase=found["phase"],
        suspended=found["suspended"],
        leaves={id_: Live(*each) for id_, each in found["leaves"].items()},
        waiting=tuple(Waiting(a, b, c, tuple(d)) for a, b, c, d in found["waiting"]),
    )


def wants_suspension(owner: Mapping[str, Any]) -> bool:
    """Whether the controller wants the workflow to stand still."""
    return (owner.get("data") or {}).get(SUSPEND) == "true"


def is_held(owner: Mapping[str, Any]) -> bool:
    """Whether the engine has suspended the workflow because the controller wanted it."""
    return (owner.get("data") or {}).get(HELD) == "true"


def released(owner: Mapping[str, Any]) -> set[str]:
    """Give the layers that the controller has let go."""
    return set(json.loads((owner.get("data") or {}).get(RELEASED) or "[]"))
