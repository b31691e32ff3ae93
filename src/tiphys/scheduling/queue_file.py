"""Reads a queue plan: the plain data of a YAML or JSON file into a checked tree.

Pure: the caller has parsed the text. Two forms: ``queues:`` with one mapping for each queue (by
name, or a list with ``name``), and Volcano ``Queue`` manifests, alone or as a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tiphys.core.quantity import bytes_of, cpu_millis, parse_quantity
from tiphys.errors import InvalidInputError
from tiphys.scheduling.queue import DEFAULT, ROOT, Queue, QueueTree
from tiphys.scheduling.resource import Resources

_AMOUNTS = ("capability", "deserved", "guarantee", "borrowing_limit", "lending_limit")
_NAMES = {
    "borrowingLimit": "borrowing_limit",
    "lendingLimit": "lending_limit",
    "maxParallel": "max_parallel",
    "slaSeconds": "sla_seconds",
    "nominalQuota": "deserved",
    "preemption": "preempt",
}
_KNOWN = frozenset(field.name for field in msgspec.structs.fields(Queue))


def read_queues(document: object) -> QueueTree:
    """Read a queue plan; a ``default`` queue is added where there is none."""
    queues = [_queue(name, spec) for name, spec in _specs(document)]
    if all(queue.name != DEFAULT for queue in queues):
        queues.append(Queue(name=DEFAULT))
    return QueueTree(queues)


def resources(amounts: Mapping[str, Any], where: str = "") -> Resources:
    """Read amounts as Kubernetes writes them: cpu in cores, memory with its unit."""
    found: dict[str, int] = {}
    for name, value in amounts.items():
        try:
            found[name] = _amount(name, value)
        except (InvalidInputError, TypeError, ValueError) as error:
            raise InvalidInputError(f"{where}{name}: {value!r} is not an amount") from error
    return Resources(found)


def _amount(name: str, value: Any) -> int:
    if name == "cpu":
        return cpu_millis(value)
    if name in ("memory", "ephemeral-storage"):
        return bytes_of(value)
    return int(parse_quantity(value))


def _specs(document: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    items = document if isinstance(document, list) else [document]
    for item in items:
        if not isinstance(item, Mapping):
            raise InvalidInputError("a queue plan is a mapping with queues")
        if item.get("kind") == "List":
            yield from _specs(item.get("items") or [])
        elif item.get("kind") == "Queue":
            yield str(item["metadata"]["name"]), _volcano(item)
        elif "queues" in item:
            yield from _listed(item["queues"])
        else:
            yield from _listed([item])


def _listed(queues: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(queues, Mapping):
        for name, spec in queues.items():
            yield str(name), spec or {}
        return
    if not isinstance(queues, list):
        raise InvalidInputError("queues: a mapping or a list is expected")
    for spec in queues:
        if not isinstance(spec, Mapping) or "name" not in spec:
            raise InvalidInputError("queues: each queue needs a name")
        yield str(spec["name"]), spec


def _volcano(manifest: Mapping[str, Any]) -> dict[str, Any]:
    spec = dict(manifest.get("spec") or {})
    guarantee = spec.get("guarantee")
    if isinstance(guarantee, Mapping):
        spec["guarantee"] = guarantee.get("resource", guarantee)
    state = (manifest.get("status") or {}).get("state")
    if state:
        spec["state"] = state
    for name in ("affinity", "extendClusters", "dequeueStrategy", "type"):
        spec.pop(name, None)
    return spec


def _queue(name: str, spec: Mapping[str, Any]) -> Queue:
    values: dict[str, Any] = {"name": name, "parent": ROOT}
    for key, value in spec.items():
        field = _NAMES.get(key, key)
        if field not in _KNOWN:
            raise InvalidInputError(f"queue {name}: {key} is not known")
        if field in _AMOUNTS:
            values[field] = resources(value or {}, f"queue {name}: {key}: ")
        elif value is not None:
            values[field] = value
    if name == ROOT:
        values["parent"] = ""
    plain = {key: value for key, value in values.items() if key not in _AMOUNTS}
    amounts = {key: value for key, value in values.items() if key in _AMOUNTS}
    try:
        checked = msgspec.convert(plain, _Plain)
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"queue {name}: {error}") from error
    return Queue(**{**msgspec.structs.asdict(checked), **amounts})


_Plain = msgspec.defstruct(
    "_Plain",
    [
        (field.name, field.type, field.default)
        if field.default is not msgspec.NODEFAULT
        else (field.name, field.type)
        for field in msgspec.structs.fields(Queue)
        if field.name not in _AMOUNTS
    ],
    kw_only=True,
)
"""The fields of a queue that are not amounts, for checking types."""
