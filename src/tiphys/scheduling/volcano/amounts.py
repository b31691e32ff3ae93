"""Arithmetic on named amounts, with Volcano's ways of comparing them.

Pure functions on plain dicts of floats: shares and deserved amounts are fractions, so whole
``Resources`` do not fit here. An absent name counts as zero unless a function says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tiphys.scheduling.resource import UNCHARGED

Amounts = dict[str, float]
BASIC = frozenset({"cpu", "memory"})
LEAST = 0.1
"""Below this an amount counts as zero, as in Volcano."""


def add(left: Mapping[str, float], right: Mapping[str, float]) -> Amounts:
    """Return the sum."""
    total = dict(left)
    for name, amount in right.items():
        total[name] = total.get(name, 0.0) + amount
    return total


def subtract(left: Mapping[str, float], right: Mapping[str, float]) -> Amounts:
    """Return the difference, which may be negative."""
    total = dict(left)
    for name, amount in right.items():
        total[name] = total.get(name, 0.0) - amount
    return total


def excess(left: Mapping[str, float], right: Mapping[str, float]) -> Amounts:
    """Return how far ``left`` exceeds ``right``, never below zero."""
    return {name: max(0.0, amount - right.get(name, 0.0)) for name, amount in left.items()}


def scale(amounts: Mapping[str, float], factor: float) -> Amounts:
    """Return ``factor`` times the amounts."""
    return {name: amount * factor for name, amount in amounts.items()}


def total(parts: Iterable[Mapping[str, float]]) -> Amounts:
    """Return the sum of all parts."""
    result: Amounts = {}
    for part in parts:
        result = add(result, part)
    return result


def capped(amounts: Mapping[str, float], limit: Mapping[str, float]) -> Amounts:
    """Cut each amount to ``limit``; a name the limit lacks is not limited."""
    return {name: min(amount, limit.get(name, amount)) for name, amount in amounts.items()}


def cut_to(amounts: Mapping[str, float], limit: Mapping[str, float]) -> Amounts:
    """Cut each amount to ``limit``; a name the limit lacks becomes zero."""
    return {name: min(amount, limit.get(name, 0.0)) for name, amount in amounts.items()}


def largest(left: Mapping[str, float], right: Mapping[str, float]) -> Amounts:
    """Return the larger amount of each name."""
    names = left.keys() | right.keys()
    return {name: max(left.get(name, 0.0), right.get(name, 0.0)) for name in names}


def within(left: Mapping[str, float], right: Mapping[str, float]) -> bool:
    """Whether no amount of ``left`` exceeds ``right``, but for a trifle."""
    return all(amount < right.get(name, 0.0) + LEAST for name, amount in left.items())


def within_on(
    used: Mapping[str, float], limit: Mapping[str, float], asked: Mapping[str, float]
) -> bool:
    """Whether ``used`` is within ``limit`` on the dimensions that are asked for."""
    return all(
        used.get(name, 0.0) <= limit.get(name, 0.0)
        for name, amount in asked.items()
        if amount > 0 and name not in UNCHARGED
    )


def within_somewhere(
    used: Mapping[str, float], limit: Mapping[str, float], asked: Mapping[str, float]
) -> bool:
    """Whether ``used`` is within ``limit`` on at least one dimension that is asked for."""
    return any(
        used.get(name, 0.0) <= limit.get(name, 0.0)
        for name, amount in asked.items()
        if amount > 0
        and name not in UNCHARGED
        and (used.get(name, 0.0) >= LEAST or limit.get(name, 0.0) >= LEAST)
    )


def exceeds_somewhere(
    used: Mapping[str, float], due: Mapping[str, float], asked: Mapping[str, float]
) -> bool:
    """Whether ``used`` exceeds ``due`` on a dimension that is asked for and that is due."""
    return any(
        used.get(name, 0.0) > due.get(name, 0.0)
        for name, amount in asked.items()
        if amount > 0 and name not in UNCHARGED and _is_due(name, due)
    )


def shared_names(left: Mapping[str, float], right: Mapping[str, float]) -> set[str]:
    """Names of which both have some."""
    return {
        name
        for name, amount in left.items()
        if amount >= LEAST and right.get(name, 0.0) >= LEAST and name not in UNCHARGED
    }


def is_empty(amounts: Mapping[str, float]) -> bool:
    """Whether nothing but a trifle is there."""
    return all(amount < LEAST for amount in amounts.values())


def share(amount: float, whole: float) -> float:
    """Return the fraction; of nothing, something is one."""
    if whole:
        return amount / whole
    return 1.0 if amount else 0.0


def dominant_share(amounts: Mapping[str, float], whole: Mapping[str, float]) -> tuple[str, float]:
    """Return the resource of which the largest fraction is used, and that fraction."""
    best, top = "", 0.0
    for name, amount in sorted(whole.items()):
        part = share(amounts.get(name, 0.0), amount)
        if part > top:
            best, top = name, part
    return best, top


def _is_due(name: str, due: Mapping[str, float]) -> bool:
    return due.get(name, 0.0) >= LEAST if name in BASIC else name in due
