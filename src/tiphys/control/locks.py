"""Who holds which mutex and semaphore, across all runs of this process.

Pure bookkeeping. A holder gets all of its locks or none; those who wait are served by priority,
then by the age of their workflow, then in the order in which they came, and nobody overtakes
somebody ahead who waits for the same lock. What is held is not stored: restored runs ask again,
those that held a lock first (``control.recover``).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tiphys.engine.command import LockName

Holder = tuple[str, str]
"""Workflow uid and node id; node "" is the workflow itself."""


class Waiting(msgspec.Struct, frozen=True):
    """A holder that must wait, and for what."""

    lock: str
    message: str


class _Lock(msgspec.Struct):
    limit: int
    holders: set[Holder] = msgspec.field(default_factory=set)

    @property
    def free(self) -> int:
        return self.limit - len(self.holders)


class _Claim(msgspec.Struct):
    locks: tuple[LockName, ...]
    order: tuple[float, float, int]


class LockTable:
    """All locks, who holds them and who waits."""

    def __init__(self) -> None:
        self._locks: dict[str, _Lock] = {}
        self._held: dict[Holder, tuple[str, ...]] = {}
        self._claims: dict[Holder, _Claim] = {}
        self._arrivals = 0

    def acquire(
        self,
        holder: Holder,
        locks: tuple[LockName, ...],
        *,
        priority: int,
        created_at: float,
        held: bool = False,
    ) -> Waiting | None:
        """Take all ``locks`` (None), or wait in line for them; ``held`` takes them at once."""
        if holder in self._held:
            return None
        self._arrivals += 1
        for each in locks:
            self._locks.setdefault(each.key, _Lock(each.limit)).limit = each.limit
        if held:
            self._take(holder, locks)
            return None
        self._claims[holder] = _Claim(locks, (-priority, created_at, self._arrivals))
        self._serve()
        if holder in self._held:
            return None
        return self._waiting(holder)

    def _waiting(self, holder: Holder) -> Waiting:
        claim = self._claims[holder]
        first = next((e for e in claim.locks if self._locks[e.key].free <= 0), claim.locks[0])
        lock = self._locks[first.key]
        return Waiting(
            first.key,
            f"Waiting for {first.key} lock. Lock status: {max(0, lock.free)}/{lock.limit}",
        )

    def release(self, holder: Holder) -> list[Holder]:
        """Give up what ``holder`` has or waits for; tell who got locks by that."""
        self._drop(holder)
        return self._serve()

    def release_run(self, uid: str) -> list[Holder]:
        """Give up everything of a workflow."""
        mine = [h for h in (*self._held, *self._claims) if h[0] == uid]
        for holder in mine:
            self._drop(holder)
        return self._serve() if mine else []

    def _drop(self, holder: Holder) -> None:
        self._claims.pop(holder, None)
        for key in self._held.pop(holder, ()):
            lock = self._locks[key]
            lock.holders.discard(holder)
            if not lock.holders and not self._wanted(key):
                del self._locks[key]

    def _wanted(self, key: str) -> bool:
        return any(each.key == key for claim in self._claims.values() for each in claim.locks)

    def _serve(self) -> list[Holder]:
        granted: list[Holder] = []
        reserved: set[str] = set()
        for holder, claim in sorted(self._claims.items(), key=lambda item: item[1].order):
            keys = {each.key for each in claim.locks}
            if any(key in reserved or self._locks[key].free <= 0 for key in keys):
                reserved |= keys
                continue
            self._take(holder, claim.locks)
            granted.append(holder)
        for holder in granted:
            del self._claims[holder]
        return granted

    def _take(self, holder: Holder, locks: tuple[LockName, ...]) -> None:
        keys = tuple(dict.fromkeys(each.key for each in locks))
        for key in keys:
            self._locks[key].holders.add(holder)
        self._held[holder] = keys

    def holders(self) -> Iterable[tuple[str, int, list[Holder]]]:
        """Give each lock with its limit and holders, for explanations."""
        return [(key, lock.limit, sorted(lock.holders)) for key, lock in self._locks.items()]
