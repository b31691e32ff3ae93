"""Reads a queue plan: the plain data of a YAML or JSON file into a checked tree; and writes one.

Pure: the caller has parsed the text. Two forms: ``queues:`` with one mapping for each queue (by
name, or a list with ``name``), and Volcano ``Queue`` manifests, alone or as a list. A queue may
begin from a preset (``preset: batch``) and change what it likes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from tiphys.core.quantity import bytes_of, cpu_millis, format_bytes, format_cpu, parse_quantity
from tiphys.errors import InvalidInputError
from tiphys.scheduling.preset import PRESETS
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
_WRITTEN = {field: name for name, field in _NAMES.items() if field not in ("deserved", "preempt")}
_PRESETS = {queue.name: queue for queue in PRESETS}
_BYTES = ("memory", "ephemeral-storage")
_KNOWN = frozenset(Queue.__struct_fields__)


def read_queues(document: object) -> QueueTree:
    """Read a queue plan; a ``default`` queue is added where there is none."""
    return tree_of(read_queue_list(document))


def read_queue_list(document: object) -> list[Queue]:
    """Read the queues of a plan, each checked for itself."""
    return [read_queue(name, spec) for name, spec in _specs(document)]


def tree_of(*layers: Iterable[Queue]) -> QueueTree:
    """Make a tree; a queue of a later layer takes the place of one of the same name."""
    queues: dict[str, Queue] = {}
    for layer in layers:
        named: dict[str, Queue] = {}
        for queue in layer:
            if queue.name in named:
                raise InvalidInputError(f"queue {queue.name} is defined twice")
            named[queue.name] = queue
        queues |= named
    queues.setdefault(DEFAULT, Queue(name=DEFAULT))
    return QueueTree(queues.values())


def queue_dict(queue: Queue) -> dict[str, Any]:
    """Write a queue as a plan would: what is as by default is left out."""
    written: dict[str, Any] = {"name": queue.name}
    plain = Queue(name=queue.name)
    for field in msgspec.structs.fields(Queue)[1:]:
        value = getattr(queue, field.name)
        if value == getattr(plain, field.name):
            continue
        key = _WRITTEN.get(field.name, field.name)
        written[key] = amounts_dict(value) if isinstance(value, Resources) else value
    built: dict[str, Any] = msgspec.to_builtins(written)
    return built


def amounts_dict(amounts: Resources) -> dict[str, str]:
    """Write amounts as Kubernetes does."""
    return {name: _written(name, amount) for name, amount in amounts.items}


def _written(name: str, amount: int) -> str:
    if name == "cpu":
        return format_cpu(amount)
    return format_bytes(amount) if name in _BYTES else str(amount)


def resources(amounts: Mapping[str, Any], where: str = "") -> Resources:
    """Read amounts as Kubernetes writes them: cpu in cores, memory with its unit."""
    found: dict[str, int] = {}
    if not isinstance(amounts, Mapping):
        raise InvalidInputError(f"{where}expected amounts such as cpu: 8, memory: 16Gi")
    for name, value in amounts.items():
        try:
            found[name] = _amount(name, value)
        except (InvalidInputError, TypeError, ValueError) as error:
            raise InvalidInputError(f"{where}{name}: {value!r} is not an amount") from error
    return Resources(found)


def _amount(name: str, value: Any) -> int:
    if name == "cpu":
        return cpu_millis(value)
    if name in _BYTES:
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
            if not isinstance(spec, Mapping | None):
                raise InvalidInputError(f"queue {name}: a mapping is expected")
            yield str(name), spec or {}
        return
    if not isinstance(queues, list):
        raise InvalidInputError("queues: a mapping or a list is expected")
    for spec in queues:
        if isinstance(spec, str):
            yield spec, {"preset": spec}
            continue
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


def read_queue(name: str, spec: Mapping[str, Any]) -> Queue:
    """Read one queue; its ``preset`` lies under what it says itself."""
    values = _beginning(name, spec.get("preset"))
    for key, value in spec.items():
        field = _NAMES.get(key, key)
        if key in ("preset", "name"):
            continue
        if field not in _KNOWN:
            from difflib import get_close_matches  # noqa: PLC0415 - sound files need none

            close = get_close_matches(key, [*_KNOWN, *_NAMES], n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise InvalidInputError(f"queue {name}: {key} is not known{hint}")
        if field in _AMOUNTS:
            values[field] = resources(value or {}, f"queue {name}: {key}: ")
        elif value is not None:
            values[field] = value
    if name == ROOT:
        values["parent"] = ""
    plain = {key: value for key, value in values.items() if key not in _AMOUNTS}
    amounts = {key: value for key, value in values.items() if key in _AMOUNTS}
    try:
        checked = msgspec.convert(plain, _plain())
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"queue {name}: {error}") from error
    return Queue(**{**msgspec.structs.asdict(checked), **amounts})


def _beginning(name: str, preset: object) -> dict[str, Any]:
    if preset is None:
        return {"name": name, "parent": ROOT}
    if not isinstance(preset, str) or preset not in _PRESETS:
        known = ", ".join(_PRESETS)
        raise InvalidInputError(f"queue {name}: preset {preset!r} is none of {known}")
    return {**msgspec.structs.asdict(_PRESETS[preset]), "name": name}


@cache
def _plain() -> type[msgspec.Struct]:
    """Give the fields of a queue that are not amounts, for checking types."""
    return msgspec.defstruct(
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
