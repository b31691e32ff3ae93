"""Strategic merge for pods: what ``podSpecPatch`` does to the final pod. Pure.

Maps are merged, lists of named things by their key, other lists replaced, null removes.
"""

from __future__ import annotations

from typing import Any

from tiphys.runtimes.patch import read_patch

Json = dict[str, Any]
_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
}


def apply_patches(spec: Json, *texts: str) -> Json:
    """Give the pod's spec with each patch (YAML or JSON) laid over it."""
    for text in texts:
        if not text:
            continue
        spec = _merge_maps(spec, read_patch(text))
    return spec


def _merge_maps(below: Json, above: Json) -> Json:
    merged = dict(below)
    for name, value in above.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, dict) and isinstance(merged.get(name), dict):
            merged[name] = _merge_maps(merged[name], value)
        elif name in _KEYS and isinstance(value, list) and isinstance(merged.get(name), list):
            merged[name] = _merge_lists(merged[name], value, _KEYS[name])
        else:
            merged[name] = value
    return merged


def _merge_lists(below: list[Json], above: list[Json], key: str) -> list[Json]:
    merged = {str(entry.get(key)): entry for entry in below}
    for entry in above:
        name = str(entry.get(key))
        if entry.get("$patch") == "delete":
            merged.pop(name, None)
        else:
            merged[name] = _merge_maps(merged.get(name, {}), entry)
    return list(merged.values())
