"""Attempts of an earlier process that nothing was heard of since, and what has to wait for that.

A task may end while no tiphys is up. Until the runtime has said how each attempt stands that a
restored run attaches to, whatever would end nodes of that run waits here: a stop, a deadline. Else
a task that ended well would be on record as failed, and a retry would run it again. The answers
come first, then what has waited, in its order; other runs do not wait. How long an answer is waited
for is the loop's to say. Pure.
"""

from __future__ import annotations

from tiphys.engine import event as ev
from tiphys.ports import AttemptId

PATIENCE = 10.0
"""Seconds after which an attempt is no longer waited for."""
_ENDING = (ev.RunStopped, ev.Woken)
"""What may end nodes that are under way."""


class Unheard:
    """What each restored run waits to hear, and what waits for it."""

    def __init__(self) -> None:
        self._run_of: dict[str, str] = {}
        self._awaited: dict[str, set[str]] = {}
        self._entering: list[str] = []
        self._held: dict[str, list[ev.Event]] = {}
        self._due: list[tuple[str, ev.Event]] = []

    # --- what is waited for -----------------------------------------------------------------

    def enter(self, uid: str) -> None:
        """A run is taken up: which attempts it has is known when its first commands are."""
        # Of a node that holds a lock nothing is asked before the lock table has answered.
        self._entering.append(uid)
        self._expect(uid, uid)

    def entered(self) -> None:
        """All runs that were taken up have named their attempts."""
        for uid in self._entering:
            self.hear(uid)
        self._entering.clear()

    def expect(self, attempt: AttemptId, uid: str) -> None:
        """The runtime is asked about an attempt of a run."""
        self._expect(attempt, uid)

    def _expect(self, name: str, uid: str) -> None:
        self._run_of[name] = uid
        self._awaited.setdefault(uid, set()).add(name)

    def hear(self, attempt: AttemptId) -> None:
        """Something was said of an attempt, or will not be."""
        uid = self._run_of.pop(attempt, None)
        if uid is None:
            return
        awaited = self._awaited[uid]
        awaited.discard(attempt)
        if not awaited:
            del self._awaited[uid]
            self._due += ((uid, event) for event in self._held.pop(uid, ()))

    # --- what waits -------------------------------------------------------------------------

    def hold(self, uid: str, event: ev.Event) -> bool:
        """Keep an event that comes too early; tell whether it was kept.

        What follows one that is kept is kept, too: people mean their words in the order they say
        them.
        """
        early = uid in self._awaited and (isinstance(event, _ENDING) or uid in self._held)
        if early:
            self._held.setdefault(uid, []).append(event)
        return early

    def holds(self, uid: str) -> bool:
        """Whether something that was sent to a run has yet to happen to it."""
        return uid in self._held or any(uid == run for run, _ in self._due)

    @property
    def due(self) -> bool:
        """Whether there are events whose time has come."""
        return bool(self._due)

    def take_due(self) -> list[tuple[str, ev.Event]]:
        """Give the events whose time has come, with their runs."""
        due, self._due = self._due, []
        return due
