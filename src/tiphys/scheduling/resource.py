"""Amounts of named resources: what a machine has, what a queue may use, what work asks for.

Pure and immutable. ``cpu`` counts thousandths of a core, ``memory`` bytes, everything else whole
units; the scheduler itself gives no name a meaning. A name that is absent means "nothing asked"
in a request and "no limit" in a limit, so a limit of zero is not the same as no limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

UNLIMITED = 1 << 62
"""Stands for "no limit" where a number is needed; far above any byte count."""
UNCHARGED = frozenset({"pods"})
"""Counted on nodes, never against a queue."""


class Resources:
    """A named vector of whole numbers, equal and hashable by value."""

    __slots__ = ("_amounts", "_hash", "items")

    items: tuple[tuple[str, int], ...]
    """Pairs of name and amount, sorted by name: the form the hot paths walk."""

    def __init__(self, amounts: Mapping[str, int] | None = None, /, **named: int) -> None:
        merged = {**(amounts or {}), **named}
        self.items = tuple(sorted(merged.items()))
        self._amounts = dict(self.items)
        self._hash = hash(self.items)

    def get(self, name: str, default: int = 0) -> int:
        """Return the amount of ``name``, or ``default`` where it is absent."""
        return self._amounts.get(name, default)

    def to_dict(self) -> dict[str, int]:
        """Return a plain copy for encoders."""
        return dict(self._amounts)

    def positive(self) -> Resources:
        """Drop zero amounts: a request for none of something is no request."""
        if all(amount for _, amount in self.items):
            return self
        return Resources({name: amount for name, amount in self.items if amount})

    def scaled(self, count: int) -> Resources:
        """Return the amounts of ``count`` such requests."""
        return Resources({name: amount * count for name, amount in self.items})

    def fits(self, limit: Resources) -> bool:
        """Whether each amount is within ``limit``; a name the limit lacks has none at all."""
        return all(amount <= limit.get(name) for name, amount in self.items)

    def within(self, limit: Resources) -> bool:
        """Whether each amount is within ``limit``; a name the limit lacks is not limited."""
        return all(amount <= limit.get(name, UNLIMITED) for name, amount in self.items)

    def __add__(self, other: Resources) -> Resources:
        total = dict(self._amounts)
        for name, amount in other.items:
            total[name] = total.get(name, 0) + amount
        return Resources(total)

    def __sub__(self, other: Resources) -> Resources:
        total = dict(self._amounts)
        for name, amount in other.items:
            total[name] = total.get(name, 0) - amount
        return Resources(total)

    def __contains__(self, name: object) -> bool:
        return name in self._amounts

    def __iter__(self) -> Iterator[str]:
        return iter(self._amounts)

    def __len__(self) -> int:
        return len(self._amounts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Resources) and self.items == other.items

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Resources({self._amounts!r})"

    def __str__(self) -> str:
        return ", ".join(amount_text(name, amount) for name, amount in self.items) or "nothing"


NOTHING = Resources()


def clamp(requests: Resources, capacity: Resources) -> tuple[Resources, tuple[str, ...]]:
    """Cut ``requests`` down to what ``capacity`` has; say in words what was cut.

    Files written for a cluster ask for what a cluster has. On one machine the caller may prefer
    to run such work alone over refusing it; a resource the machine lacks wholly is dropped.
    """
    if requests.fits(capacity):
        return requests, ()
    kept: dict[str, int] = {}
    warnings = []
    for name, amount in requests.items:
        have = capacity.get(name)
        if amount > have:
            warnings.append(f"asks for {amount_text(name, amount)}, has {amount_text(name, have)}")
        if min(amount, have):
            kept[name] = min(amount, have)
    return Resources(kept), tuple(warnings)


def amount_text(name: str, amount: int) -> str:
    """Write one amount the way people do: ``1.5 cpu``, ``2Gi memory``, ``3 gpu``."""
    if name == "cpu":
        return f"{amount / 1000:g} cpu"
    if name in ("memory", "ephemeral-storage"):
        return f"{_bytes_text(amount)} {name}"
    return f"{amount} {name}"


def _bytes_text(amount: int) -> str:
    for unit, size in (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if abs(amount) >= size:
            return f"{amount / size:.4g}{unit}"
    return str(amount)
