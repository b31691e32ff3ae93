"""Sessions of people who came through the OIDC provider.

The provider is loaded when it is first needed: its library takes longer to load than the rest of a
small server, and most servers have no provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tiphys.config import Oidc
from tiphys.core.clock import Clock
from tiphys.errors import ConfigError, TiphysError
from tiphys.service.access import Identity, Role
from tiphys.service.tokens import TokenBook

if TYPE_CHECKING:
    from tiphys.service.oidc import Attempt, Provider


class Returned(Protocol):
    """What a browser brings back from the provider."""

    @property
    def state(self) -> str:
        """Ties the answer to the question."""

    @property
    def nonce(self) -> str:
        """Ties the provider's token to the question."""

    @property
    def verifier(self) -> str:
        """Proves that the code is used by whom it was made for."""

    @property
    def project(self) -> str:
        """The project to log in to; "" for the first."""


class Login:
    """What routes need to log people in."""

    def __init__(self, settings: Oidc, secret: str, tokens: TokenBook, clock: Clock) -> None:
        self._settings, self._secret = settings, secret
        self._tokens, self._clock = tokens, clock
        self.issuer = settings.issuer
        self.public_url = settings.public_url.rstrip("/")

    @cached_property
    def provider(self) -> Provider:
        """The provider itself."""
        from tiphys.service.oidc import Provider  # noqa: PLC0415

        return Provider(self._settings, self._secret, self._clock)

    def attempt(self) -> Attempt:
        """Begin a log-in."""
        from tiphys.service.oidc import Attempt  # noqa: PLC0415

        return Attempt.new()

    async def begin(self, code: str, away: Returned, redirect: str) -> tuple[Identity, str, int]:
        """Turn a code into a session: who it is, the secret of the cookie, and its life."""
        from tiphys.service.oidc import Attempt  # noqa: PLC0415

        attempt = Attempt(away.state, away.nonce, away.verifier)
        claims = await self.provider.claims_of_code(code, attempt, redirect)
        role, project = self.provider.grant(claims, away.project)
        seconds = int(self._settings.session_hours * 3600)
        name = self.provider.name_of(claims)
        await self._tokens.sweep_sessions()
        token, secret = await self._tokens.make(
            Identity(token="", name=self.issuer, role=Role.VIEWER),
            name=name,
            role=role,
            project=project,
            expires_at=self._clock.now() + seconds,
            session=True,
        )
        return token.identity(), secret, seconds

    async def logout_url(self, back: str, session: bool) -> str:
        """Give where the provider forgets a browser; "" where it cannot or need not."""
        if not session:
            return ""
        try:
            return await self.provider.logout_url(back)
        except TiphysError:
            return ""  # Our own session has ended all the same.

    async def identify(self, secret: str) -> Identity:
        """Give the bearer of a token of the provider's."""
        return await self.provider.identify(secret)


def looks_like_jwt(secret: str) -> bool:
    """Tell a provider's token from one of ours, which has no dots."""
    return secret.count(".") == 2


def client_secret(settings: Oidc, environment: Mapping[str, str]) -> str:
    """Read the client's secret: TIPHYS_OIDC_CLIENT_SECRET, the file of ``…_FILE``, settings."""
    given = environment.get("TIPHYS_OIDC_CLIENT_SECRET", "")
    path = environment.get("TIPHYS_OIDC_CLIENT_SECRET_FILE", "")
    if not given and path:
        try:
            given = Path(path).read_text().strip()
        except OSError as error:
            message = f"TIPHYS_OIDC_CLIENT_SECRET_FILE: {path}: {error.strerror}"
            raise ConfigError(message) from error
    return given or settings.client_secret
