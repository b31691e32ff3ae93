"""Bearer tokens: made here, shown once, kept as hashes.

A token is 256 bits of chance, so a plain SHA-256 is enough: there is nothing to guess. The book is
read once; this process is the store's one owner, so memory and store never differ.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tiphys.core.clock import Clock
from tiphys.errors import ConfigError, ConflictError, NotFoundError, UnauthenticatedError
from tiphys.service.access import Identity, Role
from tiphys.service.cabinet import Cabinet
from tiphys.store import ObjectRow, Store

KIND = "Token"
ADMIN = "admin"
"""The id of the first admin's token, which is not in the store."""
ADMIN_FILE = "admin-token"
_MIN_GIVEN = 16
"""A first admin's token that is shorter could be guessed."""


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token as it is kept."""

    id: str
    name: str
    hash: str
    role: Role
    project: str = ""
    created_at: float
    created_by: str = ""
    expires_at: float | None = None
    session: bool = False
    """Whether it is the cookie of a browser; such are not listed among the tokens."""

    def identity(self) -> Identity:
        """Give its bearer."""
        return Identity(
            token=self.id,
            name=self.name,
            role=self.role,
            project=self.project,
            expires_at=self.expires_at,
        )


def digest_of(secret: str) -> str:
    """Give the hash under which a token is kept."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


class TokenBook:
    """All tokens that may hold."""

    def __init__(self, store: Store, cabinet: Cabinet, clock: Clock) -> None:
        self._cabinet, self._clock = cabinet, clock
        self._by_hash: dict[str, Token] = {}
        self._stored: dict[str, Token] = {}
        for row in store.objects(KIND):
            token = msgspec.json.decode(row.body, type=Token)
            self._stored[token.id] = token
            self._by_hash[token.hash] = token

    def __len__(self) -> int:
        """Count those that were made here; the first admin's is not among them."""
        return sum(not token.session for token in self._stored.values())

    def admit_admin(self, secret: str) -> None:
        """Let the first admin in, who is not in the store."""
        token = Token(
            id=ADMIN, name="admin", hash=digest_of(secret), role=Role.ADMIN, created_at=0.0
        )
        self._by_hash[token.hash] = token

    def identify(self, secret: str, *, session: bool = False) -> Identity:
        """Give the bearer of a token; raise where it does not hold. Cookies are no tokens."""
        digest = digest_of(secret)
        found = self._by_hash.get(digest)
        if found is None or not hmac.compare_digest(found.hash, digest):
            raise UnauthenticatedError("the token is not known")
        if found.session is not session:
            raise UnauthenticatedError("the token is not known")
        self._check_age(found.expires_at)
        return found.identity()

    def check(self, identity: Identity) -> None:
        """Raise if a token that was good has been removed or has expired since."""
        known = identity.external or identity.token == ADMIN or identity.token in self._stored
        if not known:
            raise UnauthenticatedError("the token has been removed")
        self._check_age(identity.expires_at)

    def _check_age(self, expires_at: float | None) -> None:
        if expires_at is not None and expires_at <= self._clock.now():
            raise UnauthenticatedError("the token has expired")

    def visible(self, identity: Identity) -> list[Token]:
        """List the tokens that ``identity`` may manage, in the order of their making."""
        stored = sorted(self._stored.values(), key=lambda token: token.created_at)
        return [token for token in stored if _manages(identity, token) and not token.session]

    def of_project(self, project: str) -> list[Token]:
        """List all tokens that are bound to a project, sessions too."""
        return [token for token in self._stored.values() if token.project == project]

    def find(self, identity: Identity, key: str) -> Token:
        """Find one of the visible tokens."""
        if key == ADMIN and not identity.project:
            raise ConflictError(
                "the first admin's token is not kept here: it is TIPHYS_ADMIN_TOKEN, or the file"
                f" {ADMIN_FILE} of the data directory; change it there and start the server again"
            )
        token = self._stored.get(key)
        if token is None or not _manages(identity, token):
            raise NotFoundError(f"there is no token {key[:200]!r}")
        return token

    async def make(self, by: Identity, **given: Any) -> tuple[Token, str]:
        """Make a token; its secret is given this one time."""
        secret = f"tiphys_{secrets.token_urlsafe(32)}"
        token = Token(
            id=f"{'ses' if given.get('session') else 'tok'}-{secrets.token_hex(8)}",
            hash=digest_of(secret),
            created_at=self._clock.now(),
            created_by=by.name,
            **given,
        )
        body = msgspec.json.encode(token)
        row = ObjectRow(kind=KIND, namespace="", name=token.id, body=body, at=token.created_at)
        await self._cabinet.save(row)
        self._stored[token.id] = self._by_hash[token.hash] = token
        return token, secret

    async def remove(self, token: Token) -> None:
        """Make a token worthless, at once."""
        del self._stored[token.id], self._by_hash[token.hash]
        await self._cabinet.remove(KIND, "", token.id)

    async def end_session(self, identity: Identity) -> None:
        """Forget the session of a browser; other bearers have none."""
        token = self._stored.get(identity.token)
        if token is not None and token.session:
            await self.remove(token)

    async def sweep_sessions(self) -> None:
        """Forget sessions that are over."""
        now = self._clock.now()
        over = [
            token
            for token in self._stored.values()
            if token.session and token.expires_at is not None and token.expires_at <= now
        ]
        for token in over:
            await self.remove(token)


def _manages(identity: Identity, token: Token) -> bool:
    return not identity.project or identity.project == token.project


def given_admin_token(environment: Mapping[str, str]) -> str | None:
    """Read the first admin's token from TIPHYS_ADMIN_TOKEN or the file that ``…_FILE`` names."""
    secret = environment.get("TIPHYS_ADMIN_TOKEN", "")
    path = environment.get("TIPHYS_ADMIN_TOKEN_FILE", "")
    if not secret and path:
        try:
            secret = Path(path).read_text().strip()
        except OSError as error:
            message = f"TIPHYS_ADMIN_TOKEN_FILE: {path}: {error.strerror}"
            raise ConfigError(message) from error
    if secret and len(secret) < _MIN_GIVEN:
        raise ConfigError(f"TIPHYS_ADMIN_TOKEN is shorter than {_MIN_GIVEN} characters")
    return secret or None


def kept_admin_token(data: Path) -> tuple[str, bool]:
    """Give the token in the data directory, made now if there is none, and whether it was."""
    path = data / ADMIN_FILE
    try:
        return path.read_text().strip(), False
    except FileNotFoundError:
        secret = f"tiphys_{secrets.token_urlsafe(32)}"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{secret}\n")
        file.flush()
        os.fsync(file.fileno())
    return secret, True
