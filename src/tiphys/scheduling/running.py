"""A work that holds what it asked for, as the scheduler remembers it."""

from __future__ import annotations

from tiphys.scheduling.ledger import Account, Needs
from tiphys.scheduling.work import Work


class Running:
    """A work that holds what it asked for."""

    __slots__ = ("account", "ends_at", "needs", "started_at", "stopping", "work")

    def __init__(self, work: Work, account: Account, needs: Needs, started_at: float) -> None:
        self.work = work
        self.account = account
        self.needs = needs
        self.started_at = started_at
        self.stopping = False
        seconds = work.expected_seconds
        self.ends_at = None if seconds is None else started_at + seconds
