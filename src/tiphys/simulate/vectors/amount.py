"""Amounts as the vectors write them: cpu in cores, memory with its unit, the rest in units."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_UNITS = {
    "": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
    "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "m": 1e-3,
}  # fmt: skip
_NAMES = {"mem": "memory"}
_QUANTITY = re.compile(r"^([0-9.]+)\s*([A-Za-z]*)$")
RESOURCES = frozenset({"cpu", "mem", "memory", "gpu", "pods"})


def quantity(value: Any) -> float:
    """Read one amount: ``2``, ``1.5Gi``, ``100m``."""
    if isinstance(value, int | float):
        return float(value)
    match = _QUANTITY.match(str(value).strip())
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"not an amount: {value!r}")
    return float(match[1]) * _UNITS[match[2]]


def is_resource(name: str) -> bool:
    """Whether a key names a resource rather than a property."""
    return name in RESOURCES or "/" in name or bool(re.fullmatch(r"r\d+", name))


def amounts(given: Mapping[str, Any] | float | None) -> dict[str, float]:
    """Read the resources of a mapping; a bare number is cpu. CPU becomes thousandths."""
    if given is None:
        return {}
    if isinstance(given, int | float):
        given = {"cpu": given}
    found: dict[str, float] = {}
    for key, value in given.items():
        if is_resource(key) and value is not None:
            name = _NAMES.get(key, key)
            found[name] = quantity(value) * (1000 if name == "cpu" else 1)
    return found


def nonzero(found: Mapping[str, float]) -> dict[str, float]:
    """Drop what is not asked for."""
    return {name: amount for name, amount in found.items() if amount}


def seconds(text: Any) -> float:
    """Read a duration: ``10m``, ``90s``, ``1h30m``; a bare number is seconds."""
    if isinstance(text, int | float):
        return float(text)
    parts = re.findall(r"([0-9.]+)(ms|h|m|s)", str(text))
    return sum(float(n) * {"h": 3600, "m": 60, "s": 1, "ms": 1e-3}[unit] for n, unit in parts)
