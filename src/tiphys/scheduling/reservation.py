"""The reservation of the head: backfill must never delay the work that waits first for room.

The first work that does not fit the machine gets a reservation. Where running work tells when it
will end, others may start if they end before the head's turn, or if they leave room for it then.
Where nobody can tell, others may start for a while (``patience``); after that, what the head
needs is kept free until it fits.
"""

from __future__ import annotations

import math

from tiphys.scheduling.horizon import Horizon
from tiphys.scheduling.ledger import Needs
from tiphys.scheduling.pending import Entry


class Reservation:
    """Room that is promised to one waiting entry."""

    __slots__ = ("entry", "patience", "shadow", "since", "spare")

    def __init__(self, entry: Entry, since: float, patience: float) -> None:
        self.entry = entry
        self.since = since
        self.patience = patience
        self.shadow: float | None = None
        """When it is expected to start; None: not computed in this round."""
        self.spare: dict[str, int] = {}
        """What will be left over then."""

    def new_round(self) -> None:
        """Forget the forecast: something has changed."""
        self.shadow = None

    def forecast(self, horizon: Horizon, room: dict[str, int], now: float) -> float:
        """When the entry is expected to start; infinite where nobody can tell."""
        if self.shadow is None:
            found = horizon.when(room, self.entry.needs, now)
            self.shadow, self.spare = found if found is not None else (math.inf, {})
        return self.shadow

    def allows(
        self, entry: Entry, horizon: Horizon, room: dict[str, int], now: float
    ) -> str | None:
        """Say which resource ``entry`` must leave to the head; None where it may start."""
        if entry is self.entry:
            return None
        shadow = self.forecast(horizon, room, now)
        if shadow < math.inf:
            if entry.seconds is not None and now + entry.seconds <= shadow:
                return None
            return self._beyond(entry.needs, self.spare)
        if now < self.since + self.patience:
            return None
        kept = dict(self.entry.needs)
        left = {name: room.get(name, 0) - amount for name, amount in kept.items()}
        return self._beyond(entry.needs, left)

    def took(self, entry: Entry, now: float) -> None:
        """``entry`` has started beside the head."""
        ends_before = (
            self.shadow is not None
            and entry.seconds is not None
            and now + entry.seconds <= self.shadow
        )
        if ends_before:
            return
        for name, amount in entry.needs:
            if name in self.spare:
                self.spare[name] -= amount

    def _beyond(self, needs: Needs, left: dict[str, int]) -> str | None:
        for name, amount in needs:
            if name in left and amount > left[name]:
                return name
        return None
