"""Lays a flow's ``patch`` over a JobTemplate, as Kubernetes' strategic merge does, on plain data.

Mappings are joined, a null removes a field, lists whose items have a name are joined by it and all
others are replaced. ``$patch: delete`` removes an item, ``$patch: replace`` replaces a mapping.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KEYS: Mapping[str, str] = {
    "tasks": "name",
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "tolerations": "key",
}
_DIRECTIVE = "$patch"


def merge(base: Any, patch: Any, field: str = "") -> Any:
    """Give ``base`` with ``patch`` laid over it; neither is changed."""
    if isinstance(base, dict) and isinstance(patch, dict):
        return _merge_mappings(base, patch)
    if isinstance(base, list) and isinstance(patch, list) and field in _KEYS:
        return _merge_items(base, patch, _KEYS[field])
    return patch


def _merge_mappings(base: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    if patch.get(_DIRECTIVE) == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    merged = dict(base)
    for key, value in patch.items():
        if key == _DIRECTIVE:
            continue
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value, key) if key in merged else value
    return merged


def _merge_items(base: list[Any], patch: list[Any], key: str) -> list[Any]:
    merged = list(base)
    for item in patch:
        if not isinstance(item, dict) or key not in item:
            merged.append(item)
            continue
        place = _place(merged, key, item[key])
        if item.get(_DIRECTIVE) == "delete":
            if place is not None:
                del merged[place]
        elif place is None:
            merged.append(item)
        else:
            merged[place] = merge(merged[place], item)
    return merged


def _place(items: list[Any], key: str, value: Any) -> int | None:
    for index, item in enumerate(items):
        if isinstance(item, dict) and item.get(key) == value:
            return index
    return None
