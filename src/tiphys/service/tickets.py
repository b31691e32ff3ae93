"""Single-use tickets for browsers, which cannot send a token with a stream or a link."""

from __future__ import annotations

import secrets

from tiphys.core.clock import Clock
from tiphys.errors import UnauthenticatedError
from tiphys.service.access import Identity
from tiphys.service.tokens import TokenBook, digest_of

LIFE = 30.0
_MOST = 10_000


class Tickets:
    """Tickets that were given out and not used yet. They live in memory: so do streams."""

    def __init__(self, tokens: TokenBook, clock: Clock) -> None:
        self._tokens, self._clock = tokens, clock
        self._open: dict[str, tuple[Identity, float]] = {}

    def give(self, identity: Identity) -> tuple[str, float]:
        """Give a ticket, and until when it can be used."""
        now = self._clock.now()
        for key in [key for key, (_, until) in self._open.items() if until <= now]:
            del self._open[key]
        while len(self._open) >= _MOST:
            del self._open[next(iter(self._open))]
        ticket = secrets.token_urlsafe(32)
        self._open[digest_of(ticket)] = (identity, now + LIFE)
        return ticket, now + LIFE

    def use(self, ticket: str) -> Identity:
        """Take a ticket; it is worth nothing afterwards."""
        identity, until = self._open.pop(digest_of(ticket), (None, 0.0))
        if identity is None or until <= self._clock.now():
            raise UnauthenticatedError("the ticket is not known, used already or too old")
        self._tokens.check(identity)
        return identity
